/**
 * The reports of HTTP endpoints about their jobs: progress and log lines. An endpoint has no account. Its token names the attempt, and
 * ends with the lease of that attempt (`handlers/http/report_token.ts`).
 *
 * @module
 */
import type { Context, Hono } from "hono";
import { readReportToken } from "../../handlers/http/report_token.ts";
import { object } from "../../operator/shapes/shape.ts";
import { HttpError, readBody } from "../http/body.ts";
import { refuse } from "../refusals.tsx";
import type { Services, WebEnv } from "../services.ts";
import { parseObject } from "./json.ts";
import { reportFields } from "./work_shapes.ts";

const MAX_BODY_BYTES = 64 * 1024;
const reportShape = object("", reportFields);

/** Adds the route. */
export function reportRoute(app: Hono<WebEnv>, services: Services): void {
  app.post("/api/v1/report", (c) => report(c, services));
}

async function report(c: Context<WebEnv>, services: Services): Promise<Response> {
  const { store, clock, gate, tokens } = services;
  const [, token = ""] = /^Bearer (\S+)$/i.exec(c.req.header("authorization") ?? "") ?? [];
  const attempt = readReportToken(await store.sessions.key(), token);
  if (attempt === undefined) {
    return refuse(services, c, 401, "Invalid token: expected Authorization: Bearer with the token of the request");
  }
  if (gate.readOnly) throw new HttpError(403, "The dashboard is read-only (web.readOnly)");
  const waitMs = tokens.use(`reports of ${attempt.worker}`);
  if (waitMs > 0) {
    c.header("retry-after", String(Math.ceil(waitMs / 1_000)));
    return refuse(services, c, 429, "Too many reports: report less often, or several lines at once");
  }
  const given = reportShape.read(
    parseObject(await readBody(c.req.raw, MAX_BODY_BYTES, clock, services.arriving), services),
  );
  const held = await store.jobs.stillLeased(attempt.worker, [attempt.lease]);
  const isSent = held.length > 0 &&
    await store.workers.send(attempt.worker, { verb: "report", lease: attempt.lease, report: given });
  if (!isSent) throw new HttpError(409, "The attempt has ended: stop, its reports and its answer don't count");
  return c.json({});
}
