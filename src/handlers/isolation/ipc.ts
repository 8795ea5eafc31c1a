/**
 * What a process and its horses say to each other: JSON, one frame a line, over a socket.
 *
 * A socket rather than stdin and stdout: what a handler prints, or lets a program of its own read, cannot get in between,
 * and a round trip takes half the time.
 *
 * @module
 */
import type { ClientStore } from "../../client/client.ts";
import type { LeaseSteps } from "../../steps/services.ts";
import type { LogFields, LogLevel } from "../../log/log.ts";

/** What the client in a horse needs of a store; the parent has one. */
export type ParentStore = Required<Pick<ClientStore, "jobs" | "classes" | "steps">>;

/** An error as it travels; see `remote_error.ts`. */
export interface ErrorFrame {
  readonly class: string;
  readonly message: string;
  readonly causes: readonly string[];
  readonly stack: readonly string[];
  /** Of a `Snooze`. */
  readonly delayMs?: number;
}

/** To a horse. */
export type ToHorse =
  /** The first: which modules to load, and whether debug lines are wanted. */
  | { readonly kind: "start"; readonly modules: readonly string[]; readonly debug: boolean }
  /** The payload is its text: nothing is lost on the way. */
  | {
    readonly kind: "perform";
    readonly queue: string;
    readonly payload: string;
    /** Tells of the span that it is performed in. */
    readonly trace?: Readonly<Record<string, string>>;
  }
  /** The worker goes quiet or stops: aborts `stopping` of the running job. */
  | { readonly kind: "stopping" }
  /** Aborts the signal of the job under way. */
  | { readonly kind: "abort"; readonly error: ErrorFrame }
  /** There will be no more jobs; ends it as soon as its spans are exported. */
  | { readonly kind: "retire" }
  /** The answer to `call`. */
  | { readonly kind: "answer"; readonly id: number; readonly value?: unknown; readonly error?: ErrorFrame };

/** From a horse. */
export type FromHorse =
  /** Its handlers are loaded, or could not be. */
  | { readonly kind: "ready"; readonly refused?: string }
  /** The job is done; its result as JSON text. */
  | { readonly kind: "done"; readonly result?: string }
  | { readonly kind: "failed"; readonly error: ErrorFrame }
  | { readonly kind: "log"; readonly level: LogLevel; readonly message: string; readonly fields?: LogFields }
  | { readonly kind: "progress"; readonly done: number; readonly note?: string }
  /** The handler's client asks something of the store. */
  | StoreCall;

/** One call of the parent's store. */
export type StoreCall =
  & { readonly kind: "call"; readonly id: number }
  & (
    | { readonly verb: "enqueue"; readonly args: Parameters<ParentStore["jobs"]["enqueue"]> }
    | { readonly verb: "readClasses"; readonly args: Parameters<ParentStore["classes"]["read"]> }
    | { readonly verb: "signal"; readonly args: Parameters<ParentStore["steps"]["signal"]> }
    // The steps of the job under way.
    | { readonly verb: "readSteps"; readonly args: [] }
    | { readonly verb: "rememberStep"; readonly args: Parameters<LeaseSteps["remember"]> }
    | { readonly verb: "wait"; readonly args: Parameters<LeaseSteps["wait"]> }
  );

/** One end of the socket. */
export class FrameConnection<In, Out> implements Disposable {
  readonly #socket: Deno.Conn;
  readonly #encoder = new TextEncoder();
  #unsent = "";
  /** Called with whether what is in `#unsent` was written. */
  #onWritten: ((isWritten: boolean) => void)[] = [];
  #sending = false;

  constructor(socket: Deno.Conn) {
    this.#socket = socket;
  }

  /** Sends a frame, after those before it. One that cannot be sent is dropped: the reading side learns of the end. */
  send(frame: Out): void {
    this.#unsent += `${JSON.stringify(frame)}\n`;
    if (!this.#sending) void this.#sendAll();
  }

  /** Sends a frame; resolves with whether it was written. If not, the other side has ended and never receives it. */
  deliver(frame: Out): Promise<boolean> {
    return new Promise((resolve) => {
      this.#onWritten.push(resolve);
      this.send(frame);
    });
  }

  /** Hands every frame on as it comes; resolves when the other side is gone. */
  async read(onFrame: (frame: In) => void): Promise<void> {
    const decoder = new TextDecoder();
    const buffer = new Uint8Array(64 * 1024);
    let rest = "";
    for (;;) {
      const length = await this.#socket.read(buffer).catch(() => null);
      if (length === null) return;
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
      // It is closed already.
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

/** What comes first on a socket, before any frame: the token (a UUID) that proves who connects. */
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
