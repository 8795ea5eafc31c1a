/**
 * Reads forms, once per request, with a bound on bytes and on fields.
 *
 * @module
 */
import type { Context } from "hono";
import { parseLossless } from "../../job/json.ts";
import { HttpError, largeBodyBytes, readBody } from "./body.ts";
import type { Services, WebEnv } from "../services.ts";

const forms = new WeakMap<Request, Promise<URLSearchParams>>();

/** The largest form of visitors without a login and of readers: a login, a theme. */
export const SMALL_FORM_BYTES = 16 * 1024;
/** The rows of the longest page, all selected, and the fields around them. Splitting a field takes a microsecond. */
const MAX_FIELDS = 1_100;

/**
 * Returns the fields of a request's form. The first call for a request reads it.
 *
 * @param maxBytes the largest form that is read; default twice a payload and 1 MiB
 * @throws {HttpError} if the request has no form, or its form is too large
 */
export function formOf(
  c: Context<WebEnv>,
  services: Services,
  maxBytes: number = largeBodyBytes(services.maxPayloadBytes),
): Promise<URLSearchParams> {
  let form = forms.get(c.req.raw);
  if (form === undefined) {
    form = read(c, services, maxBytes);
    forms.set(c.req.raw, form);
  }
  return form;
}

async function read(c: Context<WebEnv>, services: Services, maxBytes: number): Promise<URLSearchParams> {
  if (!/^application\/x-www-form-urlencoded\b/i.test(c.req.header("content-type") ?? "")) {
    throw new HttpError(415, "The request has no form; expected application/x-www-form-urlencoded");
  }
  const text = await readBody(c.req.raw, maxBytes, services.clock, services.arriving);
  // Deno takes a second to split a megabyte of separators.
  if (text.split("&", MAX_FIELDS + 1).length > MAX_FIELDS) {
    throw new HttpError(413, `The form has too many fields; expected at most ${MAX_FIELDS}`);
  }
  return new URLSearchParams(text);
}

/**
 * Parses the arguments that a user typed.
 *
 * @throws {HttpError} if they are not a JSON array
 */
export function parseArgs(text: string): unknown[] {
  let args: unknown;
  try {
    args = parseLossless(text || "[]");
  } catch (error) {
    throw new HttpError(422, `Arguments: invalid JSON: ${(error as Error).message}`, "args");
  }
  if (!Array.isArray(args)) throw new HttpError(422, 'Arguments: expected an array, for example ["bob", 5]', "args");
  return args;
}
