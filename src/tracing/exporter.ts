/**
 * Creates the exporter of spans: OTLP over HTTP. OpenTelemetry's exporters read endpoint, headers, compression and
 * certificates from the environment.
 *
 * @module
 */
import { OTLPTraceExporter as JsonExporter } from "@opentelemetry/exporter-trace-otlp-http";
import { OTLPTraceExporter as ProtobufExporter } from "@opentelemetry/exporter-trace-otlp-proto";
import type { SpanExporter } from "@opentelemetry/sdk-trace";
import type { SdkSettings } from "./sdk_settings.ts";

/** A timeout with a single attempt: the exporters retry after 0.8 s at the earliest, and not after their timeout. */
const ONE_ATTEMPT_TIMEOUT_MS = 750;

/**
 * Returns the exporter for the settings; undefined if they have none.
 *
 * @param brief whether each export has a single attempt
 */
export function newExporter({ protocol, timeoutMs }: SdkSettings, brief: boolean): SpanExporter | undefined {
  if (protocol === undefined) return undefined;
  const options = {
    timeoutMillis: brief ? Math.min(timeoutMs, ONE_ATTEMPT_TIMEOUT_MS) : timeoutMs,
    // Batches are seconds apart. In Deno 2.6.10, node:http also sends nothing on a reused connection.
    httpAgentOptions: { keepAlive: false },
  };
  return protocol === "http/json" ? new JsonExporter(options) : new ProtobufExporter(options);
}
