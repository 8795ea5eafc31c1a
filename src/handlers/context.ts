/**
 * What a handler is given: its job, and what it may do beside its work.
 *
 * @module
 */
import type { Client } from "../client/client.ts";
import type { Payload } from "../job/job.ts";
import { type Occurrence, occurrenceOf } from "../job/occurrence.ts";
import type { Log, LogLevel } from "../log/log.ts";
import { asText } from "../log/value.ts";
import { firstLevel, isAtLeast } from "./log_level.ts";
import type { Registry } from "./registry.ts";

/** What the server offers to every job's context. */
export interface ContextServices {
  /** Where jobs log. */
  readonly log: Log;
  /** With which jobs push more jobs. */
  readonly client: Client;
  /** What classes say of their jobs. */
  readonly registry?: Pick<Registry, "get">;
  /** Told of every progress. */
  readonly onProgress?: (progress: Progress) => void;
}

/** How far a job is, as it said itself. */
export interface Progress {
  /** What it counts: percent, rows, bytes. */
  readonly done: number;
  /** What it says beside the number. */
  readonly note: string | undefined;
}

/** The span that a job is performed in. */
export interface JobTrace {
  /** 32 hex digits. */
  readonly traceId: string;
  /** 16 hex digits. */
  readonly spanId: string;
  /** What tells another process of it: `traceparent`, `tracestate`, `baggage`. */
  readonly carrier: Readonly<Record<string, string>>;
}

/** Of a note and of each line so many characters are kept. */
const MAX_NOTE = 200;
/** So many lines are kept, the latest. */
const MAX_LINES = 20;

/** The first argument of every handler. Its costly parts are made when first asked for. */
export class JobContext {
  /** 24 hex digits; the same through all tries. */
  readonly jid: string;
  /** The class it is performed as. */
  readonly class: string;
  /** The queue it was taken from. */
  readonly queue: string;
  /** 1 at the first try. */
  readonly attempt: number;
  /** The whole payload, parsed. To be read, not changed. */
  readonly payload: Payload;
  /** The payload's text, as it is stored. */
  readonly raw: string;
  /** The span it is performed in; undefined unless traces are on. For what performs it elsewhere, and for the log. */
  trace: JobTrace | undefined;
  readonly #services: ContextServices;
  #abort: AbortController | undefined;
  #aborted: { readonly reason: unknown } | undefined;
  #log: Log | undefined;
  #progress: Progress | undefined;
  #lines: readonly string[] | undefined;
  #leastLevel: LogLevel | undefined;

  /** Made by the server. */
  constructor(
    job: { jid: string; class: string; queue: string; attempt: number; payload: Payload; raw: string },
    services: ContextServices,
  ) {
    this.jid = job.jid;
    this.class = job.class;
    this.queue = job.queue;
    this.attempt = job.attempt;
    this.payload = job.payload;
    this.raw = job.raw;
    this.#services = services;
  }

  /**
   * Aborts when the job shall end: the server stops, the job is cancelled, out of time, or another process's by now
   * ({@linkcode LeaseLost}). Pass it on to `fetch`.
   */
  get signal(): AbortSignal {
    this.#abort ??= new AbortController();
    if (this.#aborted && !this.#abort.signal.aborted) this.#abort.abort(this.#aborted.reason);
    return this.#abort.signal;
  }

  /** Whether lines of this level are logged for this job: where it or its class says `log_level`, only those from it on. */
  logs(level: LogLevel): boolean {
    this.#leastLevel ??=
      firstLevel(this.payload["log_level"], this.#services.registry?.get(this.class)?.options["log_level"]) ?? "debug";
    return isAtLeast(level, this.#leastLevel);
  }

  /** Logs with the job's class, jid and queue on every line. */
  get log(): Log {
    this.#log ??= this.#remembering(
      this.#services.log.with({
        ...{ class: this.class, jid: this.jid, queue: this.queue, attempt: this.attempt },
        ...traceFields(this),
      }),
    );
    return this.#log;
  }

  /** Which time of which crontab entry it was enqueued for; undefined when it was not by the crontab. */
  get occurrence(): Occurrence | undefined {
    return occurrenceOf(this.payload);
  }

  /** To push more jobs. */
  get client(): Client {
    return this.#services.client;
  }

  /**
   * Says how far the job is; shown in the dump and to whoever asks for the job.
   *
   * @param done any number: percent, rows, bytes
   */
  progress(done: number, note?: string): void {
    // From JavaScript, these may be anything; they are kept, and shown to others.
    this.#progress = {
      done: typeof done === "number" ? done : Number(asText(done)),
      note: note === undefined ? undefined : asText(note).slice(0, MAX_NOTE),
    };
    this.#services.onProgress?.(this.#progress);
  }

  /** What it last said with `progress`. */
  get lastProgress(): Progress | undefined {
    return this.#progress;
  }

  /** The last line it logged. */
  get lastLine(): string | undefined {
    return this.#lines?.at(-1);
  }

  /** The last lines it logged, at most 20, each cut to 200 characters; undefined when it logged none. */
  get lastLines(): readonly string[] | undefined {
    return this.#lines;
  }

  /** What {@linkcode signal} aborted with. */
  get abortedBy(): unknown {
    return this.#aborted?.reason;
  }

  /** Throws what {@linkcode signal} aborted with, if it has. */
  throwIfAborted(): void {
    if (this.#aborted) throw this.#aborted.reason;
  }

  /** Aborts {@linkcode signal}. For the server. */
  abort(reason: unknown): void {
    this.#aborted ??= { reason };
    this.#abort?.abort(reason);
  }

  #remembering(log: Log): Log {
    const through = (level: "debug" | "info" | "warn" | "error"): Log[typeof level] => (message, fields) => {
      if (!this.logs(level)) return;
      const text = asText(message);
      this.#lines = [...(this.#lines ?? []).slice(1 - MAX_LINES), text.slice(0, MAX_NOTE)];
      log[level](text, fields);
    };
    return {
      debug: through("debug"),
      info: through("info"),
      warn: through("warn"),
      error: through("error"),
      enabled: (level) => this.logs(level) && log.enabled(level),
      with: (fields) => this.#remembering(log.with(fields)),
    };
  }
}

/** What the log says of the span that a job is performed in, by OpenTelemetry's names. */
export function traceFields(
  { trace }: Pick<JobContext, "trace">,
): { readonly trace_id?: string; readonly span_id?: string } {
  return trace === undefined ? {} : { trace_id: trace.traceId, span_id: trace.spanId };
}
