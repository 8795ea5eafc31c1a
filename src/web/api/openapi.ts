/**
 * Generates the OpenAPI document from the table of routes.
 *
 * @module
 */
import { VERSION } from "../../version.ts";
import type { ApiRoute } from "./routes.ts";

/** Schemas that several routes use. */
const SCHEMAS = {
  Job: {
    type: "object",
    description: "A job in one place. Secrets are masked.",
    properties: {
      jid: { type: "string" },
      ref: { type: "string", description: "identifies this entry until it moves to another place" },
      class: { type: "string" },
      place: { type: "string", description: "scheduled, retry, dead, running or queue:NAME" },
      queue: { type: "string" },
      at: { type: "string", format: "date-time", description: "when it is due, became dead or started" },
      owner: { type: "string", description: "of a running job: the worker ID" },
      failures: { type: "integer" },
      error: { type: "string" },
      payload: { description: "the payload; a string if it cannot be parsed" },
      before: {
        type: "integer",
        description: "with a jid, of a queued job: how many jobs run before it; 10000 stands for 10,000 or more",
      },
      whyNotRunning: {
        type: "array",
        items: { type: "string" },
        description: "with a jid: reasons in plain words; empty for a running job",
      },
      progress: { type: "string", description: "with a jid, of a running job: its last reported progress" },
      log: { type: "array", items: { type: "string" }, description: "with a jid: the last lines it logged" },
    },
  },
  Push: {
    type: "object",
    required: ["class"],
    description: "A job to push. For all options see docs/reference/job-options.md.",
    properties: {
      class: { type: "string" },
      args: { type: "array", items: {}, default: [] },
      queue: { type: "string", default: "default" },
      in: { type: ["number", "string"], description: "seconds from now, or 30s, 5m, 2h, 1d" },
      at: { type: ["number", "string"], description: "epoch seconds or ISO 8601" },
      retry: { type: ["boolean", "integer"] },
      unique_for: { type: ["number", "string"] },
      unique_key: { type: ["number", "string"], description: "a text, or a path such as args[0]" },
      debounce: { type: ["number", "string"], description: "30s, 5m, …; with debounce_key and debounce_max" },
      throttle: { type: "string", description: "COUNT/DURATION such as 1/1m; with throttle_key" },
      tags: { type: "array", items: { type: "string" } },
      jid: { type: "string" },
      fields: { type: "object", description: "your fields, which are copied into the payload" },
    },
  },
  Error: {
    type: "object",
    required: ["error"],
    properties: {
      error: {
        type: "object",
        required: ["code", "message"],
        properties: {
          code: { type: "string", description: "not_found, invalid, forbidden, rate_limited, unavailable, …" },
          message: { type: "string" },
          field: { type: "string", description: "the field or parameter that is wrong" },
        },
      },
    },
  },
};

/** Returns the OpenAPI document of the routes. */
export function openApiDocument(routes: readonly ApiRoute[], base: string): Record<string, unknown> {
  const paths: Record<string, Record<string, unknown>> = {};
  for (const route of routes) {
    (paths[route.path] ??= {})[route.method.toLowerCase()] = operation(route);
  }
  return {
    openapi: "3.1.0",
    info: {
      title: "jobs",
      version: VERSION,
      description: "Everything the dashboard does. GET reads. POST acts, takes JSON, and requires the role operator.",
      license: { name: "MIT", identifier: "MIT" },
    },
    servers: [{ url: base }],
    security: [{ token: [] }, { password: [] }, {}],
    paths,
    components: {
      schemas: SCHEMAS,
      securitySchemes: {
        token: { type: "http", scheme: "bearer" },
        password: { type: "http", scheme: "basic" },
      },
    },
  };
}

function operation({ method, path, about, query = {}, body, answer }: ApiRoute): Record<string, unknown> {
  const named = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name!);
  return {
    operationId: `${method.toLowerCase()}${
      path.replace(/[{}]/g, "").replace(/[/-](\w)/g, (_, first) => first.toUpperCase())
    }`,
    summary: about,
    parameters: [
      ...named.map((name) => ({ name, in: "path", required: true, schema: { type: "string" } })),
      ...Object.entries(query).map(([name, description]) => ({
        name,
        in: "query",
        description,
        schema: { type: "string" },
      })),
    ],
    ...(body && { requestBody: { required: true, content: { "application/json": { schema: body } } } }),
    responses: {
      "200": { description: "Done", content: { "application/json": { schema: answer } } },
      default: {
        description: "The error",
        content: { "application/json": { schema: { $ref: "#/components/schemas/Error" } } },
      },
    },
  };
}
