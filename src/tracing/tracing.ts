/**
 * OpenTelemetry: a span for each push and one for each attempt, linked through the payload. This file decides whether
 * tracing is on. The rest is loaded only if it is.
 *
 * Tracing is on if the environment has an endpoint (`OTEL_EXPORTER_OTLP_ENDPOINT`, `OTEL_EXPORTER_OTLP_TRACES_ENDPOINT`, or
 * `OTEL_TRACES_EXPORTER=otlp`), or if the program has set a tracer provider, as Deno does with `OTEL_DENO=true`.
 * `OTEL_SDK_DISABLED=true` and `OTEL_TRACES_EXPORTER=none` turn it off.
 *
 * @module
 */
import type { ClientOptions } from "../client/client.ts";
import type { PerformMiddleware } from "../handlers/handler.ts";

/** The headers that pass the context of a span to another process: `traceparent`, `tracestate`, `baggage`. */
export type Carrier = Readonly<Record<string, string>>;

/** Open tracing. Disposing of it exports the remaining spans, and waits at most 2 s for that. */
export interface Tracing extends AsyncDisposable {
  /** Options of a client: `new Client({ store, ...tracing.client })`. */
  readonly client: Required<Pick<ClientOptions, "middleware" | "batchMiddleware">>;
  /** Middleware around each attempt. It must be the outermost. */
  readonly perform: PerformMiddleware;
  /** Runs the function of a durable step within a span, a child of the current one. */
  step<Result>(step: { readonly name: string; readonly attempt: number }, run: () => Promise<Result>): Promise<Result>;
  /** Runs a function as part of a span of another process. Spans that it creates are children of that span. */
  within<Result>(carrier: Carrier, run: () => Result): Result;
}

/** Options of {@linkcode openTracing}. */
export interface TracingOptions {
  /**
   * How the span of an attempt refers to the span of its push: `link` (default) in a new trace, or `child` in the same
   * trace.
   */
  readonly style?: "link" | "child";
  /** Receives the reasons why spans are not exported. Default: ignored. */
  readonly warn?: (message: string) => void;
  /** For a command that ends at once: each export has a single attempt, and disposing waits at most a second. */
  readonly brief?: boolean;
}

/** The global that the API and all its copies use for registrations. */
const API = Symbol.for("opentelemetry.js.api.1");

/**
 * Opens tracing, if the environment variables of OpenTelemetry turn it on.
 *
 * @example
 * ```ts
 * import { Client, openStore, openTracing } from "@jobs/jobs";
 *
 * await using tracing = await openTracing();
 * await using store = await openStore("sqlite::memory:");
 * const client = new Client({ store, ...tracing?.client });
 * ```
 *
 * @returns undefined if it is off
 */
export async function openTracing(options: TracingOptions = {}): Promise<Tracing | undefined> {
  const env = (name: string) => Deno.env.get(name)?.trim() || undefined;
  if (!isOn(env)) return undefined;
  const disabled = env("OTEL_SDK_DISABLED");
  if (disabled !== undefined && disabled.toLowerCase() !== "false") {
    options.warn?.(`OTEL_SDK_DISABLED is "${disabled}"; expected true or false; tracing stays on`);
  }
  return (await import("./open.ts")).openSpans(options);
}

/** Returns the context in the environment, for a program that another program has started as part of a span. */
export function carrierOfEnvironment(): Carrier {
  const carrier: Record<string, string> = {};
  for (const name of ["traceparent", "tracestate", "baggage"]) {
    const value = Deno.env.get(name.toUpperCase());
    if (value) carrier[name] = value;
  }
  return carrier;
}

export function hasProvider(): boolean {
  return (globalThis as { [API]?: { trace?: unknown } })[API]?.trace !== undefined;
}

function isOn(env: (name: string) => string | undefined): boolean {
  if (env("OTEL_SDK_DISABLED")?.toLowerCase() === "true") return false;
  const exporters = env("OTEL_TRACES_EXPORTER");
  if (exporters === "none") return false;
  if (exporters !== undefined || hasProvider()) return true;
  return (env("OTEL_EXPORTER_OTLP_ENDPOINT") ?? env("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")) !== undefined;
}
