/**
 * A form that was sent, read once however many ask for it.
 *
 * @module
 */
import type { Context } from "hono";
import { parseLossless } from "../job/json.ts";
import { readBody, Refusal } from "./body.ts";
import type { Desk, WebEnv } from "./desk.ts";

const forms = new WeakMap<Request, Promise<URLSearchParams>>();

/** A form is as large as a payload in it, and a thousand refs. */
const ROOM = 1024 * 1024;

/**
 * The fields of the form.
 *
 * @throws {Refusal} when it is none, or too large
 */
export function formOf(c: Context<WebEnv>, desk: Desk): Promise<URLSearchParams> {
  let form = forms.get(c.req.raw);
  if (form === undefined) {
    form = read(c, desk);
    forms.set(c.req.raw, form);
  }
  return form;
}

async function read(c: Context<WebEnv>, desk: Desk): Promise<URLSearchParams> {
  if (!/^application\/x-www-form-urlencoded\b/i.test(c.req.header("content-type") ?? "")) {
    throw new Refusal(415, "The request has no form; wanted: application/x-www-form-urlencoded");
  }
  return new URLSearchParams(await readBody(c.req.raw, 2 * desk.maxPayloadBytes + ROOM, desk.clock));
}

/**
 * Arguments as somebody typed them.
 *
 * @throws {Refusal} when they are no JSON array
 */
export function parseArgs(text: string): unknown[] {
  let args: unknown;
  try {
    args = parseLossless(text || "[]");
  } catch (error) {
    throw new Refusal(422, `The arguments are no JSON: ${(error as Error).message}`);
  }
  if (!Array.isArray(args)) throw new Refusal(422, 'The arguments are no array; wanted: such as ["bob", 5]');
  return args;
}
