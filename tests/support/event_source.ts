/**
 * A browser's `EventSource`, as far as pages that follow events use it: it connects again when it is cut off, and continues after the last
 * ID that it has.
 *
 * @module
 */
import { systemClock } from "../../src/clock.ts";

/** How soon it connects again: a browser takes 3 s. */
const RETRY_MS = 20;

export class TestEventSource {
  onmessage: ((event: { readonly data: string; readonly lastEventId: string }) => void) | undefined;
  /** How many times it has connected. */
  connections = 0;
  /** The ID to continue after. */
  lastEventId: string;
  readonly #url: string;
  readonly #headers: Record<string, string>;
  readonly #end = new AbortController();
  readonly #done: Promise<void>;
  #connection = new AbortController();

  constructor(url: string, { lastEventId = "", headers = {} } = {}) {
    this.#url = url;
    this.#headers = headers;
    this.lastEventId = lastEventId;
    this.#done = this.#run();
  }

  /** Cuts the connection, as a network does. */
  cut(): void {
    this.#connection.abort();
  }

  close(): void {
    this.#end.abort();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.close();
    await this.#done;
  }

  async #run(): Promise<void> {
    while (!this.#end.signal.aborted) {
      this.#connection = new AbortController();
      const signal = AbortSignal.any([this.#end.signal, this.#connection.signal]);
      await this.#connect(signal).catch(() => {});
      await systemClock.sleep(RETRY_MS, this.#end.signal);
    }
  }

  async #connect(signal: AbortSignal): Promise<void> {
    const headers = { ...this.#headers, accept: "text/event-stream" };
    const given = this.lastEventId === "" ? headers : { ...headers, "last-event-id": this.lastEventId };
    const response = await fetch(this.#url, { headers: given, signal });
    if (!response.ok) return await response.body?.cancel();
    this.connections++;
    let text = "";
    for await (const part of response.body!.pipeThrough(new TextDecoderStream())) {
      text += part;
      for (let end = text.indexOf("\n\n"); end >= 0; end = text.indexOf("\n\n")) {
        this.#take(text.slice(0, end));
        text = text.slice(end + 2);
        if (signal.aborted) return;
      }
    }
  }

  #take(event: string): void {
    const fields = event.split("\n").map((line) => /^(\w*): ?(.*)$/.exec(line)?.slice(1) ?? ["", ""]);
    const valueOf = (name: string) => fields.findLast(([field]) => field === name)?.[1];
    this.lastEventId = valueOf("id") ?? this.lastEventId;
    const data = valueOf("data");
    if (data !== undefined) this.onmessage?.({ data, lastEventId: this.lastEventId });
  }
}
