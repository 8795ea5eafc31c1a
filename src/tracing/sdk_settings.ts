/**
 * OpenTelemetry's environment variables, as far as its packages do not read them themselves. A value that is not as it
 * should be is named in a warning, and the default holds: the specification asks for that.
 *
 * @module
 */
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  ParentBasedSampler,
  type Sampler,
  TraceIdRatioBasedSampler,
} from "@opentelemetry/sdk-trace";

/** What they say. */
export interface SdkSettings {
  readonly sampler: Sampler;
  /** Undefined: nowhere. */
  readonly protocol: "http/protobuf" | "http/json" | undefined;
  readonly timeoutMs: number;
  readonly batch: {
    readonly maxQueueSize: number;
    readonly maxExportBatchSize: number;
    readonly scheduledDelayMillis: number;
    readonly exportTimeoutMillis: number;
  };
  readonly valueLengthLimit: number | undefined;
}

/** Reads them. */
export function readSdkSettings(
  env: (name: string) => string | undefined,
  warn: (message: string) => void,
): SdkSettings {
  const refuse = (name: string, wanted: string) => warn(`${name} is "${env(name)}"; wanted: ${wanted}`);
  const count = (name: string, least: number): number | undefined => {
    const text = env(name);
    if (text === undefined) return undefined;
    if (/^\d{1,9}$/.test(text) && Number(text) >= least) return Number(text);
    refuse(name, `a whole number from ${least}`);
    return undefined;
  };
  checkFiles(env, refuse);
  checkCompression(env, refuse);
  const maxQueueSize = count("OTEL_BSP_MAX_QUEUE_SIZE", 1) ?? 2_048;
  return {
    sampler: readSampler(env, refuse),
    protocol: readProtocol(env, refuse),
    timeoutMs: count("OTEL_EXPORTER_OTLP_TRACES_TIMEOUT", 1) ?? count("OTEL_EXPORTER_OTLP_TIMEOUT", 1) ?? 10_000,
    batch: {
      maxQueueSize,
      maxExportBatchSize: Math.min(count("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", 1) ?? 512, maxQueueSize),
      scheduledDelayMillis: count("OTEL_BSP_SCHEDULE_DELAY", 0) ?? 5_000,
      exportTimeoutMillis: count("OTEL_BSP_EXPORT_TIMEOUT", 1) ?? 30_000,
    },
    valueLengthLimit: count("OTEL_SPAN_ATTRIBUTE_VALUE_LENGTH_LIMIT", 0) ??
      count("OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT", 0),
  };
}

type Refuse = (name: string, wanted: string) => void;

/** The exporters read these themselves, and say nothing where a value cannot be. */
function both(setting: string): string[] {
  return [`OTEL_EXPORTER_OTLP_TRACES_${setting}`, `OTEL_EXPORTER_OTLP_${setting}`];
}

function checkFiles(env: (name: string) => string | undefined, refuse: Refuse): void {
  for (const name of ["CERTIFICATE", "CLIENT_CERTIFICATE", "CLIENT_KEY"].flatMap(both)) {
    const path = env(name);
    if (path === undefined) continue;
    try {
      Deno.openSync(path).close();
    } catch {
      refuse(name, "a file that can be read; it is left out");
    }
  }
}

function checkCompression(env: (name: string) => string | undefined, refuse: Refuse): void {
  for (const name of both("COMPRESSION")) {
    const value = env(name);
    if (value !== undefined && value !== "gzip" && value !== "none") refuse(name, "gzip or none; none is used");
  }
}

/** Whether there is somewhere to export to: left to themselves, the exporters take another place for one that cannot be. */
function canBeReached(env: (name: string) => string | undefined, refuse: Refuse): boolean {
  const name = both("ENDPOINT").find((name) => env(name) !== undefined);
  if (name === undefined || /^https?:$/.test(URL.parse(env(name)!)?.protocol ?? "")) return true;
  refuse(name, "an address such as http://127.0.0.1:4318; no traces are exported");
  return false;
}

function readProtocol(env: (name: string) => string | undefined, refuse: Refuse): SdkSettings["protocol"] {
  const exporter = env("OTEL_TRACES_EXPORTER") ?? "otlp";
  if (exporter !== "otlp") {
    refuse("OTEL_TRACES_EXPORTER", "otlp or none; no traces are exported");
    return undefined;
  }
  if (!canBeReached(env, refuse)) return undefined;
  const name = env("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL") === undefined
    ? "OTEL_EXPORTER_OTLP_PROTOCOL"
    : "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL";
  const protocol = env(name) ?? "http/protobuf";
  if (protocol === "http/protobuf" || protocol === "http/json") return protocol;
  refuse(name, "http/protobuf or http/json, which collectors take on port 4318; http/protobuf is used");
  return "http/protobuf";
}

function readSampler(env: (name: string) => string | undefined, refuse: Refuse): Sampler {
  const name = env("OTEL_TRACES_SAMPLER") ?? "parentbased_always_on";
  const parentBased = name.startsWith("parentbased_");
  const root = readRoot(parentBased ? name.slice("parentbased_".length) : name, readRatio(env, refuse));
  if (root !== undefined) return parentBased ? new ParentBasedSampler({ root }) : root;
  refuse("OTEL_TRACES_SAMPLER", "always_on, always_off or traceidratio, each also with parentbased_ before it");
  return new ParentBasedSampler({ root: new AlwaysOnSampler() });
}

function readRatio(env: (name: string) => string | undefined, refuse: Refuse): number {
  const ratio = Number(env("OTEL_TRACES_SAMPLER_ARG") ?? 1);
  if (ratio >= 0 && ratio <= 1) return ratio;
  refuse("OTEL_TRACES_SAMPLER_ARG", "a number from 0 to 1; 1 is used");
  return 1;
}

function readRoot(name: string, ratio: number): Sampler | undefined {
  if (name === "always_on") return new AlwaysOnSampler();
  if (name === "always_off") return new AlwaysOffSampler();
  return name === "traceidratio" ? new TraceIdRatioBasedSampler(ratio) : undefined;
}
