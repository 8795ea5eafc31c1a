/**
 * A job's history as a timeline: pushed, queued, each attempt with its outcome, and the current state.
 *
 * @module
 */
import type { Child } from "hono/jsx";
import { formatDuration } from "../../job/duration.ts";
import { deathsOf, type GivenCrashes } from "../../text/crashes.ts";
import { number } from "../../text/format.ts";
import type { Attempt } from "./attempts.tsx";
import { ExactTime, type View } from "./view.tsx";

/** One step. */
export interface Step {
  readonly title: string;
  /** Epoch milliseconds; undefined if unknown. */
  readonly at?: number | undefined;
  /** Its color: a state of jobs. Default: neutral. */
  readonly kind?: "ok" | "bad" | "running" | "queued" | "scheduled" | "retrying" | undefined;
  /** Whether this is the current state. */
  readonly isNow?: boolean;
  readonly note?: string | undefined;
  /** Whether the time since the step before is the duration of an attempt. */
  readonly isEnd?: boolean;
  readonly error?: string | undefined;
  readonly children?: Child;
}

/** Returns a step for each failed attempt, the earliest first; `attempts` are the latest first. */
export function attemptSteps(attempts: readonly Attempt[]): Step[] {
  const first = attempts.at(-1)?.number;
  const steps = attempts.toReversed().map(({ number, at, error, workerDied, worker, ms }): Step => {
    const name = number === undefined ? "An attempt" : `Attempt ${number}`;
    return {
      title: workerDied
        ? `${name} ended with its worker`
        : `${name} failed${ms === undefined ? "" : ` after ${formatDuration(ms)}`}`,
      at,
      kind: "bad",
      note: worker === undefined ? undefined : workerDied ? `${worker} died` : `on ${worker}`,
      error,
    };
  });
  if (first === undefined || first <= 1) return steps;
  return [
    { title: first === 2 ? "Attempt 1 failed" : `Attempts 1 to ${first - 1} failed`, note: "errors not kept" },
    ...steps,
  ];
}

/**
 * Returns the step of a job that was rescued because its worker died while it ran; none without one, and none if the deaths
 * are in its last error.
 */
export function deathSteps(payload: GivenCrashes | undefined, attempts: readonly Attempt[]): Step[] {
  const deaths = deathsOf(payload);
  if (deaths === 0 || attempts[0]?.workerDied) return [];
  return [{
    title: deaths === 1 ? "Worker died" : `Worker died ${number(deaths)} times`,
    kind: "bad",
    note: "while it had the job; queued again",
  }];
}

/** The timeline. */
export function Timeline({ view, steps }: { readonly view: View; readonly steps: readonly Step[] }) {
  return (
    <section aria-labelledby="timeline-title">
      <h2 id="timeline-title">Timeline</h2>
      <ol class="timeline">
        {steps.map((step, i) => {
          const since = sincePrevious(steps, i);
          return (
            <li class={`${step.kind ?? ""} ${step.isNow ? "now" : ""}`} aria-current={step.isNow ? "step" : undefined}>
              <div>
                <b>{step.title}</b> {step.at !== undefined && <ExactTime at={step.at} now={view.now} />}{" "}
                {since !== undefined && <span class="note">{step.isEnd ? `took ${since}` : `${since} later`}</span>}
                {" "}
                {step.note !== undefined && <span class="note">{step.note}</span>}
              </div>
              {step.error !== undefined && <p class="error">{step.error}</p>}
              {step.children}
            </li>
          );
        })}
      </ol>
    </section>
  );
}

/** Returns the time between a step and the one before it; undefined if unknown or below a millisecond. */
function sincePrevious(steps: readonly Step[], i: number): string | undefined {
  const at = steps[i]!.at;
  const before = steps.slice(0, i).findLast((step) => step.at !== undefined)?.at;
  if (at === undefined || before === undefined || at - before < 1) return undefined;
  return formatDuration(at - before);
}
