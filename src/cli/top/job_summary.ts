/**
 * What a row tells of a job, read at a bounded cost: anyone who writes to the store can leave a payload of megabytes, and
 * `jobs top` draws its rows at each key.
 *
 * @module
 */
import type { Payload } from "../../job/job.ts";
import { parseLossless } from "../../job/json.ts";
import { fieldTexts, getField } from "../../job/raw.ts";
import { readablePayload, shownClass } from "../../text/job_json.ts";
import { argsText, errorText } from "../shared/job_text.ts";
import { blankControls } from "../terminal/output.ts";

/** A job in a row. */
export interface Glance {
  /** Absent where it has none. */
  readonly jid?: string;
  /** The queue that its payload names. */
  readonly queue?: string;
  /** As on the wire: see `readWireTime`. */
  readonly enqueuedAt?: unknown;
  /** `HardJob("bob", 5)`, cut. */
  readonly call: string;
  /** `TypeError: no such account`, what it failed with, cut; empty where it didn't. */
  readonly failure: string;
}

/** Of a longer payload only the short fields are parsed. */
const MAX_PARSED_CHARS = 32 * 1024;
const MAX_FIELD_CHARS = 16 * 1024;
/** No row is longer. */
const MAX_TEXT_CHARS = 2_000;

const GLANCES = new WeakMap<object, Glance>();

/** Returns what a row tells of a job. The same object is read once. */
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
    return { ...jidField(jid), call: cut(`(unreadable) ${raw}`), failure: "" };
  }
  const args = isLong ? payload.args[0] as string : argsText(payload.args);
  const { jid, queue, enqueued_at: enqueuedAt } = payload;
  return {
    ...jidField(jid),
    ...(typeof queue === "string" && { queue }),
    enqueuedAt,
    call: cut(`${shownClass(payload)}(${args.slice(0, MAX_TEXT_CHARS)})`),
    failure: payload.error_class ? cut(errorText(payload)) : "",
  };
}

function jidField(jid: unknown): { readonly jid?: string } {
  return typeof jid === "string" && jid !== "" ? { jid } : {};
}

/** The fields that are short, and the text of the arguments; undefined when it is no job. */
function shortFields(raw: string): Payload | undefined {
  const texts = new Map(fieldTexts(raw));
  const args = texts.get("args");
  if (args?.[0] !== "[") return undefined;
  const fields = new Map<string, unknown>();
  for (
    const name of ["class", "display_class", "wrapped", "jid", "queue", "enqueued_at", "error_class", "error_message"]
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
