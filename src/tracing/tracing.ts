/**
 * OpenTelemetry: a span for each push and one for each perform, linked through the payload. Whether it is on is decided
 * here, and nothing else of it is loaded while it is off.
 *
 * It is on when the environment names somewhere to export to (`OTEL_EXPORTER_OTLP_ENDPOINT`,
 * `OTEL_EXPORTER_OTLP_TRACES_ENDPOINT`, or `OTEL_TRACES_EXPORTER=otlp`), or when this program has set a tracer provider
 * up already, as Deno does with `OTEL_DENO=true`. `OTEL_SDK_DISABLED=true` and `OTEL_TRACES_EXPORTER=none` turn it off.
 *
 * @module
 */
import type { ClientOptions } from "../client/client.ts";
import type { PerformMiddleware } from "../handlers/handler.ts";

/** What carries a span's context to another process: `traceparent`, `tracestate`, `baggage`. */
export type Carrier = Readonly<Record<string, string>>;

/** Tracing that is on. Disposing of it exports what is left, within a bound. */
export interface Tracing extends AsyncDisposable {
  /** For clients: `new Client({ store, ...tracing.client })`. */
  readonly client: Required<Pick<ClientOptions, "middleware" | "batchMiddleware">>;
  /** Around every job performed; to be the outermost. */
  readonly perform: PerformMiddleware;
  /** Runs something as part of a span that was begun elsewhere; spans made in it are that one's children. */
  within<Result>(carrier: Carrier, run: () => Result): Result;
}

/** How {@linkcode openTracing} is to go about it. */
export interface TracingOptions {
  /**
   * How the span of a perform is tied to that of its push: `link` (default), in a trace of its own, or `child`, in the
   * same trace.
   */
  readonly style?: "link" | "child";
  /** Told in words what keeps spans from being exported; default: nobody is. */
  readonly warn?: (message: string) => void;
  /** For a command that ends at once: it waits for its spans a second at most, and tries to export them once. */
  readonly brief?: boolean;
}

/** Where the API keeps what is registered, for every copy of it in the program. */
const API = Symbol.for("opentelemetry.js.api.1");

/** Sets tracing up, when it is on. */
export async function openTracing(options: TracingOptions = {}): Promise<Tracing | undefined> {
  const env = (name: string) => Deno.env.get(name)?.trim() || undefined;
  if (!isOn(env)) return undefined;
  const disabled = env("OTEL_SDK_DISABLED");
  if (disabled !== undefined && disabled.toLowerCase() !== "false") {
    options.warn?.(`OTEL_SDK_DISABLED is "${disabled}"; wanted: true or false; traces stay on`);
  }
  return (await import("./open.ts")).openSpans(options);
}

/** What the environment carries, for a program that another one started as part of a span. */
export function carrierOfEnvironment(): Carrier {
  const carrier: Record<string, string> = {};
  for (const name of ["traceparent", "tracestate", "baggage"]) {
    const value = Deno.env.get(name.toUpperCase());
    if (value) carrier[name] = value;
  }
  return carrier;
}

/** Whether a tracer provider was set up in this program, by whomever. */
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
