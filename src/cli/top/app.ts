/**
 * The screen, kept up to date: reads the store again and again, hears keys, does what they ask.
 *
 * @module
 */
import type { Clock } from "../../clock.ts";
import { formatDuration } from "../../job/duration.ts";
import { perform, readDump, readJob } from "./actions.ts";
import { frame, roomIn } from "./frame.ts";
import { History } from "./history.ts";
import { KeyReader } from "./keys.ts";
import { type Effect, press } from "./keymap.ts";
import { processLines } from "./process_lines.ts";
import { Screen } from "./screen.ts";
import { isSameList, readSnapshot, type Snapshot } from "./snapshot.ts";
import { FIRST_STATE, type State, type TextView } from "./state.ts";
import { boundLines, type Palette } from "./text.ts";
import type { Store } from "../../store/admin/store.ts";

/** A store that has not answered for so many intervals, and at least for so long, is said to be silent. */
const SILENT_INTERVALS = 3;
const SILENT_MS = 3_000;
/** A job that took longer to look up than this (a search through a large queue) is not looked up at each reading. */
const QUICK_MS = 50;

/** Shows the store until somebody quits. */
export async function watch(store: Store, clock: Clock, intervalMs: number, palette: Palette): Promise<void> {
  await new Live(store, clock, intervalMs).run(palette);
}

class Live {
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #intervalMs: number;
  readonly #history = new History();
  readonly #end = new AbortController();
  #screen: Screen | undefined;
  #state: State = FIRST_STATE;
  #snapshot: Snapshot | undefined;
  /** What the store last failed with. */
  #failure: string | undefined;
  /** When it last answered, or was first asked; on the monotonic clock. */
  #answeredAt: number;
  #wake = new AbortController();
  #acting = false;
  /** Why it ended, when it was not asked to. */
  #broken: unknown;

  constructor(store: Store, clock: Clock, intervalMs: number) {
    this.#store = store;
    this.#clock = clock;
    this.#intervalMs = intervalMs;
    this.#answeredAt = clock.monotonic();
  }

  async run(palette: Palette): Promise<void> {
    using screen = new Screen(palette, { changed: () => this.#draw(), ended: () => this.#end.abort() });
    this.#screen = screen;
    this.#draw();
    const ended = new Promise<void>((resolve) => this.#end.signal.addEventListener("abort", () => resolve()));
    this.#guard(this.#readKeys());
    this.#guard(this.#poll());
    this.#guard(this.#tick());
    await ended; // a read of the terminal, or of a store that is silent, is not waited for
    if (this.#broken !== undefined) throw this.#broken;
  }

  /** Whatever fails in it ends the screen: then the error is seen. */
  #guard(task: Promise<void>): void {
    task.catch((error) => {
      this.#broken ??= error;
      this.#end.abort();
    });
  }

  async #readKeys(): Promise<void> {
    const reader = new KeyReader();
    const bytes = new Uint8Array(4_096);
    while (!this.#end.signal.aborted) {
      const count = await Deno.stdin.read(bytes);
      if (count === null) break; // the terminal is closed
      for (const key of reader.read(bytes.subarray(0, count))) this.#press(key);
      this.#draw();
    }
    this.#end.abort();
  }

  #press(key: string): void {
    const { state, effect } = press(this.#state, key, this.#snapshot, roomIn(this.#screen!.size));
    this.#state = state;
    if (effect !== undefined) this.#do(effect);
  }

  #do(effect: Effect): void {
    switch (effect.do) {
      case "quit":
        return this.#end.abort();
      case "suspend":
        return this.#screen!.suspend();
      case "redraw":
        return this.#screen!.forget();
      case "read":
        return this.#wake.abort();
      case "open":
        return this.#open(effect.text);
      case "act":
        return this.#guard(this.#act(effect.act));
    }
  }

  async #act(act: Extract<Effect, { do: "act" }>["act"]): Promise<void> {
    if (this.#acting) return this.#say("Something is being done already; wait for it", true);
    this.#acting = true;
    this.#say("…", false);
    try {
      const { text, bad } = await perform(this.#store, act);
      this.#say(text, bad);
    } catch (error) {
      this.#say(messageOf(error), true);
    } finally {
      this.#acting = false;
    }
    this.#wake.abort();
  }

  #say(text: string, bad: boolean): void {
    this.#state = { ...this.#state, status: { text, bad } };
    this.#draw();
  }

  #open(text: TextView): void {
    this.#state = { ...this.#state, text };
    if (text.lines === undefined) this.#guard(this.#fill(text));
  }

  /** Reads what an open text is about, if it still is open when the answer is there. */
  async #fill(text: TextView): Promise<void> {
    const lines = await this.#linesOf(text).catch((error) => [messageOf(error)]);
    if (this.#state.text?.title !== text.title) return;
    this.#state = { ...this.#state, text: { ...this.#state.text, lines } };
    this.#draw();
  }

  async #linesOf({ of }: TextView): Promise<readonly string[]> {
    if (of?.identity !== undefined && of.dump) return await readDump(this.#store, of.identity);
    if (of?.identity !== undefined) return this.#linesOfProcess(of.identity);
    return of?.jid === undefined ? [] : await readJob(this.#store, of.jid);
  }

  #linesOfProcess(identity: string): string[] {
    const process = this.#snapshot?.processes.find((one) => one.identity === identity);
    return process === undefined ? [`${identity} has ended`] : boundLines(processLines(process, this.#snapshot!.at));
  }

  /** Reads the store at each interval, and at once when somebody wants to see what came of a key. */
  async #poll(): Promise<void> {
    while (!this.#end.signal.aborted) {
      this.#wake = new AbortController();
      const { list } = this.#state;
      try {
        const snapshot = await readSnapshot(this.#store, () => this.#clock.now(), list);
        this.#history.add(this.#clock.monotonic(), snapshot.stats);
        this.#snapshot = snapshot;
        this.#failure = undefined;
        this.#answeredAt = this.#clock.monotonic();
        await this.#refreshText();
      } catch (error) {
        this.#failure = messageOf(error);
      }
      this.#draw();
      if (this.#state.list !== undefined && !isSameList(this.#state.list, list)) continue;
      await this.#clock.sleep(this.#intervalMs, AbortSignal.any([this.#end.signal, this.#wake.signal]));
    }
  }

  /** Looks again at the process or job that is open, where that is quick. A dump is of its moment. */
  async #refreshText(): Promise<void> {
    const { text } = this.#state;
    if (text?.lines === undefined || text.of === undefined || text.of.dump || this.#slow === text.title) return;
    const begun = this.#clock.monotonic();
    await this.#fill(text);
    if (this.#clock.monotonic() - begun > QUICK_MS) this.#slow = text.title;
  }

  /** The title of the text that takes long to read. */
  #slow: string | undefined;

  /** Draws also while the store is silent: that is when it has to be said. */
  async #tick(): Promise<void> {
    while (!this.#end.signal.aborted) {
      await this.#clock.sleep(1_000, this.#end.signal);
      if (this.#problem !== undefined) this.#draw();
    }
  }

  get #problem(): string | undefined {
    const silentMs = this.#clock.monotonic() - this.#answeredAt;
    if (this.#failure !== undefined) return `Trying again; shown as of ${ago(silentMs)}: ${this.#failure}`;
    return silentMs > Math.max(SILENT_MS, SILENT_INTERVALS * this.#intervalMs)
      ? `Waiting; shown as of ${ago(silentMs)}: the store does not answer`
      : undefined;
  }

  #draw(): void {
    const screen = this.#screen;
    if (screen === undefined || this.#end.signal.aborted) return;
    screen.show(frame({
      state: this.#state,
      snapshot: this.#snapshot,
      history: this.#history,
      problem: this.#problem,
      ...screen.size,
      live: true,
    }));
  }
}

function ago(ms: number): string {
  return `${formatDuration(Math.floor(ms / 1_000) * 1_000)} ago`;
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
