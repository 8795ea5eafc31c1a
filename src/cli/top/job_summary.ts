/**
 * The summary of a job for a row, read at a bounded cost: any client of the store can push a payload of megabytes, and
 * `jobs top` draws its rows at each key.
 *
 * @module
 */
import { attemptOf, type Payload } from "../../job/job.ts";
import { parseLossless } from "../../job/json.ts";
import { fieldTexts, getField } from "../../job/raw.ts";
import { readablePayload, shownClass } from "../../text/job_json.ts";
import { argsText, errorText } from "../../text/job_text.ts";
import { blankControls } from "../terminal/output.ts";

export interface Glance {
  /** Absent if the payload has none. */
  readonly jid?: string;
  /** The queue that its payload names. */
  readonly queue?: string;
  /** As on the wire: see `readWireTime`. */
  readonly enqueuedAt?: unknown;
  /** `HardJob("bob", 5)`, cut. */
  readonly call: string;
  /** `TypeError: no such account`, its last error, cut; empty without one. */
  readonly failure: string;
  /** How often it has failed. */
  readonly failures: number;
}

/** Longer payloads aren't parsed as a whole, only their short fields. */
const MAX_PARSED_CHARS = 32 * 1024;
const MAX_FIELD_CHARS = 16 * 1024;
/** Longer texts are cut. */
const MAX_TEXT_CHARS = 2_000;

const GLANCES = new WeakMap<object, Glance>();

/** Returns the summary of a job. Each object is parsed once. */
export function glance(job: { readonly payload: string }): Glance {
  const known = GLANCES.get(job);
  if (known !== undefined) return known;
  const read = readGlance(job.payload);
  GLANCES.set(job, read);
  return read;
}

function readGlance(raw: string): Glance {
  const isLong = raw.length > MAX_PARSED_CHARS;
  const payload = isLong ? shortFields(raw) : readablePayload({ payload: raw });
  if (payload === undefined) {
    const jid = isLong ? undefined : getField(raw, "jid");
    return { ...jidField(jid), call: cut(`(unreadable) ${raw}`), failure: "", failures: 0 };
  }
  const args = isLong ? payload.args[0] as string : argsText(payload.args);
  const { jid, queue, enqueued_at: enqueuedAt } = payload;
  return {
    ...jidField(jid),
    ...(typeof queue === "string" && { queue }),
    enqueuedAt,
    call: cut(`${shownClass(payload)}(${args.slice(0, MAX_TEXT_CHARS)})`),
    failure: payload.error_class ? cut(errorText(payload)) : "",
    failures: attemptOf(payload) - 1,
  };
}

function jidField(jid: unknown): { readonly jid?: string } {
  return typeof jid === "string" && jid !== "" ? { jid } : {};
}

/** Returns the short fields, and the arguments as text; undefined if the payload isn't a job. */
function shortFields(raw: string): Payload | undefined {
  const texts = new Map(fieldTexts(raw));
  const args = texts.get("args");
  if (args?.[0] !== "[") return undefined;
  const fields = new Map<string, unknown>();
  for (
    const name of [
      "class",
      "display_class",
      "wrapped",
      "jid",
      "queue",
      "enqueued_at",
      "error_class",
      "error_message",
      "retry_count",
      "errors",
    ]
  ) {
    const text = texts.get(name);
    if (text === undefined) continue;
    fields.set(name, text.length > MAX_FIELD_CHARS ? text.slice(0, MAX_TEXT_CHARS) : parse(text));
  }
  if (typeof fields.get("class") !== "string") return undefined;
  return { ...Object.fromEntries(fields), args: [args.slice(1, -1)] } as unknown as Payload;
}

function parse(text: string): unknown {
  try {
    return parseLossless(text);
  } catch {
    return undefined;
  }
}

function cut(text: string): string {
  return blankControls(text.length > MAX_TEXT_CHARS ? `${text.slice(0, MAX_TEXT_CHARS)}…` : text);
}
