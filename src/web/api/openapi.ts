/**
 * Generates the OpenAPI document from the table of routes.
 *
 * @module
 */
import { jobOption, optionNames } from "../../job/option_names.ts";
import { VERSION } from "../../version.ts";
import type { ApiRoute } from "./routes.ts";

const TEXT = { type: "string" };
const TIME = { type: "string", format: "date-time" };

/** Schemas that several routes use. */
const SCHEMAS = {
  Job: {
    type: "object",
    description: "A job in one place, as `jobs list --json` prints it. Secrets are masked.",
    properties: {
      jid: { type: "string" },
      ref: { type: "string", description: "identifies this entry until it moves to another place" },
      class: { type: "string" },
      state: { enum: ["queued", "scheduled", "retrying", "dead", "running"] },
      place: { type: "string", description: "scheduled, retry, dead, running or queue:NAME" },
      queue: { type: "string" },
      createdAt: TIME,
      enqueuedAt: TIME,
      dueAt: { ...TIME, description: "scheduled, retrying: when it is due" },
      diedAt: { ...TIME, description: "dead: when it died" },
      startedAt: { ...TIME, description: "running: when a worker fetched it" },
      worker: { type: "string", description: "running: the worker" },
      failures: { type: "integer" },
      error: {
        type: "object",
        properties: { class: TEXT, message: TEXT, backtrace: { type: "array", items: TEXT } },
      },
      payload: { description: "the payload; a string if it cannot be parsed" },
      why: {
        type: "array",
        items: TEXT,
        description: "with a jid: why it isn't running, in plain words; empty for a running job",
      },
      position: {
        type: ["integer", "string"],
        description: "with a jid, of a queued job: 1 for the job that is fetched next; a text if it is far from that",
      },
      progress: { type: "string", description: "with a jid, of a running job: its last reported progress" },
      log: { type: "array", items: TEXT, description: "with a jid: the last lines it logged" },
    },
  },
  Finished: {
    type: "object",
    description: "A finished job, as `jobs list finished --json` prints it. Secrets are masked.",
    properties: {
      jid: TEXT,
      class: TEXT,
      queue: TEXT,
      state: { enum: ["succeeded", "failed", "dead", "cancelled", "expired"] },
      result: { description: "the handler's return value" },
      resultDropped: { type: "string", description: "why the result wasn't kept" },
      error: {
        type: "object",
        properties: {
          class: TEXT,
          message: TEXT,
          causes: { type: "array", items: TEXT },
          stack: { type: "array", items: TEXT },
        },
      },
      attempt: { type: "integer", description: "the last attempt, 1 for the first" },
      startedAt: { ...TIME, description: "when that attempt started" },
      endedAt: { ...TIME, description: "when the job ended" },
      elapsedMs: { type: "integer", description: "duration of that attempt" },
      worker: { type: "string", description: "the worker that ran it" },
      progress: TEXT,
      lastLine: TEXT,
      log: { type: "array", items: TEXT },
      steps: {
        type: "array",
        items: { type: "object" },
        description: "its durable steps: the latest 100, up to 32 KiB",
      },
      payload: { type: "object", description: "its payload, unless that is large" },
    },
  },
  Push: {
    type: "object",
    required: ["class"],
    description: "A job to push, with the options of docs/reference/job-options.md.",
    properties: {
      class: { type: "string" },
      args: { type: "array", items: {}, default: [] },
      ...Object.fromEntries(optionNames("push").map((name) => [name, optionSchema(name)])),
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

function optionSchema(name: string): Record<string, unknown> {
  const { about, kind } = jobOption(name)!;
  return { ...kind.schema, description: `${about}. Expected: ${kind.expected}` };
}
