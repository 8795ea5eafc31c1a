/**
 * The OpenAPI document, made from the table of routes.
 *
 * @module
 */
import { VERSION } from "../../version.ts";
import type { ApiRoute } from "./routes.ts";

/** Schemas that several routes name. */
const SCHEMAS = {
  Job: {
    type: "object",
    description: "A job in one place. Secrets are masked.",
    properties: {
      jid: { type: "string" },
      ref: { type: "string", description: "names exactly this entry, as long as it stays where it is" },
      class: { type: "string" },
      place: { type: "string", description: "scheduled, retry, dead, running or queue:NAME" },
      queue: { type: "string" },
      at: { type: "string", format: "date-time", description: "when it is due, died or was taken" },
      owner: { type: "string", description: "running: the process that has it" },
      failures: { type: "integer" },
      error: { type: "string" },
      payload: { description: "the payload; a text when it cannot be read" },
      before: {
        type: "integer",
        description: "asked for by jid, queued: how many are taken before it; 10000 says that many or more",
      },
      whyNotRunning: {
        type: "array",
        items: { type: "string" },
        description: "asked for by jid: what stands in its way, in words; empty when it runs",
      },
      progress: { type: "string", description: "asked for by jid, running: what it last said of itself" },
      log: { type: "array", items: { type: "string" }, description: "asked for by jid: the last lines it logged" },
    },
  },
  Push: {
    type: "object",
    required: ["class"],
    description: "A job to push. Other fields go into the payload as they are.",
    properties: {
      class: { type: "string" },
      args: { type: "array", items: {}, default: [] },
      queue: { type: "string", default: "default" },
      in: { type: ["number", "string"], description: "seconds from now, or 30s, 5m, 2h, 1d" },
      at: { type: ["number", "string"], description: "epoch seconds or ISO 8601" },
      retry: { type: ["boolean", "integer"] },
      unique_for: { type: ["number", "string"] },
      tags: { type: "array", items: { type: "string" } },
      jid: { type: "string" },
    },
    additionalProperties: true,
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

/** The document. */
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
      description: "Everything the dashboard does. GET looks; POST acts, takes JSON, and needs an operator.",
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
        description: "It was not done, and why",
        content: { "application/json": { schema: { $ref: "#/components/schemas/Error" } } },
      },
    },
  };
}
