/**
 * The loop of `jobs top`: reads the store at an interval, handles keys, and draws the screen.
 *
 * @module
 */
import type { Clock } from "../../clock.ts";
import { formatBytes } from "../../job/bytes.ts";
import { formatDuration } from "../../job/duration.ts";
import type { Store } from "../../store/admin/store.ts";
import type { WorkerInfo } from "../../store/port/workers.ts";
import { batchLines } from "../../text/batches.ts";
import { number } from "../../text/format.ts";
import { isoTime, relative } from "../../text/times.ts";
import { workerState } from "../../text/workers.ts";
import { type Action, type Outcome, perform, readDump, readJob } from "./actions.ts";
import { frame, roomIn } from "./frame.ts";
import { History } from "./history.ts";
import { glance } from "./job_summary.ts";
import { type Effect, press } from "./keymap.ts";
import { KeyReader } from "./keys.ts";
import { Screen } from "./screen.ts";
import { isSameList, readSnapshot, type Snapshot } from "./snapshot.ts";
import { FIRST_STATE, type State, type TextView } from "./state.ts";
import { boundLines, type Palette } from "./text.ts";

/** After this many intervals without a reply, and after at least {@linkcode MIN_SILENT_MS}, the screen reports the store. */
const SILENT_INTERVALS = 3;
const MIN_SILENT_MS = 3_000;
/** A job that takes longer to find, such as in a large queue, isn't read again at each interval. */
const MAX_REFRESH_MS = 50;

/** Shows the store until the user quits. */
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
  /** The error of the last reading. */
  #failure: string | undefined;
  /** When the store last replied, or was first read; on the monotonic clock. */
  #repliedAt: number;
  #wake = new AbortController();
  #isActing = false;
  /** The error that ended the screen. */
  #fatal: unknown;

  constructor(store: Store, clock: Clock, intervalMs: number) {
    this.#store = store;
    this.#clock = clock;
    this.#intervalMs = intervalMs;
    this.#repliedAt = clock.monotonic();
  }

  async run(palette: Palette): Promise<void> {
    using screen = new Screen(palette, { cleared: () => this.#draw(), ended: () => this.#end.abort() });
    this.#screen = screen;
    this.#draw();
    const ended = new Promise<void>((resolve) => this.#end.signal.addEventListener("abort", () => resolve()));
    this.#guard(this.#readKeys());
    this.#guard(this.#poll());
    this.#guard(this.#tick());
    await ended; // pending reads of the terminal and of the store are abandoned
    if (this.#fatal !== undefined) throw this.#fatal;
  }

  /** Ends the screen if the task fails, so that the error is printed. */
  #guard(task: Promise<void>): void {
    task.catch((error) => {
      this.#fatal ??= error;
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
        return this.#screen!.clear();
      case "read":
        return this.#wake.abort();
      case "open":
        return this.#open(effect.text);
      case "perform":
        return this.#guard(this.#perform(effect.action));
    }
  }

  async #perform(action: Action): Promise<void> {
    if (this.#isActing) return this.#showStatus({ text: "The previous action is still running", isError: true });
    this.#isActing = true;
    this.#showStatus({ text: "…", isError: false });
    try {
      this.#showStatus(await perform(this.#store, action));
    } catch (error) {
      this.#showStatus({ text: messageOf(error), isError: true });
    } finally {
      this.#isActing = false;
    }
    this.#wake.abort();
  }

  #showStatus(status: Outcome): void {
    this.#state = { ...this.#state, status };
    this.#draw();
  }

  #open(text: TextView): void {
    this.#state = { ...this.#state, text };
    if (text.lines === undefined) this.#guard(this.#load(text));
  }

  /** Loads the lines of a text, and shows them if it is still open. */
  async #load(text: TextView): Promise<void> {
    const lines = await this.#linesOf(text).catch((error) => [messageOf(error)]);
    if (this.#state.text?.title !== text.title) return;
    this.#state = { ...this.#state, text: { ...this.#state.text, lines } };
    this.#draw();
  }

  async #linesOf({ of }: TextView): Promise<readonly string[]> {
    if (of?.workerId !== undefined && of.dump) return await readDump(this.#store, of.workerId);
    if (of?.workerId !== undefined) return this.#linesOfWorker(of.workerId);
    if (of?.batch !== undefined) return await this.#linesOfBatch(of.batch);
    return of?.jid === undefined ? [] : await readJob(this.#store, of.jid);
  }

  #linesOfWorker(workerId: string): string[] {
    const worker = this.#snapshot?.workers.find((one) => one.id === workerId);
    return worker === undefined ? [`${workerId} has ended`] : boundLines(workerLines(worker, this.#snapshot!.at));
  }

  async #linesOfBatch(id: string): Promise<string[]> {
    const batch = (await this.#store.batches.read({ ids: [id] })).batches[0];
    return batch === undefined ? [`${id} has been removed`] : boundLines(batchLines(batch, this.#clock.now()));
  }

  /** Reads the store at each interval, and immediately after an action or the opening of a list. */
  async #poll(): Promise<void> {
    while (!this.#end.signal.aborted) {
      this.#wake = new AbortController();
      const { list } = this.#state;
      try {
        const snapshot = await readSnapshot(this.#store, () => this.#clock.now(), list);
        this.#history.add(this.#clock.monotonic(), snapshot.stats);
        this.#snapshot = snapshot;
        this.#failure = undefined;
        this.#repliedAt = this.#clock.monotonic();
        await this.#refreshText();
      } catch (error) {
        this.#failure = messageOf(error);
      }
      this.#draw();
      if (this.#state.list !== undefined && !isSameList(this.#state.list, list)) continue;
      await this.#clock.sleep(this.#intervalMs, AbortSignal.any([this.#end.signal, this.#wake.signal]));
    }
  }

  /** Reads the open worker, batch or job again, if that is quick. A dump isn't refreshed: it shows one moment. */
  async #refreshText(): Promise<void> {
    const { text } = this.#state;
    if (text?.lines === undefined || text.of === undefined || text.of.dump || this.#slow === text.title) return;
    const begun = this.#clock.monotonic();
    await this.#load(text);
    if (this.#clock.monotonic() - begun > MAX_REFRESH_MS) this.#slow = text.title;
  }

  /** The title of a text that is slow to read. */
  #slow: string | undefined;

  /** Draws every second while the store has a problem, because no reading does. */
  async #tick(): Promise<void> {
    while (!this.#end.signal.aborted) {
      await this.#clock.sleep(1_000, this.#end.signal);
      if (this.#problem !== undefined) this.#draw();
    }
  }

  get #problem(): string | undefined {
    const silentMs = this.#clock.monotonic() - this.#repliedAt;
    if (this.#failure !== undefined) return `Retrying; data of ${ago(silentMs)}: ${this.#failure}`;
    return silentMs > Math.max(MIN_SILENT_MS, SILENT_INTERVALS * this.#intervalMs)
      ? `Waiting; data of ${ago(silentMs)}: the store doesn't reply`
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

/** Returns the lines about a worker. `now` is in epoch milliseconds. */
function workerLines(worker: WorkerInfo, now: number): string[] {
  const { totals = {} } = worker;
  const queues = worker.queues.map((queue) => worker.weights[queue] ? `${queue},${worker.weights[queue]}` : queue);
  const rows: [string, string][] = [
    ["worker", worker.id],
    ["tag", [worker.tag, ...worker.labels].filter(Boolean).join(" ")],
    ["state", workerState(worker)],
    ["running", `${worker.busy} of ${worker.concurrency}`],
    ["queues", queues.join(" ")],
    ["memory", formatBytes(worker.rss)],
    ["version", worker.version],
    ["started", `${relative(worker.startedAt, now)} (${isoTime(worker.startedAt)})`],
    ["heartbeat", relative(worker.heartbeatAt, now)],
    ...worker.work.map((job, i): [string, string] => [
      i === 0 ? "jobs" : "",
      `${job.task} ${glance(job).jid ?? ""} ${relative(job.since, now)} ${job.progress ?? ""}`.trimEnd(),
    ]),
    ...Object.entries(totals).map((
      [name, { succeeded, failed, cancelled, expired, workedMs }],
      i,
    ): [string, string] => [
      i === 0 ? "totals" : "",
      `${name}: ${number(succeeded)} succeeded, ${number(failed)} failed, ${number(cancelled)} cancelled, ` +
      `${number(expired)} expired, time spent ${formatDuration(workedMs)}`,
    ]),
  ];
  return rows.filter(([, value]) => value !== "").map(([name, value]) => `${name.padEnd(9)} ${value}`);
}
