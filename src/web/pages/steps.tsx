/**
 * The durable steps of a job on its page: their states, the signals and times that they wait for, and the actions on them.
 *
 * @module
 */
import type { Context } from "hono";
import { readSignalData } from "../../client/signal.ts";
import type { Step } from "../../job/step.ts";
import { stepDetails, stepState, stepValue } from "../../text/steps.ts";
import { clear, rerun, signal, wake } from "../actions/steps.ts";
import { HttpError } from "../http/body.ts";
import { formOf } from "../http/forms.ts";
import type { Services, WebEnv } from "../services.ts";
import { back } from "./responses.tsx";
import { ActionButton, Hidden, link, Time, type View } from "./view.tsx";
import { TableHead } from "./table.tsx";

/** The colors of states. */
const KINDS: Readonly<Record<string, string>> = {
  succeeded: "ok",
  failed: "bad",
  waiting: "scheduled",
  sleeping: "scheduled",
};

/** The section; nothing if there are no steps. */
export function Steps({ view, jid, steps }: {
  readonly view: View;
  readonly jid: string;
  readonly steps: readonly Step[];
}) {
  const { now } = view;
  if (steps.length === 0) return null;
  const waits = steps.some(({ state }) => state === "waiting");
  return (
    <section>
      <h2>Steps</h2>
      <table class="list">
        <TableHead columns={["Step", "State", "Since", "Details", "Value"]} hasActions={view.canAct} />
        <tbody>
          {steps.map((step) => (
            <tr>
              <td class="name" data-label="Step" title={step.name}>
                <span class="class">{step.name}</span>
              </td>
              <td data-label="State">
                <span class={`badge ${KINDS[step.state] ?? ""}`}>{stepState(step)}</span>
              </td>
              <td class="when" data-label="Since">
                <Time at={step.since} now={now} />
              </td>
              <td data-label="Details">{stepDetails(step, now)}</td>
              <td class="mono" data-label="Value">{stepValue(step)}</td>
              {view.canAct && (
                <td class="acts">
                  <StepAction view={view} jid={jid} step={step} />
                </td>
              )}
            </tr>
          ))}
        </tbody>
      </table>
      {waits && <ActionButton view={view} path="/jobs/steps" fields={{ do: "wake", jid }} label="Wake now" />}
    </section>
  );
}

function StepAction({ view, jid, step }: { readonly view: View; readonly jid: string; readonly step: Step }) {
  const { name, state, key } = step;
  if (state === "waiting" && key !== undefined) {
    return (
      <form method="post" action={link(view, "/jobs/steps")} class="inline">
        <Hidden view={view} fields={{ do: "signal", jid, key, back: view.here }} />
        <input name="data" value="true" aria-label={`Data of signal ${key}: JSON, or text`} autocomplete="off" />
        <button type="submit">Signal</button>
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

/** Handles the buttons of the section. */
export async function stepsForm(services: Services, c: Context<WebEnv>): Promise<Response> {
  const form = await formOf(c, services);
  const visitor = c.get("visitor");
  const jid = form.get("jid") ?? "";
  switch (form.get("do")) {
    case "wake": {
      const count = await wake(services, visitor, jid);
      const text = count === 0 ? "The job is no longer waiting." : "The job continues.";
      return await back(services, c, { kind: count === 0 ? "bad" : "ok", text });
    }
    case "signal": {
      const key = form.get("key") ?? "";
      const { reached } = await signal(services, visitor, key, readSignalData(form.get("data") || "true"), {});
      const text = reached === undefined
        ? `Signal ${key} kept: no job is waiting for it.`
        : `Job ${reached} continues.`;
      return await back(services, c, { kind: "ok", text });
    }
    case "clear": {
      const name = form.get("name") ?? "";
      const count = await clear(services, visitor, jid, name);
      const text = count === 0 ? `Step ${name} no longer exists.` : `Step ${name} runs again in the next attempt.`;
      return await back(services, c, { kind: count === 0 ? "bad" : "ok", text });
    }
    case "rerun": {
      const name = form.get("name") ?? "";
      const { cleared, queued } = await rerun(services, visitor, jid, name);
      const text = cleared === 0
        ? `Step ${name} no longer exists.`
        : queued
        ? `The job runs again from step ${name}.`
        : `The next attempt runs again from step ${name}.`;
      return await back(services, c, { kind: cleared === 0 ? "bad" : "ok", text });
    }
    default:
      throw new HttpError(
        422,
        `Unknown action "${(form.get("do") ?? "").slice(0, 40)}"; expected wake, signal, clear or rerun`,
      );
  }
}
