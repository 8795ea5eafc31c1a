/**
 * Generates the OpenAPI document from the table of routes.
 *
 * @module
 */
import { jobShape } from "../../operator/actions/pushes.ts";
import { finishedShape } from "../../operator/shapes/finished.ts";
import { apiJobShape } from "../../operator/shapes/jobs.ts";
import { object, optional, schemaOf } from "../../operator/shapes/shape.ts";
import { text } from "../../operator/shapes/values.ts";
import { VERSION } from "../../version.ts";
import type { ApiRoute } from "./route.ts";

const errorShape = object("", {
  error: object("", {
    code: text("`not_found`, `invalid`, `forbidden`, `rate_limited`, `unavailable`, …"),
    message: text("one line"),
    field: optional(text("the field or parameter that is wrong")),
  }),
});

/** Schemas that several routes use. */
const SCHEMAS = {
  ...apiJobShape.component,
  ...finishedShape.component,
  ...jobShape.component,
  Error: schemaOf(errorShape),
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
      description:
        "Everything the dashboard does. GET reads. POST acts, takes JSON, and requires the role operator. The roles push and signal may push and signal.",
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

function operation(
  { method, path, about, query = {}, body, answer, streams = false, alsoStreams = false }: ApiRoute,
): Record<string, unknown> {
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
      "200": {
        description: streams ? "The data of each event" : "Done",
        content: {
          [streams ? "text/event-stream" : "application/json"]: { schema: answer },
          ...(alsoStreams && { "text/event-stream": { schema: { type: "string" } } }),
        },
      },
      default: {
        description: "The error",
        content: { "application/json": { schema: { $ref: "#/components/schemas/Error" } } },
      },
    },
  };
}
