/**
 * Formats metrics as text for Prometheus: families of samples.
 *
 * @module
 */
import type { Durations } from "../../job/histogram.ts";

export interface Sample {
  /** Completes the family's name: `_bucket`. */
  readonly suffix?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly value: number;
}

export type Kind = "counter" | "gauge" | "histogram";

/** Formats a family of one sample. */
export function one(name: string, kind: Kind, about: string, value: number): string {
  return family(name, kind, about, [{ value }]);
}

/** Returns the samples of a histogram. Buckets are cumulative. */
export function histogramSamples(
  { bounds, counts, sum }: Durations,
  labels: Readonly<Record<string, string>> = {},
): Sample[] {
  let count = 0;
  const buckets = counts.map((own, i) => {
    count += own;
    return {
      suffix: "_bucket",
      labels: { ...labels, le: i < bounds.length ? String(bounds[i]) : "+Inf" },
      value: count,
    };
  });
  return [...buckets, { suffix: "_sum", labels, value: sum }, { suffix: "_count", labels, value: count }];
}

/** Formats a family; `about` is its help text, without a full stop. */
export function family(name: string, kind: Kind, about: string, samples: readonly Sample[]): string {
  return [
    `# HELP ${name} ${about}.`,
    `# TYPE ${name} ${kind}`,
    ...samples.map(({ suffix = "", labels = {}, value }) => `${name}${suffix}${labelText(labels)} ${value}`),
  ].join("\n");
}

function labelText(labels: Readonly<Record<string, string>>): string {
  const pairs = Object.entries(labels).map(([name, value]) =>
    `${name}="${value.replace(/\\/g, "\\\\").replace(/"/g, '\\"').replace(/\n/g, "\\n")}"`
  );
  return pairs.length === 0 ? "" : `{${pairs.join(",")}}`;
}
