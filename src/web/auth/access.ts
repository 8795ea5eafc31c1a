/**
 * The roles that may use each route. A route states its access where it is defined, and everything that depends on a request's route reads
 * it from there: the role, the bounds, the form of a refusal.
 *
 * @module
 */
import type { Context } from "hono";
import { matchedRoutes } from "hono/route";
import type { Role } from "./accounts.ts";

/**
 * - `read`: shows the store; for readers and operators
 * - `visit`: leads to the first page, or changes only the session or look of the visitor; for all but the role `push`
 * - `act`: changes the store; for operators
 * - `push`: pushes jobs; also for the roles `push` and `work`
 * - `signal`: sends a signal; also for the role `signal`
 * - `waits`: lists the jobs that wait for signals; for readers, operators and the role `signal`
 * - `work`: performs jobs as a worker; for operators and the role `work`
 * - `result`: reads the result of one job; for every role
 */
export type Access = "read" | "visit" | "act" | "push" | "signal" | "waits" | "work" | "result";

const ROLES: Readonly<Record<Access, readonly Role[]>> = {
  read: ["reader", "operator"],
  visit: ["reader", "operator", "signal"],
  act: ["operator"],
  push: ["push", "work", "operator"],
  signal: ["signal", "operator"],
  waits: ["signal", "reader", "operator"],
  work: ["work", "operator"],
  result: ["push", "work", "reader", "operator"],
};

/** Returns the roles that have an access, the least first. */
export function rolesWith(access: Access): readonly Role[] {
  return ROLES[access];
}

export interface RouteRule {
  readonly access: Access;
  /** A request waits for an event, which takes neither processor time nor a place among the requests that are served. */
  readonly waits?: boolean;
}

/** Returns whether a role has an access. */
export function allows(access: Access, role: Role): boolean {
  return ROLES[access].includes(role);
}

/** The rules of routes. A page is `read`, and a form `act`, unless it has another rule. */
export class RouteRules {
  readonly #prefix: string;
  readonly #rules = new Map<string, RouteRule>();

  /** @param prefix precedes every path */
  constructor(prefix: string) {
    this.#prefix = prefix;
  }

  set(method: "GET" | "POST", path: string, rule: RouteRule): void {
    this.#rules.set(`${method} ${this.#prefix}${path}`, rule);
  }

  /** Returns the rule of the route that answers a request. An address without a route has the rule of a page or a form. */
  of(c: Context): RouteRule {
    const route = matchedRoutes(c).find(({ method }) => method !== "ALL");
    const rule = route && this.#rules.get(`${route.method} ${route.path}`);
    return rule ?? { access: c.req.method === "GET" || c.req.method === "HEAD" ? "read" : "act" };
  }
}
