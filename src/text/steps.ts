/**
 * The steps of a job, in words: for the terminal and the dashboard.
 *
 * @module
 */
import { formatDuration } from "../job/duration.ts";
import { stringifyLossless } from "../job/json.ts";
import type { JsonOf } from "../operator/shapes/shape.ts";
import type { stepShape } from "../operator/shapes/steps.ts";
import { readStepHead, type Step } from "../job/step.ts";
import type { StoredStep } from "../store/port/steps.ts";
import { type Columns, timeColumn } from "./columns.ts";
import type { Mask } from "./mask.ts";
import { isoTime, localMinute, relative } from "./times.ts";

/** A value is shown this far. */
const MAX_SHOWN = 300;

/** The columns of a list of steps. */
export const STEP_COLUMNS = {
  step: { text: ({ name }) => name },
  state: { text: (step) => stepState(step), isState: true },
  since: timeColumn(({ since }) => since, "optional"),
  details: { text: (step, now) => stepDetails(step, now) },
  value: { text: (step) => stepValue(step) },
} as const satisfies Columns<Step>;

/** The state of a step: `succeeded`, `failed`, `sleeping`, `waiting`, `timed out`, `running`. */
export function stepState({ state, kind, timedOut }: Step): string {
  if (timedOut) return "timed out";
  return state === "waiting" && kind === "sleep" ? "sleeping" : state;
}

/** Returns the details of a step next to its state: `until 2026-11-24 10:00 UTC, in 2d, for signal "order:42"`. */
export function stepDetails(step: Step, now: number): string {
  const { state, kind, since, ended, until, attempts = 1, key, child, count, error, final } = step;
  const took = ended !== undefined && kind !== "each" && state === "succeeded"
    ? [formatDuration(Math.max(0, ended - since))]
    : [];
  return [
    ...took,
    ...(until === undefined || state !== "waiting"
      ? []
      : [`until ${localMinute(until, "UTC")} UTC, ${relative(until, now)}`]),
    ...(key === undefined ? [] : [`for signal "${key}"`]),
    ...(child === undefined ? [] : [`job ${child}`]),
    ...(count === undefined ? [] : [count === 1 ? "1 item" : `${count} items`]),
    ...(attempts > 1 ? [`${attempts} attempts`] : []),
    ...(error === undefined ? [] : [`${error.class}: ${error.message}`]),
    ...(final ? ["for good"] : []),
  ].join(", ");
}

/** The value of a step as JSON, cut; empty for none. */
export function stepValue({ value }: Step, show: (value: unknown) => unknown = (value) => value): string {
  const text = value === undefined ? undefined : stringifyLossless(show(value));
  if (text === undefined) return "";
  return text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}…` : text;
}

/** Reads a step to show it: secrets are masked, and a value of more characters is left out. */
export function shownStep({ name, record }: StoredStep, mask: Mask | undefined, maxChars: number): Step {
  const step = readStepHead(name, record, maxChars);
  const { value, cursor } = step;
  if (mask === undefined) return step;
  return {
    ...step,
    ...(value !== undefined && { value: mask.value(value) }),
    ...(cursor !== undefined && { cursor: mask.value(cursor) }),
  };
}

/** A sentence names at most this many steps. */
const MAX_NAMED = 5;

/** Returns steps whose results are lost, with these results: `charge {"id":"charge-42"}, mail`. */
export function lostSteps(steps: readonly Step[]): string {
  const named = steps.slice(0, MAX_NAMED).map((step) => [step.name, stepValue(step)].filter(Boolean).join(" "));
  const more = steps.length - named.length;
  return named.join(", ") + (more > 0 ? ` and ${more} more` : "");
}

/** A step for programs: times as ISO 8601. */
export function stepJson({ since, ended, until, ...step }: Step): JsonOf<typeof stepShape> {
  return { ...step, since: isoTime(since), ended: isoTime(ended), until: isoTime(until) };
}
