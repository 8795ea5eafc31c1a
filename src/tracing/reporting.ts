/**
 * Says when spans cannot be exported, once, and when they can be again: a collector that is down must not fill the log.
 *
 * @module
 */
import type { SpanExporter } from "@opentelemetry/sdk-trace";

type Spans = Parameters<SpanExporter["export"]>[0];
type Told = Parameters<SpanExporter["export"]>[1];

/** Around an exporter. */
export class ReportingExporter implements SpanExporter {
  readonly #exporter: SpanExporter;
  readonly #warn: (message: string) => void;
  /** Spans lost since the last that were not. */
  #lost = 0;

  constructor(exporter: SpanExporter, warn: (message: string) => void) {
    this.#exporter = exporter;
    this.#warn = warn;
  }

  export(spans: Spans, told: Told): void {
    this.#exporter.export(spans, (result) => {
      if (result.code === 0) {
        if (this.#lost > 0) this.#warn(`Traces are exported again; ${this.#lost} spans were lost`);
        this.#lost = 0;
      } else {
        if (this.#lost === 0) this.#warn(`Traces cannot be exported, jobs go on: ${why(result.error)}`);
        this.#lost += spans.length;
      }
      // It was said; the batch processor need not say it again.
      told({ code: 0 });
    });
  }

  async forceFlush(): Promise<void> {
    await this.#exporter.forceFlush?.();
  }

  async shutdown(): Promise<void> {
    await this.#exporter.shutdown();
  }
}

/** In one line; an error of several attempts says nothing itself. */
function why(error: Error | undefined): string {
  const inner = error instanceof AggregateError ? error.errors[0] as Error : error;
  const status = (inner as { code?: unknown } | undefined)?.code;
  const text = (inner?.message || String(status ?? "no reason given")).split("\n")[0]!;
  return typeof status === "number" ? `the collector answered ${status} ${text}` : text;
}
