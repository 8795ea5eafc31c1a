/**
 * What makes spans and exports them: OpenTelemetry's SDK, set up by its standard environment variables. Spans wait in
 * memory, a bounded number of them, and go out in batches; nothing waits for that.
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

/** Hostile payloads make long names. */
const MAX_VALUE = 10_000;

const MAX_SAID = 300;

/** What was set up. */
export interface Sdk {
  /** Exports what is left, and takes everything down. Never rejects. */
  stop(): Promise<void>;
}

/**
 * Sets it up for the whole program, through OpenTelemetry's API.
 *
 * @param warn told what keeps spans from being exported, once for each reason
 * @param brief whether to try each export once only
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
      await provider.shutdown().catch(() => {}); // the reporting exporter has said why
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

/** What the SDK itself has to say, each thing once. What an exporter meets is the reporting exporter's. */
function once(warn: (message: string) => void) {
  const said = new Set<string>();
  const say = (...parts: unknown[]) => {
    // The first part may be but the name of who says it; of the others, what are no words is a payload.
    const words = parts.flatMap((part) => part instanceof Error ? part.message : typeof part === "string" ? part : []);
    const message = words.join(": ").replace(/[\p{C}\s]+/gu, " ").slice(0, MAX_SAID);
    const kind = message.replace(/\d+/g, "N").slice(0, 60);
    if (said.has(kind) || said.size > 20) return;
    said.add(kind);
    warn(`OpenTelemetry: ${message}`);
  };
  const silent = () => {};
  return { error: say, warn: say, info: silent, debug: silent, verbose: silent };
}
