/**
 * JSON in and out of the API: bodies read with a bound, jobs with stable keys.
 *
 * @module
 */
import type { Context } from "hono";
import { parseDuration } from "../../job/duration.ts";
import { parseLossless } from "../../job/json.ts";
import type { Entry } from "../../store/admin.ts";
import { placeName } from "../../store/admin_places.ts";
import { isoTime } from "../../words/moments.ts";
import { readBody, Refusal } from "../body.ts";
import type { Desk, WebEnv } from "../desk.ts";
import { showEntry } from "../shown.ts";

/** A body may hold many jobs. */
const LEAST_ROOM = 8 * 1024 * 1024;

/**
 * The body: an object, or a list where one is taken.
 *
 * @throws {Refusal} when it is not JSON, too large, or something else
 */
export async function bodyOf(c: Context<WebEnv>, desk: Desk): Promise<Record<string, unknown> | readonly unknown[]> {
  const text = await readBody(c.req.raw, Math.max(LEAST_ROOM, 2 * desk.maxPayloadBytes), desk.clock);
  let value: unknown;
  try {
    value = parseLossless(text === "" ? "{}" : text);
  } catch (error) {
    throw new Refusal(400, `The body is no JSON: ${(error as Error).message}`);
  }
  if (typeof value !== "object" || value === null) throw new Refusal(400, "The body is no JSON object");
  return value as Record<string, unknown>;
}

/** The same, where only an object will do. */
export async function objectOf(c: Context<WebEnv>, desk: Desk): Promise<Record<string, unknown>> {
  const value = await bodyOf(c, desk);
  if (Array.isArray(value)) throw new Refusal(400, "The body is a list; wanted: a JSON object");
  return value as Record<string, unknown>;
}

/**
 * Refuses what a route would not look at: whoever sent it meant something by it.
 *
 * @throws {Refusal} that names the first field that is not among `names`
 */
export function allowFields(body: Readonly<Record<string, unknown>>, names: readonly string[]): void {
  const other = Object.keys(body).find((name) => !names.includes(name));
  if (other === undefined) return;
  const wanted = names.length === 0 ? "no fields" : names.map((name) => `"${name}"`).join(", ");
  throw new Refusal(422, `"${other.slice(0, 80)}" is not known here; wanted: ${wanted}`);
}

/**
 * A span of time in a body, as `"10m"` or in seconds: its milliseconds; undefined when it is not there.
 *
 * @throws {Refusal} when it is none, or not above 0
 */
export function spanIn(body: Readonly<Record<string, unknown>>, name: string): number | undefined {
  const value = body[name];
  if (value === undefined) return undefined;
  if (typeof value === "string" || typeof value === "number") {
    try {
      const ms = parseDuration(String(value));
      if (ms > 0) return ms;
    } catch {
      // Told below.
    }
  }
  const shown = String(JSON.stringify(value)).slice(0, 40);
  throw new Refusal(422, `"${name}" is ${shown}; wanted: seconds above 0, or a text such as "30s", "10m" or "2h"`);
}

/** A text in a body; undefined when it is not there. */
export function textIn(body: Readonly<Record<string, unknown>>, name: string): string | undefined {
  const value = body[name];
  if (value === undefined || typeof value === "string") return value;
  throw new Refusal(422, `"${name}" is no text`);
}

/** A job as the API shows it. */
export function jobJson(entry: Entry, desk: Desk): Record<string, unknown> {
  const job = showEntry(entry, desk.mask);
  return {
    jid: job.jid,
    ref: entry.ref,
    class: job.payload && job.class,
    place: placeName(entry.place),
    queue: job.queue,
    at: isoTime(entry.at),
    owner: entry.owner,
    failures: job.failures,
    error: job.error || undefined,
    payload: job.payload ?? job.args,
  };
}
