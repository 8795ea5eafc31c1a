/**
 * The JSON API, `/api/v1`: the actions and data of the pages, for programs. One table defines both the routes and the
 * OpenAPI document, so that they always agree.
 *
 * @module
 */
import type { Context, Hono } from "hono";
import { stringifyLossless } from "../../job/json.ts";
import type { Access, RouteRules } from "../auth/access.ts";
import type { Services, WebEnv } from "../services.ts";
import { actionRoutes } from "./actions.ts";
import { batchRoutes } from "./batches.ts";
import { cronRoutes } from "./cron.ts";
import { jobActionRoutes } from "./job_actions.ts";
import { jobRoutes } from "./jobs.ts";
import { allowFields, allowParameters, objectOf } from "./json.ts";
import { openApiDocument } from "./openapi.ts";
import { pushRoutes } from "./push.ts";
import { groupRoutes } from "./groups.ts";
import { stateRoutes } from "./state.ts";
import { stepRoutes } from "./steps.ts";

/** A route. */
export interface ApiRoute {
  readonly method: "GET" | "POST";
  /** Below `/api/v1`, with `{name}` for what varies. */
  readonly path: string;
  /** Which roles may use it. */
  readonly access: Access;
  /** The request waits for an event: see {@linkcode RouteRule}. */
  readonly waits?: boolean;
  /** Describes the route in one line. */
  readonly about: string;
  /** Descriptions of the query parameters by name. */
  readonly query?: Readonly<Record<string, string>>;
  /** The JSON schema of the request body. Without one, a body with fields is refused. */
  readonly body?: Readonly<Record<string, unknown>>;
  /** The JSON schema of the response. */
  readonly answer: Readonly<Record<string, unknown>>;
  /** Handles a request. */
  readonly run: (c: Context<WebEnv>, services: Services) => Promise<ApiAnswer>;
}

/** The response of a route. */
export interface ApiAnswer {
  readonly value: unknown;
  /** Default 200. */
  readonly status?: 200 | 201 | 202;
}

const API_PATH = "/api/v1";

/** Adds the API's routes and its OpenAPI document. */
export function apiRoutes(app: Hono<WebEnv>, services: Services, rules: RouteRules): void {
  const routes = [
    ...jobRoutes,
    ...pushRoutes,
    ...jobActionRoutes,
    ...stateRoutes,
    ...groupRoutes,
    ...stepRoutes,
    ...batchRoutes,
    ...cronRoutes,
    ...actionRoutes,
  ];
  for (const { method, path, access, waits = false, query = {}, body, run } of routes) {
    const pattern = API_PATH + path.replace(/\{(\w+)\}/g, ":$1");
    rules.set(method, pattern, { access, waits });
    app.on(method, pattern, async (c) => {
      allowParameters(c, Object.keys(query));
      if (method === "POST" && body === undefined) allowFields(await objectOf(c, services), []);
      const { value, status = 200 } = await run(c, services);
      return await services.slices.run(() => json(c, value, status));
    });
  }
  const document = openApiDocument(routes, services.prefix + API_PATH);
  app.get(`${API_PATH}/openapi.json`, (c) => json(c, document, 200));
  app.get(API_PATH, (c) => json(c, document, 200));
}

function json(c: Context, value: unknown, status: 200 | 201 | 202): Response {
  return c.body(`${stringifyLossless(value) ?? "null"}\n`, status, {
    "content-type": "application/json; charset=utf-8",
  });
}
