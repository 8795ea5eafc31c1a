/**
 * The steps of a job, in words: for the terminal and the dashboard.
 *
 * @module
 */
import { formatDuration } from "../job/duration.ts";
import { stringifyLossless } from "../job/json.ts";
import type { JsonOf } from "../operator/shapes/shape.ts";
import type { stepShape } from "../operator/shapes/steps.ts";
import type { Step } from "../job/step.ts";
import { type Columns, timeColumn } from "./columns.ts";
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

/** A step for programs: times as ISO 8601. */
export function stepJson({ since, ended, until, ...step }: Step): JsonOf<typeof stepShape> {
  return { ...step, since: isoTime(since), ended: isoTime(ended), until: isoTime(until) };
}
