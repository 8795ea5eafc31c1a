/**
 * Sets up OpenTelemetry's SDK by its standard environment variables. A limited number of spans waits in memory, and is
 * exported in batches. Jobs never wait for an export.
 *
 * @module
 */
import {
  type Context,
  context,
  type ContextManager,
  diag,
  DiagLogLevel,
  propagation,
  ROOT_CONTEXT,
  trace,
} from "@opentelemetry/api";
import { CompositePropagator, W3CBaggagePropagator, W3CTraceContextPropagator } from "@opentelemetry/core";
import { OTLPTraceExporter as JsonExporter } from "@opentelemetry/exporter-trace-otlp-http";
import { OTLPTraceExporter as ProtobufExporter } from "@opentelemetry/exporter-trace-otlp-proto";
import { defaultResource, detectResources, envDetector, resourceFromAttributes } from "@opentelemetry/resources";
import { BatchSpanProcessor, type SpanExporter, TracerProvider } from "@opentelemetry/sdk-trace";
import { AsyncLocalStorage } from "node:async_hooks";
import { readSdkSettings, type SdkSettings } from "./sdk_settings.ts";

/** The limit for attribute values: hostile payloads have long names. */
const MAX_VALUE = 10_000;

const MAX_WARNING = 300;

export interface Sdk {
  /** Exports the spans that have ended. Never rejects. */
  flush(): Promise<void>;
  /** Exports the remaining spans, and stops. Another SDK can be set up as soon as this is called. Never rejects. */
  stop(): Promise<void>;
}

/** The tracer provider that was set up last. */
let latest: TracerProvider | undefined;

/**
 * Sets up the SDK for the whole program, through OpenTelemetry's API.
 *
 * @param warn receives the reasons why spans are not exported, each once
 * @param brief whether each export has a single attempt
 */
export function startSdk(warn: (message: string) => void, brief: boolean): Sdk {
  const settings = readSdkSettings((name) => Deno.env.get(name)?.trim() || undefined, warn);
  const exporter = newExporter(settings, brief);
  const reporting = exporter && new ReportingExporter(exporter, warn);
  const provider = new TracerProvider({
    resource: resource(),
    sampler: settings.sampler,
    spanLimits: { attributeValueLengthLimit: settings.valueLengthLimit ?? MAX_VALUE },
    spanProcessors: reporting ? [new BatchSpanProcessor({ exporter: reporting, ...settings.batch })] : [],
  });
  diag.setLogger(once(warn), { logLevel: DiagLogLevel.WARN, suppressOverrideMessage: true });
  context.setGlobalContextManager(new ActiveContext());
  propagation.setGlobalPropagator(
    new CompositePropagator({ propagators: [new W3CTraceContextPropagator(), new W3CBaggagePropagator()] }),
  );
  trace.setGlobalTracerProvider(provider);
  latest = provider;
  return {
    // The reporting exporter logs the reasons of failures.
    flush: () => provider.forceFlush().catch(() => {}),
    async stop() {
      // First: a worker that starts during the export of the last spans must not use this provider.
      trace.disable();
      context.disable();
      propagation.disable();
      await provider.shutdown().catch(() => {});
      if (latest === provider) diag.disable();
    },
  };
}

function resource() {
  return defaultResource()
    .merge(resourceFromAttributes({
      "service.name": "jobs",
      "service.instance.id": crypto.randomUUID(),
      "host.name": Deno.hostname(),
      "process.pid": Deno.pid,
    }))
    .merge(detectResources({ detectors: [envDetector] }));
}

/** Returns a logger for the SDK that warns once for each kind of message. The reporting exporter logs the errors of exports. */
function once(warn: (message: string) => void) {
  const seen = new Set<string>();
  const log = (...parts: unknown[]) => {
    // The first part may be only the name of a component. Other parts that are not text are payloads.
    const words = parts.flatMap((part) => part instanceof Error ? part.message : typeof part === "string" ? part : []);
    const message = words.join(": ").replace(/[\p{C}\s]+/gu, " ").slice(0, MAX_WARNING);
    const kind = message.replace(/\d+/g, "N").slice(0, 60);
    if (seen.has(kind) || seen.size > 20) return;
    seen.add(kind);
    warn(`OpenTelemetry: ${message}`);
  };
  const silent = () => {};
  return { error: log, warn: log, info: silent, debug: silent, verbose: silent };
}

/** The OpenTelemetry context of the running code, which follows it across awaits. */
class ActiveContext implements ContextManager {
  readonly #current = new AsyncLocalStorage<Context>();

  active(): Context {
    return this.#current.getStore() ?? ROOT_CONTEXT;
  }

  with<Args extends unknown[], Run extends (...args: Args) => ReturnType<Run>>(
    context: Context,
    run: Run,
    thisArg?: ThisParameterType<Run>,
    ...args: Args
  ): ReturnType<Run> {
    return this.#current.run(context, () => run.apply(thisArg, args));
  }

  /** Returns a function that runs within a context. Any other value stays unchanged. */
  bind<Target>(context: Context, target: Target): Target {
    if (typeof target !== "function") return target;
    const current = this.#current;
    return function (this: unknown, ...args: unknown[]) {
      return current.run(context, () => target.apply(this, args));
    } as Target;
  }

  /** Does nothing: the manager is always enabled. */
  enable(): this {
    return this;
  }

  disable(): this {
    this.#current.disable();
    return this;
  }
}

/** A timeout with a single attempt: the exporters retry after 0.8 s at the earliest, and not after their timeout. */
const ONE_ATTEMPT_TIMEOUT_MS = 750;

/**
 * Creates the exporter of spans: OTLP over HTTP. OpenTelemetry's exporters read endpoint, headers, compression and
 * certificates from the environment.
 *
 * Returns the exporter for the settings; undefined if they have none.
 *
 * @param brief whether each export has a single attempt
 */
function newExporter({ protocol, timeoutMs }: SdkSettings, brief: boolean): SpanExporter | undefined {
  if (protocol === undefined) return undefined;
  const options = {
    timeoutMillis: brief ? Math.min(timeoutMs, ONE_ATTEMPT_TIMEOUT_MS) : timeoutMs,
    // Batches are seconds apart. In Deno 2.6.10, node:http also sends nothing on a reused connection.
    httpAgentOptions: { keepAlive: false },
  };
  return protocol === "http/json" ? new JsonExporter(options) : new ProtobufExporter(options);
}

type Spans = Parameters<SpanExporter["export"]>[0];
type Callback = Parameters<SpanExporter["export"]>[1];

/**
 * Warns once when spans cannot be exported, and once when the export works again: a collector that is down must not fill the
 * log.
 */
class ReportingExporter implements SpanExporter {
  readonly #exporter: SpanExporter;
  readonly #warn: (message: string) => void;
  /** The number of spans lost since the last successful export. */
  #lost = 0;

  constructor(exporter: SpanExporter, warn: (message: string) => void) {
    this.#exporter = exporter;
    this.#warn = warn;
  }

  export(spans: Spans, callback: Callback): void {
    this.#exporter.export(spans, (result) => {
      if (result.code === 0) {
        if (this.#lost > 0) this.#warn(`Exporting traces again; ${this.#lost} spans were lost`);
        this.#lost = 0;
      } else {
        if (this.#lost === 0) this.#warn(`Traces cannot be exported, jobs continue: ${reasonOf(result.error)}`);
        this.#lost += spans.length;
      }
      // Reported above, so that the batch processor doesn't report it again.
      callback({ code: 0 });
    });
  }

  async forceFlush(): Promise<void> {
    await this.#exporter.forceFlush?.();
  }

  async shutdown(): Promise<void> {
    await this.#exporter.shutdown();
  }
}

/** Returns the reason in one line. An error of several attempts has no message. */
function reasonOf(error: Error | undefined): string {
  const inner = error instanceof AggregateError ? error.errors[0] as Error : error;
  const status = (inner as { code?: unknown } | undefined)?.code;
  const text = (inner?.message || String(status ?? "unknown reason")).split("\n")[0]!;
  return typeof status === "number" ? `the collector replied ${status} ${text}` : text;
}
