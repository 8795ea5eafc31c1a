/**
 * A form that was sent, read once however many ask for it.
 *
 * @module
 */
import type { Context } from "hono";
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
