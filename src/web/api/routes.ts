/**
 * The JSON API, `/api/v1`: the actions and data of the pages, for programs. One table defines both the routes and the
 * OpenAPI document, so that they always agree.
 *
 * @module
 */
import type { Context, Hono } from "hono";
import { stringifyLossless } from "../../job/json.ts";
import type { RouteRules } from "../auth/access.ts";
import type { Services, WebEnv } from "../services.ts";
import { actionRoutes } from "./actions.ts";
import { batchRoutes } from "./batches.ts";
import { cronRoutes } from "./cron.ts";
import { eventsRoute } from "./events.ts";
import { jobRoutes } from "./jobs.ts";
import { allowFields, allowParameters, objectOf } from "./json.ts";
import { openApiDocument } from "./openapi.ts";
import type { ApiRoute } from "./route.ts";
import { stateRoutes } from "./state.ts";
import { stepRoutes } from "./steps.ts";
import { streamRoute } from "./streams.ts";
import { workRoutes } from "./work.ts";

const API_PATH = "/api/v1";

/** The table. */
export const API_ROUTES: readonly ApiRoute[] = [
  ...jobRoutes,
  ...stateRoutes,
  ...stepRoutes,
  streamRoute,
  eventsRoute,
  ...batchRoutes,
  ...cronRoutes,
  ...workRoutes,
  ...actionRoutes,
];

/** Adds the API's routes and its OpenAPI document. */
export function apiRoutes(app: Hono<WebEnv>, services: Services, rules: RouteRules): void {
  for (const { method, path, access, waits = false, query = {}, body, run } of API_ROUTES) {
    const pattern = API_PATH + path.replace(/\{(\w+)\}/g, ":$1");
    rules.set(method, pattern, { access, waits });
    app.on(method, pattern, async (c) => {
      allowParameters(c, Object.keys(query));
      if (method === "POST" && body === undefined) allowFields(await objectOf(c, services), []);
      const { value, status = 200, response } = await run(c, services);
      if (response !== undefined) return response;
      return await services.slices.run(() => json(c, value, status));
    });
  }
  const document = openApiDocument(API_ROUTES, services.prefix + API_PATH);
  app.get(`${API_PATH}/openapi.json`, (c) => json(c, document, 200));
  app.get(API_PATH, (c) => json(c, document, 200));
}

function json(c: Context, value: unknown, status: 200 | 201 | 202): Response {
  return c.body(`${stringifyLossless(value) ?? "null"}\n`, status, {
    "content-type": "application/json; charset=utf-8",
  });
}
