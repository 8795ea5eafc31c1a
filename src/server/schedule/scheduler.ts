/**
 * The scheduler: enqueues what the crontab says. Any number of processes may do it at once: what an occurrence leads to
 * is stored in one step, by whoever is first, and the others find it decided.
 *
 *  1. At the start, and when the configuration was read again, this process's entries are written where they differ from
 *     what is stored: what was said last is in force for all.
 *  2. It looks at an entry when its next occurrence is due, and at all of them every so often and when told to: so it
 *     learns what others changed.
 *  3. It decides on entries that it carries itself, whatever is in force for them, and on those added while it runs.
 *     What nobody has carried for long goes away.
 *
 * The time is the store's, taken from each answer and carried on by a clock that does not jump.
 *
 * @module
 */
import type { Clock } from "../../clock.ts";
import { CARRIED_MS, definitionText, readDefinition } from "../../cron/definition.ts";
import type { CronEntry } from "../../cron/entry.ts";
import type { Log } from "../../log/log.ts";
import type { CronReading, CronStore, StoredCron } from "../../store/port/cron.ts";
import { StoreError } from "../../store/port/errors.ts";
import { type CronDecider, type EntryDecision, type EntrySnapshot, RECHECK_MS } from "./cron_decider.ts";
import type { CronReporter } from "./cron_reporter.ts";
import type { LoopBody } from "../component.ts";
import type { ServerStore } from "../../store/port/store.ts";

/** All entries are read so often. */
const POLL_INTERVAL_MS = 15_000;
/** What no process has carried for so long is removed. */
const FORGOTTEN_MS = 7 * 24 * 3_600_000;
/** Others may be faster so many times in a row before an entry waits for a moment. */
const MAX_ROUNDS = 10;
/** Jobs and records stored in one step, about. */
const BATCH = 1_000;

/** An entry that this process carries, and its text. */
interface Own {
  readonly entry: CronEntry;
  readonly text: string;
}

/** Its loop's task is `scheduler`. */
export class Scheduler implements LoopBody<number> {
  readonly name = "scheduler";
  readonly #store: Pick<ServerStore, "cron" | "jobs">;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #decider: CronDecider;
  readonly #report: CronReporter;
  #own: ReadonlyMap<string, Own> = new Map();
  /** Names that are to be removed: they are switched off here, or were carried before. */
  #gone: readonly string[] = [];
  /** Own entries that have yet to be written. */
  readonly #unwritten = new Set<string>();
  /** Own entries that are stored just as this process has them. */
  readonly #carried = new Set<string>();
  /** When an own entry was first found missing, on the monotonic clock. */
  readonly #missing = new Map<string, number>();
  /** When each entry is to be looked at, by the store's clock. */
  readonly #next = new Map<string, number>();
  /** When all are to be looked at, on the monotonic clock. */
  #lookAt = -Infinity;
  /** Aborts the rest under way. */
  #resting: AbortController | undefined;
  /** The store's time minus the monotonic clock's. */
  #offset = 0;

  constructor(
    options: {
      store: Pick<ServerStore, "cron" | "jobs">;
      clock: Clock;
      log: Log;
      decider: CronDecider;
      report: CronReporter;
    },
  ) {
    this.#store = options.store;
    this.#clock = options.clock;
    this.#log = options.log;
    this.#decider = options.decider;
    this.#report = options.report;
  }

  /** Says which entries this process carries from now on, and the names of those that it has switched off. */
  setEntries(entries: readonly CronEntry[], switchedOff: readonly string[] = []): void {
    const own = new Map(entries.map((entry) => [entry.name, { entry, text: definitionText(entry, "config") }]));
    this.#gone = [...switchedOff, ...[...this.#own.keys()].filter((name) => !own.has(name))];
    this.#own = own;
    this.#unwritten.clear();
    for (const name of own.keys()) this.#unwritten.add(name);
    this.#lookAt = -Infinity;
    this.#resting?.abort();
  }

  /** Does what is due now. Returns in how many milliseconds there is more to do. */
  async step(): Promise<number> {
    if (this.#clock.monotonic() >= this.#lookAt) await this.#lookAtAll();
    else {
      const due = this.#due();
      if (due.length > 0) await this.#settle(await this.#read({ names: due }));
    }
    const nextInMs = this.#next.values().reduce((least, at) => Math.min(least, at), Infinity) - this.#now();
    return Math.max(0, Math.min(nextInMs, this.#lookAt - this.#clock.monotonic()));
  }

  /** Waits for the next occurrence, or until something has changed. */
  async rest(ms: number, signal: AbortSignal): Promise<void> {
    // What is to be carried may have changed since that was said.
    if (ms === 0 || this.#lookAt === -Infinity) return;
    const over = this.#resting = new AbortController();
    const end = AbortSignal.any([signal, over.signal]);
    const told = this.#store.cron.wait(end).then(() => {
      if (!end.aborted) this.#lookAt = -Infinity;
    });
    const slept = this.#clock.sleep(ms, end);
    await Promise.race([told, slept]);
    over.abort();
    await Promise.all([told, slept]);
  }

  /** The store's time, as far as it can be told from here. */
  #now(): number {
    return this.#clock.monotonic() + this.#offset;
  }

  #due(): string[] {
    const now = this.#now();
    return [...this.#next].filter(([, next]) => next <= now).map(([name]) => name);
  }

  async #read(request: Parameters<CronStore["read"]>[0]): Promise<CronReading> {
    const reading = await this.#store.cron.read(request);
    this.#offset = reading.now - this.#clock.monotonic();
    const there = new Set(reading.entries.map(({ name }) => name));
    for (const name of request?.names ?? []) if (!there.has(name)) this.#next.delete(name);
    return reading;
  }

  async #lookAtAll(): Promise<void> {
    // Before reading: what is said in between counts.
    this.#lookAt = this.#clock.monotonic() + POLL_INTERVAL_MS;
    try {
      const said = new Set(this.#carried);
      const reading = await this.#read({ carried: [...said] });
      this.#forgetOthers(reading);
      await this.#removeGone();
      await this.#settle(reading, this.#missingOf(reading));
      await this.#sayWhatIsNew(reading, said);
    } catch (error) {
      this.#lookAt = -Infinity;
      throw error;
    }
  }

  /** What nobody has carried for a while, and this process does since it looked, is not to seem abandoned until it looks again. */
  async #sayWhatIsNew({ entries, now }: CronReading, said: ReadonlySet<string>): Promise<void> {
    const isNew = ({ name, seenAt }: StoredCron) =>
      this.#carried.has(name) && !said.has(name) && now - seenAt > POLL_INTERVAL_MS;
    if (entries.some(isNew)) await this.#read({ names: [], carried: [...this.#carried] });
  }

  /** What is not stored any more has no next time. */
  #forgetOthers({ entries }: CronReading): void {
    const there = new Set(entries.map(({ name }) => name));
    for (const name of this.#next.keys()) {
      if (there.has(name)) continue;
      this.#next.delete(name);
      this.#carried.delete(name);
      this.#decider.forget(name);
    }
    for (const name of there) this.#missing.delete(name);
  }

  async #removeGone(): Promise<void> {
    for (let round = 0; this.#gone.length > 0 && round < MAX_ROUNDS; round++) {
      const { entries } = await this.#read({ names: this.#gone });
      const late: string[] = [];
      for (const entry of entries) {
        if (readDefinition(entry.definition)?.source === "runtime") continue;
        if (await this.#remove(entry)) this.#log.info("Crontab entry removed", { entry: entry.name });
        else late.push(entry.name);
      }
      this.#gone = late;
    }
  }

  async #remove({ name, version }: StoredCron): Promise<boolean> {
    if (!await this.#store.cron.remove(name, version)) return false;
    this.#next.delete(name);
    this.#carried.delete(name);
    this.#decider.forget(name);
    return true;
  }

  /** Own entries that are to be written because they are not stored. */
  #missingOf({ entries, now }: CronReading): EntrySnapshot[] {
    const there = new Set(entries.map(({ name }) => name));
    const snapshots: EntrySnapshot[] = [];
    for (const own of this.#own.values()) {
      const { name } = own.entry;
      if (there.has(name)) continue;
      const since = this.#missing.get(name) ?? this.#clock.monotonic();
      this.#missing.set(name, since);
      // Somebody may have taken it away on purpose, and this process has yet to learn of it.
      const isLost = this.#clock.monotonic() - since >= CARRIED_MS;
      if (this.#unwritten.has(name) || isLost) snapshots.push(this.#define(own, undefined, now));
    }
    return snapshots;
  }

  /** Deals with entries as they were read; what another was faster with is read and dealt with again. */
  async #settle(reading: CronReading, more: readonly EntrySnapshot[] = []): Promise<void> {
    let snapshots = [...await this.#snapshotsOf(reading), ...more];
    for (let round = 0; round < MAX_ROUNDS; round++) {
      const late = await this.#write(await this.#decide(snapshots));
      if (late.length === 0) return;
      const again = await this.#read({ names: late });
      snapshots = await this.#snapshotsOf(again);
    }
    for (const { definition: { name } } of snapshots) this.#next.set(name, this.#now() + RECHECK_MS);
  }

  /** Those of the stored entries on which this process decides, each with what is to be in force. */
  async #snapshotsOf({ entries, now }: CronReading): Promise<EntrySnapshot[]> {
    const snapshots: EntrySnapshot[] = [];
    for (const stored of entries) {
      const { name, seenAt } = stored;
      const own = this.#own.get(name);
      if (own?.text === stored.definition) {
        this.#carried.add(name);
        this.#unwritten.delete(name);
      } else this.#carried.delete(name);
      const isOver = own && !this.#carried.has(name) && (this.#unwritten.has(name) || now - seenAt > CARRIED_MS);
      const definition = readDefinition(stored.definition);
      if (isOver) snapshots.push(this.#define(own, stored, now));
      else if (definition && (own || definition.source === "runtime")) snapshots.push({ definition, stored, now });
      else {
        this.#next.delete(name);
        if (definition?.source !== "config" || now - seenAt <= FORGOTTEN_MS) continue;
        if (await this.#remove(stored)) this.#log.info("Crontab entry removed: no process has it", { entry: name });
      }
    }
    return snapshots;
  }

  /** What this process carries is to be in force. */
  #define({ entry, text }: Own, stored: StoredCron | undefined, now: number): EntrySnapshot {
    return { definition: { ...entry, source: "config" }, stored, now, text };
  }

  async #decide(snapshots: readonly EntrySnapshot[]): Promise<EntryDecision[]> {
    const decisions: EntryDecision[] = [];
    for (const one of snapshots) {
      const { name } = one.definition;
      try {
        decisions.push(await this.#decider.decide(one));
      } catch (error) {
        // One entry that cannot be dealt with must not keep the others from it.
        this.#log.error("Crontab entry failed, trying again", { entry: name, error, stack: (error as Error)?.stack });
        this.#next.set(name, one.now + RECHECK_MS);
      }
    }
    return decisions;
  }

  /** Stores what was decided. Returns the names of entries with which another was faster. */
  async #write(decisions: readonly EntryDecision[]): Promise<string[]> {
    const late: string[] = [];
    for (const batch of inBatches(decisions)) {
      const writes = batch.flatMap(({ write }) => write ?? []);
      const versions = writes.length === 0 ? [] : await this.#store.cron.write(writes);
      const moved = new Set(writes.filter((_, i) => versions[i] === undefined).map(({ name }) => name));
      for (const decision of batch) {
        if (moved.has(decision.name)) late.push(decision.name);
        else await this.#done(decision);
      }
    }
    return late;
  }

  async #done({ name, write, records, cancel, next }: EntryDecision): Promise<void> {
    this.#next.set(name, next);
    if (write?.definition !== undefined) {
      this.#carried.add(name);
      this.#unwritten.delete(name);
      this.#missing.delete(name);
      this.#log.info(write.version === 0 ? "Crontab entry defined" : "Crontab entry changed", { entry: name });
    }
    this.#report.records(name, records);
    if (cancel === undefined) return;
    try {
      await this.#store.jobs.cancel(cancel);
    } catch (error) {
      // It is asked again.
      if (!(error instanceof StoreError)) throw error;
    }
  }
}

/** Verdicts in portions, each with no more jobs than one step of the store should have. */
function inBatches(decisions: readonly EntryDecision[]): EntryDecision[][] {
  const batches: EntryDecision[][] = [];
  let size = Infinity;
  for (const decision of decisions) {
    const own = 1 + (decision.write?.jobs.length ?? 0) + decision.records.length;
    if (size + own > BATCH) {
      batches.push([]);
      size = 0;
    }
    batches.at(-1)!.push(decision);
    size += own;
  }
  return batches;
}
