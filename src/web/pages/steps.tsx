/**
 * The durable steps of a job on its page: their states, the signals and times that they wait for, and the actions on them.
 *
 * @module
 */
import type { Context } from "hono";
import { parseLossless } from "../../job/json.ts";
import type { Step } from "../../job/step.ts";
import { STEP_COLUMNS } from "../../text/steps.ts";
import { type AnyAction, Refused } from "../../operator/actions/action.ts";
import { clearSteps, rerunSteps, signal, wakeSteps } from "../../operator/actions/steps.ts";
import { actFor } from "../act.ts";
import { HttpError } from "../http/body.ts";
import { formOf } from "../http/forms.ts";
import type { Services, WebEnv } from "../services.ts";
import { localPath } from "../read/paging.ts";
import { askFirst, type Question, SignalPage } from "./confirm.tsx";
import { List } from "./list.tsx";
import { back, html, viewOf } from "./responses.tsx";
import { ActionButton, Hidden, link, type View } from "./view.tsx";
import type { StepRows } from "../read/steps.ts";
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
  // For a signal or another job: to end that wait is to decide without the answer.
  const waits = waiting.some(({ kind }) => kind !== "sleep");
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
          details: {},
          value: { class: "mono" },
        }}
        acts={ended ? undefined : (step) => <StepAction view={view} jid={jid} step={step} />}
      />
      <RowPages view={view} path={path} page={page} />
      {!ended && waiting.length > 0 && (
        <ActionButton
          view={view}
          path="/jobs/steps"
          fields={{ do: "wake", jid, waits: waits ? "yes" : undefined }}
          label={waits ? "Give up waiting" : "Wake now"}
          kind={waits ? "danger" : ""}
        />
      )}
    </section>
  );
}

function StepAction({ view, jid, step }: { readonly view: View; readonly jid: string; readonly step: Step }) {
  const { name, state, key } = step;
  if (state === "waiting" && key !== undefined) {
    return (
      <form method="post" action={link(view, "/jobs/steps")} class="inline">
        <Hidden view={view} fields={{ do: "signal", jid, key, back: view.here }} />
        <input name="data" required placeholder="JSON" aria-label={`Data of signal ${key}: JSON`} autocomplete="off" />
        <button type="submit" class="primary">Signal</button>
      </form>
    );
  }
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

/** Handles the buttons of the section. Each action but the signal asks first: a step may charge a card. */
export async function stepsForm(services: Services, c: Context<WebEnv>): Promise<Response> {
  const form = await formOf(c, services);
  const jid = form.get("jid") ?? "";
  const name = form.get("name") ?? "";
  const word = form.get("do") ?? "";
  if (word === "signal") return await signalForm(services, c, form);
  if (!Object.hasOwn(ACTIONS, word)) {
    throw new HttpError(422, `Unknown action "${word.slice(0, 40)}"; expected wake, signal, clear or rerun`);
  }
  const { question, action, done, gone }: StepsAction = ACTIONS[word as keyof typeof ACTIONS];
  const asked = await askFirst(services, c, question(name, form.get("waits") === "yes"));
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

/** A kind of button of the section. */
interface StepsAction {
  readonly question: (name: string, waits: boolean) => Question;
  readonly action: AnyAction;
  /** The messages after it, and if there is nothing to do any more. */
  readonly done: (name: string, queued: boolean) => string;
  readonly gone: (name: string) => string;
}

const ACTIONS = {
  wake: {
    question: (_, waits) =>
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
    question: (name) => ({
      question: `Run step ${name} again?`,
      explanation: "Its result is deleted. The next attempt of the job runs the step again, with all that it does.",
      label: "Run the step again",
    }),
    action: clearSteps,
    done: (name) => `Step ${name} runs again in the next attempt.`,
    gone: (name) => `Step ${name} no longer exists.`,
  },
  rerun: {
    question: (name) => ({
      question: `Run again from step ${name}?`,
      explanation:
        "The results of this step and of all later ones are deleted. The job runs them again, with all that they do.",
      label: "Run the steps again",
    }),
    action: rerunSteps,
    done: (name, queued) => `${queued ? "The job" : "The next attempt"} runs again from step ${name}.`,
    gone: (name) => `Step ${name} no longer exists.`,
  },
} as const satisfies Readonly<Record<string, StepsAction>>;

/** Sends a signal; with invalid data, asks again for it. */
async function signalForm(services: Services, c: Context<WebEnv>, form: URLSearchParams): Promise<Response> {
  const key = form.get("key") ?? "";
  const data = form.get("data") ?? "";
  let value: unknown;
  try {
    // Only JSON: a mistyped true or object must not reach the job as a text.
    value = parseLossless(data);
  } catch (error) {
    const fields = { do: "signal", key, jid: form.get("jid") ?? "", back: localPath(form.get("back") ?? undefined) };
    const problem = data.trim() === "" ? "Missing data; expected JSON." : `Not JSON: ${(error as Error).message}.`;
    return html(services, c, <SignalPage {...{ fields, data, problem }} view={await viewOf(services, c)} />, 422);
  }
  const { reached } = await actFor(services, c.get("visitor"), signal, { key, data: value });
  const text = reached === undefined ? `Signal ${key} kept: no job is waiting for it.` : `Job ${reached} continues.`;
  return await back(services, c, { kind: "ok", text });
}
