/**
 * Sets up OpenTelemetry's SDK by its standard environment variables. A limited number of spans waits in memory, and is
 * exported in batches. Jobs never wait for an export.
 *
 * @module
 */
import { context, diag, DiagLogLevel, propagation, trace } from "@opentelemetry/api";
import { CompositePropagator, W3CBaggagePropagator, W3CTraceContextPropagator } from "@opentelemetry/core";
import { defaultResource, detectResources, envDetector, resourceFromAttributes } from "@opentelemetry/resources";
import { BatchSpanProcessor, TracerProvider } from "@opentelemetry/sdk-trace";
import { ActiveContext } from "./active_context.ts";
import { newExporter } from "./exporter.ts";
import { ReportingExporter } from "./reporting.ts";
import { readSdkSettings } from "./sdk_settings.ts";

/** The limit for attribute values: hostile payloads have long names. */
const MAX_VALUE = 10_000;

const MAX_WARNING = 300;

/** A running SDK. */
export interface Sdk {
  /** Exports the remaining spans, and stops. Never rejects. */
  stop(): Promise<void>;
}

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
  return {
    async stop() {
      await provider.shutdown().catch(() => {}); // the reporting exporter has logged the reason
      trace.disable();
      context.disable();
      propagation.disable();
      diag.disable();
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
