/**
 * Reads JSON bodies within bounds, and represents jobs in the API's JSON.
 *
 * @module
 */
import type { Context } from "hono";
import { boundOf, parseDuration } from "../../job/duration.ts";
import { parseLossless } from "../../job/json.ts";
import { expectedName } from "../../job/suggest.ts";
import { elementsOf, isArrayText } from "../../job/json_elements.ts";
import type { Entry } from "../../store/port/entries.ts";
import { placeName } from "../../store/ops/job_sets.ts";
import { MAX_JOBS } from "../../operator/actions/pushes.ts";
import type { apiJobShape } from "../../operator/shapes/jobs.ts";
import type { JsonOf } from "../../operator/shapes/shape.ts";
import { shownJobJson } from "../../text/job_json.ts";
import { HttpError, largeBodyBytes, readBody } from "../http/body.ts";
import type { Services, WebEnv } from "../services.ts";
import { backtraceOf, outputOf, viewEntry } from "../read/job_view.ts";

/** The smallest bound on the body of a list of jobs. */
const LIST_BYTES = 8 * 1024 * 1024;
/** Characters of a list that are parsed before other work runs. A single job may be longer. */
const SLICE_CHARS = 64 * 1024;

/**
 * Reads the body of a request that takes an object.
 *
 * @throws {HttpError} if the body is too large, or not a JSON object
 */
export async function objectOf(c: Context<WebEnv>, services: Services): Promise<Record<string, unknown>> {
  return parseObject(
    await readBody(c.req.raw, largeBodyBytes(services.maxPayloadBytes), services.clock, services.arriving),
    services,
  );
}

/**
 * Reads the body of a request that takes an object, as text: with fields that are named twice.
 *
 * @throws {HttpError} if the body is too large, or not a JSON object
 */
export async function objectTextOf(c: Context<WebEnv>, services: Services): Promise<string> {
  const text = await readBody(
    c.req.raw,
    largeBodyBytes(services.maxPayloadBytes),
    services.clock,
    services.arriving,
  );
  parseObject(text, services);
  return text === "" ? "{}" : text;
}

/**
 * Reads the body of a request that takes an object or a list. A list is parsed in slices, between which other work runs.
 *
 * @throws {HttpError} if the body is too large, or neither a JSON object nor a list
 */
export async function objectOrListOf(
  c: Context<WebEnv>,
  services: Services,
): Promise<Record<string, unknown> | readonly unknown[]> {
  const maxBytes = Math.max(LIST_BYTES, largeBodyBytes(services.maxPayloadBytes));
  const text = await readBody(c.req.raw, maxBytes, services.clock, services.arriving);
  return isArrayText(text) ? await parseList(text, services) : parseObject(text, services);
}

async function parseList(text: string, services: Services): Promise<readonly unknown[]> {
  const maxChars = largeBodyBytes(services.maxPayloadBytes);
  const elements = elementsOf(text, maxChars);
  const jobs: unknown[] = [];
  const parseSome = () => {
    for (let parsed = 0; parsed < SLICE_CHARS;) {
      const { value, done } = elements.next();
      if (done) return true;
      if (jobs.length === MAX_JOBS) throw new HttpError(413, `The list is too long; expected at most ${MAX_JOBS} jobs`);
      jobs.push(parseLossless(value));
      parsed += value.length;
    }
    return false;
  };
  try {
    while (!await services.slices.run(parseSome));
  } catch (error) {
    if (error instanceof SyntaxError) throw invalidJson(error);
    if (!(error instanceof RangeError)) throw error;
    throw new HttpError(
      413,
      `The text of job ${jobs.length + 1} is too large; expected at most ${maxChars} characters`,
    );
  }
  return jobs;
}

/** @throws {HttpError} if a text isn't a JSON object */
export function parseObject(text: string, services: Services): Record<string, unknown> {
  if (isArrayText(text)) throw new HttpError(400, "The body is a list; expected a JSON object");
  if (text.length > largeBodyBytes(services.maxPayloadBytes)) {
    throw new HttpError(
      413,
      `The request is too large; expected at most ${largeBodyBytes(services.maxPayloadBytes)} bytes`,
    );
  }
  let value: unknown;
  try {
    value = parseLossless(text === "" ? "{}" : text);
  } catch (error) {
    throw invalidJson(error as Error);
  }
  if (typeof value !== "object" || value === null) throw new HttpError(400, "The body isn't a JSON object");
  return value as Record<string, unknown>;
}

function invalidJson(error: Error): HttpError {
  return new HttpError(400, `The body is invalid JSON: ${error.message}`);
}

/**
 * Refuses fields that a route would ignore: probably a typing error.
 *
 * @throws {HttpError} naming the first field that isn't in `names`
 */
export function allowFields(body: Readonly<Record<string, unknown>>, names: readonly string[]): void {
  const other = Object.keys(body).find((name) => !names.includes(name));
  if (other === undefined) return;
  const shown = other.slice(0, 80);
  throw new HttpError(422, `Unknown field "${shown}"; ${expectedName(shown, names, "no fields")}`, shown);
}

/** The largest `limit` of a list. */
const MAX_LIMIT = 1_000;

/**
 * Refuses query parameters that a route would ignore, and an invalid `limit`.
 *
 * @throws {HttpError} naming the first such parameter
 */
export function allowParameters(c: Context<WebEnv>, names: readonly string[]): void {
  const { searchParams } = new URL(c.req.url);
  const other = [...searchParams.keys()].find((name) => !names.includes(name));
  if (other !== undefined) {
    const shown = other.slice(0, 80);
    throw new HttpError(422, `Unknown parameter "${shown}"; ${expectedName(shown, names, "no parameters")}`, shown);
  }
  const limit = searchParams.get("limit");
  if (limit === null || (/^\d{1,4}$/.test(limit) && Number(limit) >= 1 && Number(limit) <= MAX_LIMIT)) return;
  throw new HttpError(422, `limit is "${limit.slice(0, 20)}"; expected a number from 1 to ${MAX_LIMIT}`, "limit");
}

/**
 * Reads a duration in a body, such as `"10m"`, or a number of seconds.
 *
 * @returns milliseconds; undefined if the field is absent
 * @throws {HttpError} if it isn't a duration above 0
 */
export function spanIn(body: Readonly<Record<string, unknown>>, name: string): number | undefined {
  const value = body[name];
  if (value === undefined) return undefined;
  if (typeof value === "string" || typeof value === "number") {
    try {
      const ms = parseDuration(String(value));
      if (ms > 0) return ms;
    } catch {
      // Refused below, with zero and negative durations.
    }
  }
  const shown = String(JSON.stringify(value)).slice(0, 40);
  throw new HttpError(
    422,
    `Invalid "${name}": ${shown}; expected seconds above 0, or a duration such as "30s", "10m" or "2h"${
      boundOf(value)
    }`,
    name,
  );
}

/** Returns a job as `--json` prints it, but masked, with what identifies its entry. */
export function jobJson(entry: Entry, { mask }: Services): JsonOf<typeof apiJobShape> {
  const { payload, class: name, failures, args } = viewEntry(entry, mask);
  const backtrace = payload?.error_backtrace === undefined ? undefined : backtraceOf(payload, mask);
  const output = payload && outputOf(payload, mask);
  return {
    ...shownJobJson(entry, { payload, class: payload && name, backtrace, output }),
    ref: entry.ref,
    place: placeName(entry.place),
    failures,
    ...(payload === undefined && { payload: args }),
  };
}
