/**
 * Where spans go: OTLP over HTTP. Endpoint, headers, compression and certificates are read from the environment by
 * OpenTelemetry's exporters themselves.
 *
 * @module
 */
import { OTLPTraceExporter as JsonExporter } from "@opentelemetry/exporter-trace-otlp-http";
import { OTLPTraceExporter as ProtobufExporter } from "@opentelemetry/exporter-trace-otlp-proto";
import type { SpanExporter } from "@opentelemetry/sdk-trace";
import type { SdkSettings } from "./sdk_settings.ts";

/** The exporters try again after 0.8 seconds at the soonest, and not when that is past their timeout. */
const ONE_TRY_MS = 750;

/**
 * The exporter, by the settings.
 *
 * @param brief whether to try each export once only
 */
export function newExporter({ protocol, timeoutMs }: SdkSettings, brief: boolean): SpanExporter | undefined {
  if (protocol === undefined) return undefined;
  const options = {
    timeoutMillis: brief ? Math.min(timeoutMs, ONE_TRY_MS) : timeoutMs,
    // Batches are seconds apart; and in Deno 2.6.10, node:http sends nothing when a connection is used again.
    httpAgentOptions: { keepAlive: false },
  };
  return protocol === "http/json" ? new JsonExporter(options) : new ProtobufExporter(options);
}
