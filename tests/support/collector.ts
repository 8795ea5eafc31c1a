/**
 * A collector of traces for tests. Accepts OTLP over HTTP, as JSON, on a free port.
 *
 * @module
 */

/** An exported span. */
export interface Span {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  /** 4 producer, 5 consumer, 1 internal. */
  readonly kind: number;
  readonly attributes: Readonly<Record<string, unknown>>;
  readonly links: readonly { readonly traceId: string; readonly spanId: string }[];
  readonly events: readonly { readonly name: string; readonly attributes: Readonly<Record<string, unknown>> }[];
  /** The code is 2 for an error. */
  readonly status: { readonly code?: number; readonly message?: string };
  /** The attributes of its process. */
  readonly resource: Readonly<Record<string, unknown>>;
}

/** Receives spans. */
export class Collector implements AsyncDisposable {
  readonly #server: Deno.HttpServer<Deno.NetAddr>;
  readonly #spans: Span[] = [];
  readonly #headers: Headers[] = [];
  readonly #waiters = new Set<() => void>();

  constructor() {
    this.#server = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen: () => {} }, async (request) => {
      this.#headers.push(request.headers);
      this.#take(await request.json());
      return Response.json({});
    });
  }

  /** The variables that make a process export to this collector without delay. */
  get env(): Record<string, string> {
    return {
      OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${this.#server.addr.port}`,
      OTEL_EXPORTER_OTLP_PROTOCOL: "http/json",
      OTEL_BSP_SCHEDULE_DELAY: "20",
    };
  }

  /** The received spans. */
  get spans(): readonly Span[] {
    return this.#spans;
  }

  /** The headers of each request. */
  get headers(): readonly Headers[] {
    return this.#headers;
  }

  /** Waits for this many matching spans, and returns them. */
  received(fits: (span: Span) => boolean, count = 1): Promise<Span[]> {
    return new Promise((resolve, reject) => {
      const look = () => {
        const found = this.#spans.filter(fits);
        if (found.length < count) return;
        clearTimeout(patience);
        this.#waiters.delete(look);
        resolve(found);
      };
      const patience = setTimeout(() => {
        this.#waiters.delete(look);
        reject(new Error(`Timed out waiting for ${count} spans; received ${JSON.stringify(this.#spans, null, 1)}`));
      }, 30_000);
      this.#waiters.add(look);
      look();
    });
  }

  /** Waits for one span of this name and, if given, of this job. */
  async span(name: string, jid?: string): Promise<Span> {
    const fits = (span: Span) =>
      span.name === name && (jid === undefined || span.attributes["messaging.message.id"] === jid);
    return (await this.received(fits))[0]!;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server.shutdown();
  }

  #take({ resourceSpans = [] }: Exported): void {
    for (const { resource, scopeSpans } of resourceSpans) {
      for (const span of scopeSpans.flatMap(({ spans }) => spans)) {
        this.#spans.push({
          ...span,
          attributes: plainly(span.attributes),
          links: span.links ?? [],
          events: (span.events ?? []).map(({ name, attributes }) => ({ name, attributes: plainly(attributes) })),
          status: span.status ?? {},
          resource: plainly(resource.attributes),
        });
      }
    }
    for (const look of this.#waiters) look();
  }
}

interface Attribute {
  readonly key: string;
  readonly value: Readonly<Record<string, unknown>>;
}

interface Exported {
  readonly resourceSpans?: readonly {
    readonly resource: { readonly attributes: readonly Attribute[] };
    readonly scopeSpans: readonly {
      readonly spans: readonly (Omit<Span, "attributes" | "events" | "resource"> & {
        readonly attributes: readonly Attribute[];
        readonly events?: readonly { readonly name: string; readonly attributes: readonly Attribute[] }[];
      })[];
    }[];
  }[];
}

function plainly(attributes: readonly Attribute[] = []): Record<string, unknown> {
  return Object.fromEntries(attributes.map(({ key, value }) => [key, Object.values(value)[0]]));
}
