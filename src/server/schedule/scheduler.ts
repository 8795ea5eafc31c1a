/**
 * The scheduler: enqueues the jobs of cron entries. Any number of workers may do so at once: what an occurrence leads to is
 * stored in one step by the first of them, and the others find it decided.
 *
 *  1. At the start, and when the configuration is read again, this worker's entries are written where they differ from the
 *     stored ones: the definition that was written last is in force for all workers.
 *  2. It looks at an entry when its next occurrence is due, and at all entries from time to time and when the store reports a
 *     change.
 *  3. It decides on the entries of its configuration, whichever definition is in force, and on those added at run time.
 *     Entries that no worker has had for long are removed.
 *
 * The time is the store's, taken from each reading and continued on the monotonic clock.
 *
 * Where an occurrence is at each await: undecided, or stored together with its job. If the process dies, the next worker
 * that looks decides it.
 *
 * @module
 */
import type { Clock } from "../../clock.ts";
import { definitionText, readDefinition } from "../../cron/definition.ts";
import type { CronEntry } from "../../cron/entry.ts";
import type { Log } from "../../log/log.ts";
import { cancelJob } from "../../store/ops/cancel.ts";
import type { CronReading, CronStore, StoredCron } from "../../store/port/cron.ts";
import { StoreError } from "../../store/port/errors.ts";
import type { ServerStore } from "../../store/port/store.ts";
import type { LoopBody } from "../component.ts";
import { type CronDecider, type EntryDecision, type EntrySnapshot, RECHECK_MS } from "./cron_decider.ts";
import {
  actionFor,
  definitionOfMissing,
  type EntryEvent,
  type EntryState,
  isForgettable,
  type OwnEntry,
  transition,
  UNKNOWN,
} from "./cron_entry_state.ts";
import type { CronReporter } from "./cron_reporter.ts";

/** Interval at which all entries are read. */
const POLL_INTERVAL_MS = 15_000;
/** Maximum number of attempts in a row at an entry that other workers change. */
const MAX_ROUNDS = 10;
/** Maximum number of jobs and records in one step of the store, roughly. */
const CHUNK = 1_000;

export interface SchedulerOptions {
  readonly store: Pick<ServerStore, "cron" | "jobs" | "steps" | "watch" | "workers">;
  readonly clock: Clock;
  readonly log: Log;
  readonly decider: CronDecider;
  readonly report: CronReporter;
}

export class Scheduler implements LoopBody<number> {
  readonly name = "scheduler";
  readonly #options: SchedulerOptions;
  readonly #entries = new Map<string, EntryState>();
  /** When to look at all entries, on the monotonic clock. */
  #lookAt = -Infinity;
  /** Ends the current rest. */
  #resting: AbortController | undefined;
  /** The store's time minus the monotonic clock's. */
  #offset = 0;

  constructor(options: SchedulerOptions) {
    this.#options = options;
  }

  /** Sets the entries of this worker, and the names of those that its configuration switches off. */
  setEntries(entries: readonly CronEntry[], switchedOff: readonly string[] = []): void {
    const names = new Set(entries.map(({ name }) => name));
    const left = this.#select(({ own }) => own !== undefined).filter((name) => !names.has(name));
    for (const name of [...switchedOff, ...left]) this.#apply(name, { kind: "unconfigured" });
    for (const entry of entries) {
      this.#apply(entry.name, { kind: "configured", own: { entry, text: definitionText(entry, "config") } });
    }
    this.#lookAt = -Infinity;
    this.#resting?.abort();
  }

  /** Does what is due. Returns in how many milliseconds there is more to do. */
  async step(): Promise<number> {
    const { clock } = this.#options;
    if (clock.monotonic() >= this.#lookAt) await this.#lookAtAll();
    else {
      const now = this.#now();
      const due = this.#select(({ next = Infinity }) => next <= now);
      if (due.length > 0) await this.#decideAll(await this.#read({ names: due }));
    }
    const next = this.#entries.values().reduce((least, { next = Infinity }) => Math.min(least, next), Infinity);
    return Math.max(0, Math.min(next - this.#now(), this.#lookAt - clock.monotonic()));
  }

  /** Waits for the next occurrence, or until something has changed. */
  async rest(ms: number, signal: AbortSignal): Promise<void> {
    // The entries may have been set since the step.
    if (ms === 0 || this.#lookAt === -Infinity) return;
    const { store, clock } = this.#options;
    const over = this.#resting = new AbortController();
    const end = AbortSignal.any([signal, over.signal]);
    const changed = store.watch("cron", end).then((hasChanged) => {
      if (hasChanged) this.#lookAt = -Infinity;
    });
    const slept = clock.sleep(ms, end);
    await Promise.race([changed, slept]);
    over.abort();
    await Promise.all([changed, slept]);
  }

  /** The store's time, as far as this worker knows it. */
  #now(): number {
    return this.#options.clock.monotonic() + this.#offset;
  }

  #select(fits: (state: EntryState) => boolean): string[] {
    return [...this.#entries].filter(([, state]) => fits(state)).map(([name]) => name);
  }

  #apply(name: string, event: EntryEvent): EntryState {
    const state = transition(this.#entries.get(name) ?? UNKNOWN, event);
    if (isForgettable(state)) this.#entries.delete(name);
    else this.#entries.set(name, state);
    return state;
  }

  async #read(request: NonNullable<Parameters<CronStore["read"]>[0]>): Promise<CronReading> {
    const { store, clock } = this.#options;
    const reading = await store.cron.read(request);
    this.#offset = reading.now - clock.monotonic();
    const found = new Set(reading.entries.map(({ name }) => name));
    for (const name of request.names ?? []) if (!found.has(name)) this.#apply(name, { kind: "ignored" });
    return reading;
  }

  async #lookAtAll(): Promise<void> {
    const { clock } = this.#options;
    // Set before reading: a change during it counts.
    this.#lookAt = clock.monotonic() + POLL_INTERVAL_MS;
    try {
      const configured = this.#select(({ isStored }) => isStored);
      const reading = await this.#read({ configured });
      const missing = this.#noteMissing(reading);
      await this.#removeUnconfigured();
      await this.#decideAll(reading, missing);
      await this.#markAsSeen(reading, new Set(configured));
    } catch (error) {
      this.#lookAt = -Infinity;
      throw error;
    }
  }

  /** Marks entries that this worker has just taken over as seen, so that they don't look abandoned until the next reading. */
  async #markAsSeen({ entries, now }: CronReading, marked: ReadonlySet<string>): Promise<void> {
    const isNew = ({ name, seenAt }: StoredCron) =>
      this.#entries.get(name)?.isStored && !marked.has(name) && now - seenAt > POLL_INTERVAL_MS;
    if (!entries.some(isNew)) return;
    await this.#read({ names: [], configured: this.#select(({ isStored }) => isStored) });
  }

  /** Notes which entries the store doesn't have. Returns those that are to be written. */
  #noteMissing({ entries, now }: CronReading): EntrySnapshot[] {
    const at = this.#options.clock.monotonic();
    const found = new Set(entries.map(({ name }) => name));
    return this.#select(() => true).flatMap((name) => {
      if (found.has(name)) return [];
      this.#options.decider.forget(name);
      const own = definitionOfMissing(this.#apply(name, { kind: "missing", at }), at);
      return own ? [define(own, undefined, now)] : [];
    });
  }

  async #removeUnconfigured(): Promise<void> {
    for (let round = 0; round < MAX_ROUNDS; round++) {
      const names = this.#select(({ isRemoved }) => isRemoved);
      if (names.length === 0) return;
      const { entries } = await this.#read({ names });
      const late = new Set<string>();
      for (const entry of entries) {
        // An entry of that name which was added at run time stays.
        if (readDefinition(entry.definition)?.source === "runtime") continue;
        if (await this.#remove(entry)) this.#options.log.info("Cron entry removed", { entry: entry.name });
        else late.add(entry.name);
      }
      for (const name of names) if (!late.has(name)) this.#apply(name, { kind: "removed" });
    }
  }

  async #remove({ name, version }: StoredCron): Promise<boolean> {
    const { store, decider } = this.#options;
    const [removed] = await store.cron.write([{ name, version, remove: true }]);
    if (removed === undefined) return false;
    decider.forget(name);
    this.#apply(name, { kind: "removed" });
    return true;
  }

  /** Decides on entries as they were read. Those that another worker has changed meanwhile are read and decided again. */
  async #decideAll(reading: CronReading, missing: readonly EntrySnapshot[] = []): Promise<void> {
    let snapshots = [...await this.#snapshotsOf(reading), ...missing];
    for (let round = 0; round < MAX_ROUNDS; round++) {
      const late = await this.#write(await this.#decide(snapshots));
      if (late.length === 0) return;
      snapshots = await this.#snapshotsOf(await this.#read({ names: late }));
    }
    for (const { definition: { name } } of snapshots) this.#schedule(name, this.#now() + RECHECK_MS);
  }

  /** Returns the entries that this worker decides on, each with the definition that is to be in force. */
  async #snapshotsOf({ entries, now }: CronReading): Promise<EntrySnapshot[]> {
    const snapshots: EntrySnapshot[] = [];
    for (const stored of entries) {
      const { name } = stored;
      const action = actionFor(this.#apply(name, { kind: "found", definition: stored.definition }), stored, now);
      if (action.kind === "define") snapshots.push(define(action.own, stored, now));
      else if (action.kind === "decide") snapshots.push({ definition: action.definition, stored, now });
      else {
        this.#apply(name, { kind: "ignored" });
        if (action.kind === "ignore") this.#options.report.ignored(stored);
        if (action.kind === "ignore" || !await this.#remove(stored)) continue;
        this.#options.log.info("Cron entry removed: no worker has it", { entry: name });
      }
    }
    return snapshots;
  }

  async #decide(snapshots: readonly EntrySnapshot[]): Promise<EntryDecision[]> {
    const { decider, log } = this.#options;
    const decisions: EntryDecision[] = [];
    for (const snapshot of snapshots) {
      const { name } = snapshot.definition;
      try {
        decisions.push(await decider.decide(snapshot));
      } catch (error) {
        // An entry that cannot be decided must not prevent the others from it.
        log.error("Cron entry failed, retrying", { entry: name, error, stack: (error as Error)?.stack });
        this.#schedule(name, snapshot.now + RECHECK_MS);
      }
    }
    return decisions;
  }

  /** Stores decisions. Returns the names of entries that another worker has changed meanwhile. */
  async #write(decisions: readonly EntryDecision[]): Promise<string[]> {
    const late: string[] = [];
    for (const chunk of inChunks(decisions)) {
      const writes = chunk.flatMap(({ write }) => write ?? []);
      const versions = writes.length === 0 ? [] : await this.#options.store.cron.write(writes);
      const refused = new Set(writes.filter((_, i) => versions[i] === undefined).map(({ name }) => name));
      for (const decision of chunk) {
        if (refused.has(decision.name)) late.push(decision.name);
        else await this.#finish(decision);
      }
    }
    return late;
  }

  /** Does what follows from a decision that is stored. */
  async #finish({ name, write, records, cancel, next }: EntryDecision): Promise<void> {
    const { store, log, report } = this.#options;
    this.#schedule(name, next);
    if (write?.definition !== undefined) {
      this.#apply(name, { kind: "defined" });
      log.info(write.version === 0 ? "Cron entry defined" : "Cron entry changed", { entry: name });
    }
    report.records(name, records);
    if (cancel === undefined) return;
    try {
      await cancelJob(store, cancel, this.#now());
    } catch (error) {
      // The next decision repeats it.
      if (!(error instanceof StoreError)) throw error;
    }
  }

  #schedule(name: string, next: number): void {
    this.#apply(name, { kind: "scheduled", next });
  }
}

/** The snapshot in which a worker's own definition is to be written. */
function define({ entry, text }: OwnEntry, stored: StoredCron | undefined, now: number): EntrySnapshot {
  return { definition: { ...entry, source: "config" }, stored, now, text };
}

/** Splits decisions into chunks, each with no more jobs than one step of the store should have. */
function inChunks(decisions: readonly EntryDecision[]): EntryDecision[][] {
  const chunks: EntryDecision[][] = [];
  let size = Infinity;
  for (const decision of decisions) {
    const own = 1 + (decision.write?.jobs.length ?? 0) + decision.records.length;
    if (size + own > CHUNK) {
      chunks.push([]);
      size = 0;
    }
    chunks.at(-1)!.push(decision);
    size += own;
  }
  return chunks;
}
