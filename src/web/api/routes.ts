/**
 * The JSON API, `/api/v1`: what the pages do, for programs. One table; the routes and the OpenAPI document both come
 * from it, so that neither can lack what the other has.
 *
 * @module
 */
import type { Context, Hono } from "hono";
import { stringifyLossless } from "../../job/json.ts";
import type { Services, WebEnv } from "../services.ts";
import { cronRoutes } from "./cron.ts";
import { jobRoutes } from "./jobs.ts";
import { allowFields, allowParameters, objectOf } from "./json.ts";
import { openApiDocument } from "./openapi.ts";
import { stateRoutes } from "./state.ts";
import { stepRoutes } from "./steps.ts";

/** One route. */
export interface ApiRoute {
  readonly method: "GET" | "POST";
  /** Below `/api/v1`, with `{name}` for what varies. */
  readonly path: string;
  /** What it does, in one line. */
  readonly about: string;
  /** Query parameters: name → meaning. */
  readonly query?: Readonly<Record<string, string>>;
  /** The body's JSON schema; without one, a body that says anything is refused. */
  readonly body?: Readonly<Record<string, unknown>>;
  /** The answer's JSON schema. */
  readonly answer: Readonly<Record<string, unknown>>;
  /** Does it; returns the answer's value, and its status if it is not 200. */
  readonly run: (c: Context<WebEnv>, services: Services) => Promise<ApiAnswer>;
}

/** What a route returns. */
export interface ApiAnswer {
  readonly value: unknown;
  readonly status?: 200 | 201 | 202;
}

/** Where the API lives. */
const API_PATH = "/api/v1";

/** Adds the API. */
export function apiRoutes(app: Hono<WebEnv>, services: Services): void {
  const routes = [...jobRoutes, ...stateRoutes, ...stepRoutes, ...cronRoutes];
  for (const { method, path, query = {}, body, run } of routes) {
    app.on(method, API_PATH + path.replace(/\{(\w+)\}/g, ":$1"), async (c) => {
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
