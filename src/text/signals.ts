/**
 * Steps that wait for signals, as the command line and the dashboard show them.
 *
 * @module
 */
import type { Payload } from "../job/job.ts";
import { readStepHead } from "../job/step.ts";
import type { signalWaitShape } from "../operator/shapes/steps.ts";
import type { JsonOf } from "../operator/shapes/shape.ts";
import type { SignalWait } from "../store/port/steps.ts";
import { type Columns, timeColumn } from "./columns.ts";
import { readablePayload, shownClass } from "./job_json.ts";
import { argsText } from "./job_text.ts";
import type { Mask } from "./mask.ts";
import { isoTime } from "./times.ts";

/** A step that waits for a signal. */
export interface WaitRow {
  readonly key: string;
  readonly jid: string;
  readonly step: string;
  /** Epoch milliseconds. */
  readonly since: number;
  /** When it times out, in epoch milliseconds. */
  readonly until: number | undefined;
  /** JSON text of data that the job expects; undefined if its handler gives none. */
  readonly example: string | undefined;
  /** Masked; undefined if the job doesn't sleep or is unreadable. */
  readonly payload: Payload | undefined;
}

/** Data that is shown as an example where the handler gives none. */
export const DEFAULT_EXAMPLE = '{"approved": true}';

/** The columns of the list. */
export const SIGNAL_COLUMNS = {
  signal: { text: ({ key }) => key, is: "whole" },
  jid: { text: ({ jid }) => jid, is: "whole" },
  job: { text: (wait) => waitCall(wait) },
  step: { text: ({ step }) => step, is: "optional" },
  since: timeColumn(({ since }) => since, "optional"),
  until: timeColumn(({ until }) => until),
} as const satisfies Columns<WaitRow>;

/** Returns a wait, with secrets of its job masked. */
export function readWait({ key, jid, name, record, payload = "" }: SignalWait, mask: Mask): WaitRow {
  const { since, until, example } = readStepHead(name, record, record.length);
  const job = readablePayload({ payload });
  return { key, jid, step: name, since, until, example, payload: job && mask.payload(job) };
}

/** Returns the job of a wait: `Order(42)`; undefined if its payload is unknown. */
function waitCall({ payload }: WaitRow): string | undefined {
  return payload && `${shownClass(payload)}(${argsText(payload.args)})`;
}

/** Returns a wait as `--json` and the HTTP API have it. */
export function waitJson({ key, jid, step, since, until, example, payload }: WaitRow): JsonOf<typeof signalWaitShape> {
  return {
    key,
    jid,
    step,
    since: isoTime(since),
    until: isoTime(until),
    example,
    class: payload && shownClass(payload),
    queue: payload?.queue,
    payload,
  };
}
