/**
 * The protocol between a worker and its horses: one JSON frame per line, over a socket.
 *
 * A socket instead of stdin and stdout, because handlers and the programs that they start use those. A round trip over a
 * socket also takes half the time.
 *
 * @module
 */
import type { ClientStore } from "../../client/client.ts";
import type { MemberLease } from "../../job/batch.ts";
import type { Mark } from "../../job/mark.ts";
import type { LeaseSteps } from "../../steps/services.ts";
import type { LeaseStream } from "../stream_writer.ts";
import type { LogFields, LogLevel } from "../../log/log.ts";

/** The parts of the parent's store that the client in a horse uses. It cannot wait for results. */
export type ParentStore = Required<Omit<ClientStore, "results" | "watch" | "events" | "admin" | "transactions">>;

/** The objects of the parent that a horse calls. */
export interface Callable extends ParentStore {
  /** The steps of the running job. */
  readonly lease: LeaseSteps;
  /** The stream of the running job. */
  readonly stream: LeaseStream;
}

/** The methods of {@linkcode Callable} that a horse calls. Arguments and results are JSON. */
export const CALLS: { readonly [Part in keyof Callable]: Readonly<Record<keyof Callable[Part], true>> } = {
  jobs: { enqueue: true },
  classes: { read: true },
  webhooks: { read: true },
  steps: { signal: true },
  batches: { create: true, read: true, close: true, tend: true },
  flows: { add: true, nodes: true },
  lease: { read: true, remember: true, wait: true },
  stream: { append: true },
};

/** An error as a frame; see `remote_error.ts`. */
export interface ErrorFrame {
  readonly class: string;
  readonly message: string;
  readonly causes: readonly string[];
  readonly stack: readonly string[];
  /** The decision that it carries, if it is an error of this library. */
  readonly mark?: Mark;
  /** For a `Snooze`. */
  readonly delayMs?: number;
}

/** A frame to a horse. */
export type ToHorse =
  /** The first frame: the modules to load, and whether to send debug lines. */
  | { readonly kind: "start"; readonly modules: readonly string[]; readonly debug: boolean }
  /** A job to perform. The payload is text, so that no digit is lost. */
  | {
    readonly kind: "perform";
    readonly queue: string;
    readonly payload: string;
    /** The lease of the job. */
    readonly lease?: MemberLease;
    /** The headers of the span that the job is performed in. */
    readonly trace?: Readonly<Record<string, string>>;
  }
  /** The worker becomes quiet or stops. Aborts `stopping` of the running job. */
  | { readonly kind: "stopping" }
  /** Aborts the signal of the running job. */
  | { readonly kind: "abort"; readonly error: ErrorFrame }
  /** No more jobs follow. The horse ends when its spans are exported. */
  | { readonly kind: "retire" }
  /** The answer to `call`. */
  | { readonly kind: "answer"; readonly id: number; readonly value?: unknown; readonly error?: ErrorFrame };

/** A frame from a horse. */
export type FromHorse =
  /** The handlers are loaded; with `refused`, loading failed with this message. */
  | { readonly kind: "ready"; readonly refused?: string }
  /** The job succeeded. The result is JSON text. */
  | { readonly kind: "done"; readonly result?: string }
  | { readonly kind: "failed"; readonly error: ErrorFrame }
  | {
    readonly kind: "log";
    readonly level: LogLevel;
    readonly message: string;
    readonly fields?: LogFields;
    /** Code that an ended job has left running logs it: it isn't one of the running job. */
    readonly isLate?: true;
  }
  | { readonly kind: "progress"; readonly done: number; readonly note?: string }
  /** The client or the steps of the handler call the store. */
  | StoreCall;

/** A call of one of {@linkcode CALLS}. */
export interface StoreCall {
  readonly kind: "call";
  readonly id: number;
  readonly part: keyof Callable;
  readonly verb: string;
  readonly args: readonly unknown[];
}

/** One end of a connection. */
export interface Frames<In, Out> extends Disposable {
  /** Sends a frame, in order. A frame that cannot be sent is dropped: {@linkcode read} reports the end of the connection. */
  send(frame: Out): void;
  /** Sends a frame. Resolves with whether it was written; if not, the other process has ended and never receives it. */
  deliver(frame: Out): Promise<boolean>;
  /**
   * Calls `onFrame` for each frame. Resolves when the other process has closed the connection: with false if it hadn't read all that was
   * written to it.
   *
   * @throws if a frame is invalid
   */
  read(onFrame: (frame: In) => void): Promise<boolean>;
}

/** One end of a socket. */
export class FrameConnection<In, Out> implements Frames<In, Out> {
  readonly #socket: Deno.Conn;
  readonly #encoder = new TextEncoder();
  #unsent = "";
  /** Callbacks for the frames in `#unsent`. They receive whether these were written. */
  #onWritten: ((isWritten: boolean) => void)[] = [];
  #sending = false;

  constructor(socket: Deno.Conn) {
    this.#socket = socket;
  }

  send(frame: Out): void {
    this.#unsent += `${JSON.stringify(frame)}\n`;
    if (!this.#sending) void this.#sendAll();
  }

  deliver(frame: Out): Promise<boolean> {
    return new Promise((resolve) => {
      this.#onWritten.push(resolve);
      this.send(frame);
    });
  }

  async read(onFrame: (frame: In) => void): Promise<boolean> {
    const decoder = new TextDecoder();
    const buffer = new Uint8Array(64 * 1024);
    let rest = "";
    for (;;) {
      const length = await this.#socket.read(buffer).catch((error) => error);
      // Linux resets a connection whose other end was closed with unread bytes.
      if (typeof length !== "number") return !(length instanceof Deno.errors.ConnectionReset);
      const text = decoder.decode(buffer.subarray(0, length), { stream: true });
      let from = 0;
      for (let end = text.indexOf("\n"); end >= 0; end = text.indexOf("\n", from)) {
        onFrame(JSON.parse(rest + text.slice(from, end)));
        rest = "";
        from = end + 1;
      }
      rest += text.slice(from);
    }
  }

  [Symbol.dispose](): void {
    try {
      this.#socket.close();
    } catch {
      // Already closed.
    }
  }

  async #sendAll(): Promise<void> {
    this.#sending = true;
    while (this.#unsent !== "") {
      const bytes = this.#encoder.encode(this.#unsent);
      const onWritten = this.#onWritten;
      this.#unsent = "";
      this.#onWritten = [];
      const isWritten = await this.#write(bytes);
      for (const call of onWritten) call(isWritten);
    }
    this.#sending = false;
  }

  async #write(bytes: Uint8Array): Promise<boolean> {
    try {
      for (let from = 0; from < bytes.length;) from += await this.#socket.write(bytes.subarray(from));
      return true;
    } catch {
      return false;
    }
  }
}

/** Reads the token (a UUID) that precedes all frames, and identifies the child that connects. */
export async function readToken(socket: Deno.Conn): Promise<string> {
  const bytes = new Uint8Array(crypto.randomUUID().length);
  let read = 0;
  while (read < bytes.length) {
    const length = await socket.read(bytes.subarray(read)).catch(() => null);
    if (length === null) break;
    read += length;
  }
  return new TextDecoder().decode(bytes.subarray(0, read));
}
