/**
 * Refusals and failures as responses: an error with a code for programs, a page for people.
 *
 * @module
 */
import type { Context } from "hono";
import { InvalidPayload } from "../job/errors.ts";
import { type RefusalKind, Refused } from "../operator/actions/action.ts";
import { InvalidInput } from "../operator/shapes/shape.ts";
import { CursorError } from "../store/port/cursor.ts";
import { StoreError } from "../store/port/errors.ts";
import { recordRefused } from "./audit.ts";
import { allows } from "./auth/access.ts";
import { HttpError } from "./http/body.ts";
import { ErrorPage } from "./pages/misc.tsx";
import { viewOf } from "./pages/responses.tsx";
import type { View } from "./pages/view.tsx";
import { herePath } from "./read/paging.ts";
import type { Services, WebEnv } from "./services.ts";

/** Returns the response to a request that has thrown. */
export async function explain(services: Services, c: Context<WebEnv>, error: Error): Promise<Response> {
  if (error instanceof HttpError || error instanceof Refused) {
    const status = error instanceof Refused ? STATUS[error.kind] : error.status;
    const visitor = c.get("visitor");
    if (status === 403 && visitor !== undefined) {
      const target = `${c.req.method} ${herePath(services, c)}`.slice(0, 200);
      await recordRefused(services, visitor, { target, reason: error.message });
    }
    return await refuse(services, c, status, error.message, error.field);
  }
  // A name in the address is wrong with it.
  if (error instanceof InvalidInput) {
    const isInAddress = error.field !== undefined && c.req.param(error.field) !== undefined;
    return await refuse(services, c, isInAddress ? 400 : 422, error.message, error.field);
  }
  if (error instanceof InvalidPayload) return await refuse(services, c, 422, error.message, error.field);
  if (error instanceof CursorError) return await refuse(services, c, 400, error.message, "cursor");
  if (error instanceof StoreError) return await refuse(services, c, 503, error.message);
  services.log.error("Request failed", { path: c.req.path, error });
  return await refuse(services, c, 500, "Internal error; see the log");
}

const STATUS: Readonly<Record<RefusalKind, number>> = {
  invalid: 422,
  forbidden: 403,
  missing: 404,
  conflict: 409,
  unavailable: 503,
};

/** The codes of the API's errors, by status. Programs decide by the code; the message is for people. */
export const CODES: Readonly<Record<number, string>> = {
  400: "bad_request",
  401: "unauthenticated",
  403: "forbidden",
  404: "not_found",
  405: "method_not_allowed",
  408: "timeout",
  409: "conflict",
  413: "too_large",
  415: "not_json",
  422: "invalid",
  429: "rate_limited",
  503: "unavailable",
};

/**
 * Returns the response to a refused request.
 *
 * @param named the code of the error, if it isn't that of the status
 */
export async function refuse(
  services: Services,
  c: Context<WebEnv>,
  status: number,
  message: string,
  field?: string,
  named?: string,
): Promise<Response> {
  const code = status as 400;
  if (isForPrograms(services, c)) {
    const error = { code: named ?? CODES[status] ?? "internal", message, ...(field !== undefined && { field }) };
    return c.json({ error }, code);
  }
  const view = await viewForRefusal(services, c, status);
  return c.html(`<!doctype html>${<ErrorPage prefix={services.prefix} {...{ status, message, view }} />}`, code);
}

/** Returns the navigation for the error page of a known visitor; undefined if the store or this process is overloaded. */
async function viewForRefusal(services: Services, c: Context<WebEnv>, status: number): Promise<View | undefined> {
  const visitor = c.get("visitor");
  // The navigation shows counts and the store's address.
  if (visitor === undefined || !allows("read", visitor.role) || status === 429 || status >= 500) return undefined;
  return await viewOf(services, c).catch(() => undefined);
}

/**
 * Returns the response to a request of a client whose address of this server is wrong: with a path, with `/api/v1` at its end, or
 * without the prefix. Undefined for any other request. The answer to a login would lead to the token.
 */
export function misplacedApi({ prefix }: Services, c: Context): Response | undefined {
  const { pathname } = new URL(c.req.url);
  const at = pathname.lastIndexOf(API);
  const base = pathname.slice(0, Math.max(0, at));
  if (at < 0 || base === prefix || /[^/]/.test(pathname.charAt(at + API.length))) return undefined;
  const wrong = base.startsWith(`${prefix}/`) ? base.slice(prefix.length) : base;
  const without = wrong === "" ? "" : `, without ${wrong.slice(0, 200)}`;
  const message = `Path not found: ${pathname.slice(0, 200)}; use the URL ${originOf(c)}${prefix}${without}`;
  return c.json({ error: { code: CODES[404], message } }, 404);
}

/** Returns the scheme and the host by which a client has reached this server, also through a proxy. */
function originOf(c: Context): string {
  const { protocol, host } = new URL(c.req.url);
  const scheme = /^https?$/.exec(c.req.header("x-forwarded-proto") ?? "")?.[0] ?? protocol.slice(0, -1);
  return `${scheme}://${c.req.header("host") ?? host}`;
}

const API = "/api/v1";

/** Returns whether a request comes from a program rather than a page. */
export function isForPrograms(services: Services, c: Context): boolean {
  const path = herePath(services, c);
  return /^\/(api|metrics|events)(?=[/?]|$)/.test(path);
}
