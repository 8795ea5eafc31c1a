/**
 * The scheduler: enqueues the jobs of cron entries. Any number of workers may do so at once: what an occurrence leads to is
 * stored in one step by the first of them, and the others find it decided.
 *
 *  1. At the start, and when the configuration is read again, this worker's entries are written where they differ from the
 *     stored ones: the definition that was written last is in force for all workers.
 *  2. Entries that were added at run time are shared: each worker claims those that are due, in small parts, and reads no others.
 *     If it dies with a claim, they are due again some seconds later.
 *  3. The entries of its configuration, and those that every worker performs itself, it keeps in memory. It reads them by name:
 *     when the next occurrence of one is due, and when their versions, which it surveys from time to time and when the store
 *     reports a change, have changed. It decides on them, whichever definition is in force.
 *  4. Entries of configurations that no worker has had for long are removed.
 *
 * The time is the store's, taken from each reading and continued on the monotonic clock.
 *
 * Where an occurrence is at each await: undecided, or stored together with its job. If the process dies, the next worker
 * that looks decides it.
 *
 * @module
 */
import type { Clock } from "../../clock.ts";
import { type CronDefinition, definitionText, isShared, LOADED_TTL_MS, readDefinition } from "../../cron/definition.ts";
import type { CronEntry } from "../../cron/entry.ts";
import { MAX_STEP_BACK_MS, ON_TIME_MS } from "../../cron/plan.ts";
import type { Log } from "../../log/log.ts";
import { cancelJob } from "../../store/ops/cancel.ts";
import type { CronReading, CronSurvey, StoredCron } from "../../store/port/cron.ts";
import { StoreError } from "../../store/port/errors.ts";
import type { ServerStore } from "../../store/port/store.ts";
import type { LoopBody } from "../component.ts";
import { type CronDecider, type EntryDecision, type EntrySnapshot, RECHECK_MS } from "./cron_decider.ts";
import {
  actionFor,
  definitionOfMissing,
  type EntryEvent,
  type EntryState,
  FORGOTTEN_MS,
  isForgettable,
  type OwnEntry,
  transition,
  UNKNOWN,
} from "./cron_entry_state.ts";
import type { CronReporter } from "./cron_reporter.ts";

/** Interval at which the versions of entries are surveyed. */
const POLL_INTERVAL_MS = 15_000;
/** Maximum number of attempts in a row at an entry that other workers change. */
const MAX_ROUNDS = 10;
/** Maximum number of entries that are read, decided and written at once: some milliseconds of work. */
const PART = 64;
/** Maximum number of jobs and records in one step of the store, roughly. */
const CHUNK = 300;

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
  /** The entries that aren't shared, as far as they concern this worker. */
  readonly #entries = new Map<string, EntryState>();
  /** The versions of entries that aren't shared, as they were read or written last. */
  #versions = new Map<string, number>();
  /** When to survey the entries, on the monotonic clock. */
  #surveyAt = -Infinity;
  /** When the next shared entry is due, by the store's clock. */
  #sharedAt = -Infinity;
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
    this.#versions.clear();
    this.#surveyAt = -Infinity;
    this.#resting?.abort();
  }

  /** Does what is due. Returns in how many milliseconds there is more to do. */
  async step(): Promise<number> {
    const { clock } = this.#options;
    if (clock.monotonic() >= this.#surveyAt) await this.#survey();
    const now = this.#now();
    await this.#decideNamed(this.#select(({ next = Infinity }) => next <= now));
    if (this.#sharedAt <= this.#now()) await this.#decideShared();
    const next = this.#entries.values().reduce((least, { next = Infinity }) => Math.min(least, next), this.#sharedAt);
    return Math.max(0, Math.min(next - this.#now(), this.#surveyAt - clock.monotonic()));
  }

  /** Waits for the next occurrence, or until something has changed. */
  async rest(ms: number, signal: AbortSignal): Promise<void> {
    // The entries may have been set since the step.
    if (ms === 0 || this.#surveyAt === -Infinity) return;
    const { store, clock } = this.#options;
    const over = this.#resting = new AbortController();
    const end = AbortSignal.any([signal, over.signal]);
    const changed = store.watch("cron", end).then((hasChanged) => {
      if (hasChanged) this.#surveyAt = this.#sharedAt = -Infinity;
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

  async #read(names: readonly string[]): Promise<CronReading> {
    const reading = await this.#options.store.cron.read(names);
    this.#setTime(reading);
    const found = new Set(reading.entries.map(({ name }) => name));
    for (const name of names) if (!found.has(name)) this.#apply(name, { kind: "ignored" });
    for (const { name, version, shared } of reading.entries) if (!shared) this.#versions.set(name, version);
    return reading;
  }

  #setTime({ now }: { readonly now: number }): void {
    this.#offset = now - this.#options.clock.monotonic();
  }

  async #survey(): Promise<void> {
    const { clock, store } = this.#options;
    // Set before reading: a change during it counts.
    this.#surveyAt = clock.monotonic() + POLL_INTERVAL_MS;
    this.#sharedAt = -Infinity;
    try {
      const configured = this.#select(({ isStored }) => isStored);
      const survey = await store.cron.survey(configured);
      this.#setTime(survey);
      const isAhead = await this.#checkTime(survey);
      const missing = this.#noteMissing(survey);
      await this.#removeUnconfigured();
      const known = this.#versions;
      this.#versions = new Map(survey.entries.flatMap(({ name }) => known.has(name) ? [[name, known.get(name)!]] : []));
      const changed = survey.entries.filter((entry) => isAhead || this.#concerns(entry, survey.now));
      await this.#decideNamed(changed.map(({ name }) => name), missing);
      await this.#markAsSeen(survey, new Set(configured));
    } catch (error) {
      this.#surveyAt = -Infinity;
      throw error;
    }
  }

  /** Notices that the store's clock was ahead. Returns whether it was, so that no entry trusts its next time. */
  async #checkTime({ now, latest }: CronSurvey): Promise<boolean> {
    if (latest - now <= ON_TIME_MS) return false;
    if (latest - now <= MAX_STEP_BACK_MS) this.#options.report.clockAhead(latest);
    else await this.#options.store.cron.replan();
    return true;
  }

  /** Returns whether an entry has to be read: it has changed, this worker has another definition, or no worker has had it for long. */
  #concerns({ name, version, seenAt }: CronSurvey["entries"][number], now: number): boolean {
    if (this.#versions.get(name) !== version || now - seenAt > FORGOTTEN_MS) return true;
    const state = this.#entries.get(name);
    // The version may be of a write that the worker began before it read its configuration again.
    if (state?.isUnwritten) return true;
    return state?.own !== undefined && !state.isStored && now - seenAt > LOADED_TTL_MS;
  }

  /** Marks entries that this worker has just taken over as seen, so that they don't look abandoned until the next survey. */
  async #markAsSeen({ entries, now }: CronSurvey, marked: ReadonlySet<string>): Promise<void> {
    const isNew = ({ name, seenAt }: Pick<StoredCron, "name" | "seenAt">) =>
      this.#entries.get(name)?.isStored && !marked.has(name) && now - seenAt > POLL_INTERVAL_MS;
    if (entries.some(isNew)) await this.#options.store.cron.survey(this.#select(({ isStored }) => isStored));
  }

  /** Notes which entries the store doesn't have. Returns those that are to be written. */
  #noteMissing({ entries, now }: CronSurvey): EntrySnapshot[] {
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
      const { entries } = await this.#read(names);
      const late = new Set<string>();
      for (const entry of entries) {
        // An entry of that name which was added at run time stays.
        if (readDefinition(entry)?.source === "runtime") continue;
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

  /** Reads and decides on entries, in parts, and then on missing ones. */
  async #decideNamed(names: readonly string[], missing: readonly EntrySnapshot[] = []): Promise<void> {
    for (let from = 0; from < names.length; from += PART) {
      await this.#decideAll(await this.#snapshotsOf(await this.#read(names.slice(from, from + PART))));
    }
    for (let from = 0; from < missing.length; from += PART) await this.#decideAll(missing.slice(from, from + PART));
  }

  /** Decides on a part of the shared entries that are due. */
  async #decideShared(): Promise<void> {
    const claim = await this.#options.store.cron.claim(PART);
    this.#setTime(claim);
    this.#sharedAt = claim.next ?? Infinity;
    await this.#decideAll(await this.#snapshotsOf(claim));
  }

  /** Decides on entries as they were read. Those that another worker has changed meanwhile are read and decided again. */
  async #decideAll(snapshots: readonly EntrySnapshot[]): Promise<void> {
    let some = snapshots;
    for (let round = 0; some.length > 0 && round < MAX_ROUNDS; round++) {
      const late = await this.#write(await this.#decide(some));
      // Work of this length must not hold the event loop twice in a row.
      await this.#options.clock.turn();
      if (late.length === 0) return;
      some = await this.#snapshotsOf(await this.#read(late));
    }
    for (const { definition } of some) this.#schedule(definition, this.#now() + RECHECK_MS);
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

  async #decide(snapshots: readonly EntrySnapshot[]): Promise<Decided[]> {
    const { decider, log } = this.#options;
    const decisions: Decided[] = [];
    for (const snapshot of snapshots) {
      const { definition, now } = snapshot;
      try {
        decisions.push({ ...await decider.decide(snapshot), definition });
      } catch (error) {
        // An entry that cannot be decided must not prevent the others from it.
        log.error("Cron entry failed, retrying", { entry: definition.name, error, stack: (error as Error)?.stack });
        this.#schedule(definition, now + RECHECK_MS);
      }
    }
    return decisions;
  }

  /**
   * Stores decisions. Returns the names of entries that another worker has changed meanwhile. Of a shared one, that change says when
   * it is due.
   */
  async #write(decisions: readonly Decided[]): Promise<string[]> {
    const late: string[] = [];
    for (const chunk of inChunks(decisions)) {
      const writes = chunk.flatMap(({ write }) => write ?? []);
      const versions = writes.length === 0 ? [] : await this.#options.store.cron.write(writes);
      const written = new Map(writes.map(({ name }, i) => [name, versions[i]]));
      for (const decision of chunk) {
        const { name, definition, write } = decision;
        const version = written.get(name);
        if (write === undefined || version !== undefined) await this.#finish(decision);
        else if (!isShared(definition)) late.push(name);
        if (version !== undefined && !isShared(definition)) this.#versions.set(name, version);
      }
    }
    return late;
  }

  /** Does what follows from a decision that is stored. */
  async #finish({ name, definition, write, records, cancel, next }: Decided): Promise<void> {
    const { store, log, report } = this.#options;
    this.#schedule(definition, next);
    if (write?.definition !== undefined && definition.source === "config") {
      this.#apply(name, { kind: "defined", definition: write.definition });
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

  #schedule(definition: CronDefinition, next: number): void {
    if (!isShared(definition)) this.#apply(definition.name, { kind: "scheduled", next });
    else this.#sharedAt = Math.min(this.#sharedAt, next);
  }
}

/** A decision with the definition in force. */
type Decided = EntryDecision & Pick<EntrySnapshot, "definition">;

/** The snapshot in which a worker's own definition is to be written. */
function define({ entry, text }: OwnEntry, stored: StoredCron | undefined, now: number): EntrySnapshot {
  return { definition: { ...entry, source: "config" }, stored, now, text };
}

/** Splits decisions into chunks, each with no more jobs than one step of the store should have. */
function inChunks(decisions: readonly Decided[]): Decided[][] {
  const chunks: Decided[][] = [];
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
