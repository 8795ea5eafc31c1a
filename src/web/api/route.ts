/**
 * A route of the API.
 *
 * @module
 */
import type { Context } from "hono";
import { type JsonSchema, schemaOf, type Shape, type Written } from "../../operator/shapes/shape.ts";
import type { Access } from "../auth/access.ts";
import type { Services, WebEnv } from "../services.ts";

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
  readonly body?: JsonSchema;
  /** The JSON schema of the response. */
  readonly answer: JsonSchema;
  /** Whether the response is a stream of events, and `answer` the data of one. */
  readonly streams?: boolean;
  /** Whether a client that accepts a stream of events gets one, of single elements of the answer. */
  readonly alsoStreams?: boolean;
  /** Of a route that reads: describes the response. */
  readonly shape?: Shape<unknown>;
  /** Handles a request. */
  readonly run: (c: Context<WebEnv>, services: Services) => Promise<ApiAnswer>;
}

/** The response of a route. */
export interface ApiAnswer {
  readonly value: unknown;
  /** In place of the value: a stream of events. */
  readonly response?: Response;
  /** Default 200. */
  readonly status?: 200 | 201 | 202;
}

/** A route that reads. */
export interface ReadRoute<T> extends Pick<ApiRoute, "path" | "waits" | "about" | "query"> {
  /** Default `read`. */
  readonly access?: Access;
  /** Describes the response. */
  readonly shape: Shape<T>;
  /** Returns the response. */
  readonly run: (c: Context<WebEnv>, services: Services) => Promise<Written<T>>;
}

/** Returns a route that reads: the compiler compares its response with its shape. */
export function reads<T>(route: ReadRoute<T>): ApiRoute {
  const run: ApiRoute["run"] = async (c, services) => ({ value: await route.run(c, services) });
  return { access: "read", ...route, method: "GET", answer: schemaOf(route.shape), run };
}

/** Returns a route that streams events; its shape is the data of one. */
export function streams(
  route: Omit<ReadRoute<unknown>, "run" | "waits"> & {
    readonly run: (c: Context<WebEnv>, services: Services) => Promise<Response>;
  },
): ApiRoute {
  const run: ApiRoute["run"] = async (c, services) => ({ value: undefined, response: await route.run(c, services) });
  return { access: "read", ...route, method: "GET", waits: true, streams: true, answer: schemaOf(route.shape), run };
}

/** The parameters of a list with pages; `size` is the default limit. */
export function pageQuery(size: number): Readonly<Record<string, string>> {
  return { cursor: "next of the page before", limit: `1 to 1000; default ${size}` };
}
