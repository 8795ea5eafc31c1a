/**
 * Warns once when spans cannot be exported, and once when the export works again: a collector that is down must not fill
 * the log.
 *
 * @module
 */
import type { SpanExporter } from "@opentelemetry/sdk-trace";

type Spans = Parameters<SpanExporter["export"]>[0];
type Callback = Parameters<SpanExporter["export"]>[1];

/** Wraps an exporter. */
export class ReportingExporter implements SpanExporter {
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
