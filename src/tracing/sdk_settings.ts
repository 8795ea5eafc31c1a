/**
 * Reads the OpenTelemetry environment variables that its packages don't read. An invalid value causes a warning, and the
 * default applies, as the specification requires.
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

export interface SdkSettings {
  readonly sampler: Sampler;
  /** Undefined for no export. */
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

export function readSdkSettings(
  env: (name: string) => string | undefined,
  warn: (message: string) => void,
): SdkSettings {
  // An address may have a login.
  const shown = (name: string) => env(name)?.replace(/^([^@]*\/\/)?.*@/, "$1***@");
  const reject = (name: string, expected: string) => warn(`${name} is "${shown(name)}"; expected ${expected}`);
  const count = (name: string, min: number): number | undefined => {
    const text = env(name);
    if (text === undefined) return undefined;
    if (/^\d{1,9}$/.test(text) && Number(text) >= min) return Number(text);
    reject(name, `a whole number from ${min}`);
    return undefined;
  };
  checkFiles(env, reject);
  checkCompression(env, reject);
  const maxQueueSize = count("OTEL_BSP_MAX_QUEUE_SIZE", 1) ?? 2_048;
  return {
    sampler: readSampler(env, reject),
    protocol: readProtocol(env, reject),
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

type Reject = (name: string, expected: string) => void;

/** Returns the two variables of a setting. The exporters read them, and ignore an invalid value silently. */
function both(setting: string): string[] {
  return [`OTEL_EXPORTER_OTLP_TRACES_${setting}`, `OTEL_EXPORTER_OTLP_${setting}`];
}

function checkFiles(env: (name: string) => string | undefined, reject: Reject): void {
  for (const name of ["CERTIFICATE", "CLIENT_CERTIFICATE", "CLIENT_KEY"].flatMap(both)) {
    const path = env(name);
    if (path === undefined) continue;
    try {
      Deno.openSync(path).close();
    } catch {
      reject(name, "a readable file; it is ignored");
    }
  }
}

function checkCompression(env: (name: string) => string | undefined, reject: Reject): void {
  for (const name of both("COMPRESSION")) {
    const value = env(name);
    if (value !== undefined && value !== "gzip" && value !== "none") reject(name, "gzip or none; none is used");
  }
}

/** Returns whether the endpoint is valid. The exporters would replace an invalid one with the default. */
function hasValidEndpoint(env: (name: string) => string | undefined, reject: Reject): boolean {
  const name = both("ENDPOINT").find((name) => env(name) !== undefined);
  if (name === undefined || /^https?:$/.test(URL.parse(env(name)!)?.protocol ?? "")) return true;
  reject(name, "an address such as http://127.0.0.1:4318; no traces are exported");
  return false;
}

function readProtocol(env: (name: string) => string | undefined, reject: Reject): SdkSettings["protocol"] {
  const exporter = env("OTEL_TRACES_EXPORTER") ?? "otlp";
  if (exporter !== "otlp") {
    reject("OTEL_TRACES_EXPORTER", "otlp or none; no traces are exported");
    return undefined;
  }
  if (!hasValidEndpoint(env, reject)) return undefined;
  const name = env("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL") === undefined
    ? "OTEL_EXPORTER_OTLP_PROTOCOL"
    : "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL";
  const protocol = env(name) ?? "http/protobuf";
  if (protocol === "http/protobuf" || protocol === "http/json") return protocol;
  reject(name, "http/protobuf or http/json, which collectors accept on port 4318; http/protobuf is used");
  return "http/protobuf";
}

function readSampler(env: (name: string) => string | undefined, reject: Reject): Sampler {
  const name = env("OTEL_TRACES_SAMPLER") ?? "parentbased_always_on";
  const parentBased = name.startsWith("parentbased_");
  const root = readRoot(parentBased ? name.slice("parentbased_".length) : name, readRatio(env, reject));
  if (root !== undefined) return parentBased ? new ParentBasedSampler({ root }) : root;
  reject("OTEL_TRACES_SAMPLER", "always_on, always_off or traceidratio, each optionally prefixed with parentbased_");
  return new ParentBasedSampler({ root: new AlwaysOnSampler() });
}

function readRatio(env: (name: string) => string | undefined, reject: Reject): number {
  const ratio = Number(env("OTEL_TRACES_SAMPLER_ARG") ?? 1);
  if (ratio >= 0 && ratio <= 1) return ratio;
  reject("OTEL_TRACES_SAMPLER_ARG", "a number from 0 to 1; 1 is used");
  return 1;
}

function readRoot(name: string, ratio: number): Sampler | undefined {
  if (name === "always_on") return new AlwaysOnSampler();
  if (name === "always_off") return new AlwaysOffSampler();
  return name === "traceidratio" ? new TraceIdRatioBasedSampler(ratio) : undefined;
}
