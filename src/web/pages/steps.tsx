/**
 * The durable steps of a job on its page: their states, the signals and times that they wait for, and the actions on them.
 *
 * @module
 */
import type { Context } from "hono";
import type { Step } from "../../job/step.ts";
import { inKeys } from "../../operator/actions/scope.ts";
import { DEFAULT_EXAMPLE } from "../../text/signals.ts";
import { lostSteps, STEP_COLUMNS } from "../../text/steps.ts";
import { type AnyAction, Refused } from "../../operator/actions/action.ts";
import { clearSteps, rerunSteps, wakeSteps } from "../../operator/actions/steps.ts";
import { actFor } from "../act.ts";
import { HttpError } from "../http/body.ts";
import { formOf } from "../http/forms.ts";
import type { Services, WebEnv } from "../services.ts";
import { askFirst, type Question } from "./confirm.tsx";
import { List } from "./list.tsx";
import { back } from "./responses.tsx";
import { ActionButton, Hidden, link, Sentence, Time, type View } from "./view.tsx";
import { type StepRows, stepsOf } from "../read/steps.ts";
import { RowPages, RowSearch } from "./rows_nav.tsx";

/** The section; nothing if there are no steps. Those of an ended job have no actions. */
export function Steps({ view, jid, steps: { page, waiting }, ended = false }: {
  readonly view: View;
  readonly jid: string;
  readonly steps: StepRows;
  readonly ended?: boolean;
}) {
  if (page.total === 0 && page.text === "") return null;
  const path = `/jobs/${encodeURIComponent(jid)}`;
  return (
    <section>
      <h2>Steps</h2>
      <RowSearch view={view} path={path} page={page} label="Name of a step" />
      <List
        view={view}
        columns={STEP_COLUMNS}
        rows={page.rows}
        looks={{
          step: { class: "name", hasTitle: true, show: (_, text) => <span class="class">{text}</span> },
          state: {},
          since: {},
          details: (_step, text) => (
            <span>
              <Sentence text={text} />
            </span>
          ),
          value: { class: "mono" },
        }}
        acts={ended ? undefined : (step) => <StepAction view={view} jid={jid} step={step} />}
      />
      <RowPages view={view} path={path} page={page} />
      {!ended && waiting.every(({ kind }) => kind === "sleep") && waiting.length > 0 && (
        <WakeButton view={view} jid={jid} waits={false} />
      )}
    </section>
  );
}

/** Sections of a job's page at most: a job rarely waits for several signals. */
const MAX_WAITS = 10;

/** The signals and jobs that the job waits for, as the main action of its page; nothing if it only sleeps. */
export function Waits({ view, jid, waiting, mayWake }: {
  readonly view: View;
  readonly jid: string;
  readonly waiting: readonly Step[];
  /** Whether the visitor may act on this job. */
  readonly mayWake: boolean;
}) {
  const { scope } = view.visitor;
  const waits = waiting.filter(({ kind, key }) =>
    kind !== "sleep" && (mayWake || key !== undefined && inKeys(scope ?? {}, key))
  );
  if (waits.length === 0 || !view.canAct) return null;
  return (
    <section class="waits">
      {waits.slice(0, MAX_WAITS).map((step) => (
        <>
          <h2>
            {step.key === undefined ? "Waits for a job" : "Waits for signal"}{" "}
            <span class="mono">{step.key ?? step.child}</span>
          </h2>
          <p class="note">
            Step {step.name}, since <Time at={step.since} now={view.now} />; it times out{" "}
            <Time at={step.until} now={view.now} />.
          </p>
          {step.key !== undefined && inKeys(scope ?? {}, step.key) && (
            <SignalField view={view} jid={jid} signalKey={step.key} example={step.example} />
          )}
        </>
      ))}
      {mayWake && <WakeButton view={view} jid={jid} waits />}
    </section>
  );
}

function SignalField({ view, jid, signalKey: key, example }: {
  readonly view: View;
  readonly jid: string;
  readonly signalKey: string;
  readonly example: string | undefined;
}) {
  return (
    <form method="post" action={link(view, "/signals")}>
      <Hidden view={view} fields={{ jid, key, back: view.here }} />
      <input
        name="data"
        required
        placeholder={example ?? DEFAULT_EXAMPLE}
        aria-label={`Data of signal ${key}: JSON`}
        autocomplete="off"
        class="mono"
      />
      <button type="submit" class="primary">Signal</button>
    </form>
  );
}

/** @param waits whether to wake the job is to decide without an answer */
function WakeButton({ view, jid, waits }: { readonly view: View; readonly jid: string; readonly waits: boolean }) {
  return (
    <ActionButton
      view={view}
      path="/jobs/steps"
      fields={{ do: "wake", jid, waits: waits ? "yes" : undefined }}
      label={waits ? "Give up waiting" : "Wake now"}
      kind={waits ? "danger" : ""}
    />
  );
}

function StepAction({ view, jid, step }: { readonly view: View; readonly jid: string; readonly step: Step }) {
  const { name, state } = step;
  if (state === "waiting") return null;
  return (
    <>
      <ActionButton
        view={view}
        path="/jobs/steps"
        fields={{ do: "clear", jid, name }}
        label="Run again"
        title={`Run again: step ${name}, in the next attempt`}
      />
      <ActionButton
        view={view}
        path="/jobs/steps"
        fields={{ do: "rerun", jid, name }}
        label="Run again from here"
        title={`Run again from here: step ${name}`}
      />
    </>
  );
}

/** Handles the buttons of the section. Each asks first: a step may charge a card, and a signal may refuse an order. */
export async function stepsForm(services: Services, c: Context<WebEnv>): Promise<Response> {
  const form = await formOf(c, services);
  const jid = form.get("jid") ?? "";
  const name = form.get("name") ?? "";
  const word = form.get("do") ?? "";
  if (!Object.hasOwn(ACTIONS, word)) {
    throw new HttpError(422, `Unknown action "${word.slice(0, 40)}"; expected wake, clear or rerun`);
  }
  const { question, action, done, gone }: StepsAction = ACTIONS[word as keyof typeof ACTIONS];
  const asked = await askFirst(services, c, async () => {
    const steps = await stepsOf(services, jid);
    return question({ name, waits: form.get("waits") === "yes", from: steps.slice(indexOf(steps, name)) });
  });
  if (asked !== undefined) return asked;
  try {
    const input = action === wakeSteps ? { jid } : { jid, name };
    const { queued } = await actFor(services, c.get("visitor"), action, input);
    return await back(services, c, { kind: "ok", text: done(name, queued) });
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    return await back(services, c, { kind: "bad", text: gone(name) });
  }
}

/** Returns the place of a step; that after the last one if there is none of this name. */
function indexOf(steps: readonly Step[], name: string): number {
  const at = steps.findIndex((step) => step.name === name);
  return at < 0 ? steps.length : at;
}

/** The subject of a question. */
interface Asked {
  readonly name: string;
  /** Whether the job waits for a signal or another job. */
  readonly waits: boolean;
  /** The step of that name, and all later ones. */
  readonly from: readonly Step[];
}

/** A kind of button of the section. */
interface StepsAction {
  readonly question: (asked: Asked) => Question;
  readonly action: AnyAction;
  /** The messages after it, and if there is nothing to do any more. */
  readonly done: (name: string, queued: boolean) => string;
  readonly gone: (name: string) => string;
}

const ACTIONS = {
  wake: {
    question: ({ waits }) =>
      waits
        ? {
          question: "Give up waiting?",
          explanation: "The job continues at once, as if the time to wait had passed without an answer.",
          label: "Give up waiting",
        }
        : {
          question: "Wake the job now?",
          explanation: "The job continues at once, as if its sleep had ended.",
          label: "Wake it now",
        },
    action: wakeSteps,
    done: () => "The job continues.",
    gone: () => "The job is no longer waiting.",
  },
  clear: {
    question: ({ name, from }) => ({
      question: `Run step ${name} again?`,
      explanation: `The stored result is deleted: ${lostSteps(from.slice(0, 1))}. ` +
        "The next attempt of the job runs the step again, with all that it does.",
      label: "Run the step again",
    }),
    action: clearSteps,
    done: (name) => `Step ${name} runs again in the next attempt.`,
    gone: (name) => `Step ${name} no longer exists.`,
  },
  rerun: {
    question: ({ name, from }) => ({
      question: `Run again from step ${name}?`,
      explanation: `The results of this step and of all later ones are deleted: ${lostSteps(from)}. ` +
        "The job runs them again, with all that they do.",
      label: "Run the steps again",
    }),
    action: rerunSteps,
    done: (name, queued) => `${queued ? "The job" : "The next attempt"} runs again from step ${name}.`,
    gone: (name) => `Step ${name} no longer exists.`,
  },
} as const satisfies Readonly<Record<string, StepsAction>>;
