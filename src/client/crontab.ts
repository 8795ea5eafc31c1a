/**
 * Shows and changes the cron entries of a store. Works whether workers run or not.
 *
 * @module
 */
import { type Clock, systemClock } from "../clock.ts";
import { countRecords } from "../cron/counts.ts";
import { checkCrontab, CrontabError } from "../cron/crontab.ts";
import {
  type CronDefinition,
  definitionText,
  indexOf,
  LOADED_TTL_MS,
  readDefinition,
  readRecord,
  readState,
  stateText,
} from "../cron/definition.ts";
import type { CronEntry, CronEntryInput } from "../cron/entry.ts";
import { type CronRecord, decideManualRun } from "../cron/occurrence.ts";
import { type CronState, pause, plan, resume } from "../cron/plan.ts";
import { openSchedule } from "../cron/schedule_spec.ts";
import { InvalidPayload } from "../job/errors.ts";
import { JidMaker } from "../job/jid.ts";
import { argsCheck } from "../job/schema/args_schema.ts";
import type { CronPageRequest, CronWrite, StoredCron } from "../store/port/cron.ts";
import type { Client } from "./client.ts";
import { checkLimit } from "./list_request.ts";
import { buildOccurrences } from "./occurrence_jobs.ts";
import type { ServerStore } from "../store/port/store.ts";

/** A cron entry of the store. */
export interface CrontabEntry {
  /** The name of the entry. */
  readonly name: string;
  /** The definition; undefined if a newer version of the program wrote it. */
  readonly definition: CronDefinition | undefined;
  /** The state; undefined if a newer version of the program wrote it. */
  readonly state: CronState | undefined;
  /** The time of the next run, epoch milliseconds; undefined if the entry is paused, isn't loaded, or has no further run. */
  readonly next: number | undefined;
  /** The jid of the job that was enqueued last, until it has ended. */
  readonly live: string | undefined;
  /** Whether workers enqueue its runs: a worker has it in its configuration, or it was added at run time. */
  readonly isLoaded: boolean;
  /** The outcome of its latest run. */
  readonly last: CronRecord | undefined;
}

/** A page of entries. */
export interface CrontabPage {
  /** The entries. */
  readonly entries: readonly CrontabEntry[];
  /** Pass it as `cursor` to get the next page; absent on the last. */
  readonly next?: string;
}

/** The store keeps at most this many runs of an entry. */
const MAX_HISTORY = 100;
/** A write is attempted this many times if other writers change the entry first. */
const MAX_ATTEMPTS = 20;

/** Returns the write that changes an entry; undefined if it needs none. */
type Edit = (stored: StoredCron | undefined, now: number) => Change | undefined | Promise<Change | undefined>;

type Change = Omit<CronWrite, "name" | "version">;

/**
 * Shows and changes the crontab.
 *
 * @example
 * ```ts
 * import { Client, Crontab, openStore } from "@jobs/jobs";
 *
 * await using store = await openStore("sqlite::memory:");
 * const crontab = new Crontab({ store, client: new Client({ store, onUnregistered: () => {} }) });
 * await crontab.add({ name: "hourly", every: "1h", class: "Clean" });
 * await crontab.pause("hourly");
 * console.log((await crontab.page()).entries.map(({ name }) => name)); // ["hourly"]
 * ```
 */
export class Crontab {
  readonly #store: Pick<ServerStore, "cron" | "logs">;
  readonly #client: Client;
  readonly #clock: Clock;
  readonly #jids = new JidMaker();

  /**
   * Opens the cron entries of a store.
   *
   * @param options.client builds the jobs that are enqueued by hand
   */
  constructor(options: { store: Pick<ServerStore, "cron" | "logs">; client: Client; clock?: Clock }) {
    this.#store = options.store;
    this.#client = options.client;
    this.#clock = options.clock ?? systemClock;
  }

  /**
   * Returns a page of entries, by name.
   *
   * @throws {InvalidPayload} if the limit isn't a whole number from 1 to 1,000
   */
  async page(request: CronPageRequest = {}): Promise<CrontabPage> {
    if (request.limit !== undefined) checkLimit("limit", request.limit);
    const { now, entries, next } = await this.#store.cron.page(request);
    return { entries: entries.map((stored) => show(stored, now)), ...(next !== undefined && { next }) };
  }

  /** Returns an entry; undefined if it doesn't exist. */
  async get(name: string): Promise<CrontabEntry | undefined> {
    const { now, entries: [stored] } = await this.#store.cron.read([name]);
    return stored && show(stored, now);
  }

  /**
   * Returns the outcomes of an entry's runs, latest first. The store keeps 100 of each of up to 10,000 entries, and fewer of more.
   *
   * @throws {InvalidPayload} if the limit isn't a whole number from 1 to 1,000
   */
  async history(name: string, limit: number): Promise<CronRecord[]> {
    const { entries } = await this.#store.logs.page(`cron:${name}`, { limit: checkLimit("limit", limit) });
    return entries.map(({ text }) => readRecord(text));
  }

  /**
   * Returns the times of the next runs, epoch milliseconds.
   *
   * @throws {CrontabError} if the entry doesn't exist
   * @throws {InvalidPayload} if the count isn't a whole number from 1 to 1,000
   */
  async next(name: string, count: number): Promise<number[]> {
    checkLimit("count", count);
    const { now, entries: [stored] } = await this.#store.cron.read([name]);
    const schedule = openSchedule(definitionOf(name, stored).schedule);
    const times: number[] = [];
    for (let at = schedule.next(now); at !== undefined && times.length < count; at = schedule.next(at)) times.push(at);
    return times;
  }

  /**
   * Adds an entry. Running workers load it at once.
   *
   * @param options.replace replaces an entry of the same name that was added at run time
   * @throws {CrontabError} if the entry is invalid, or its name is taken
   */
  async add(input: CronEntryInput, { replace = false } = {}): Promise<void> {
    const { active: [entry], inactive: [off] } = checkCrontab([input], { environment: "", isSingle: true });
    if (entry === undefined) {
      throw new CrontabError(
        `Cron entry "${off?.entry.name}": "${off?.by}" is for configuration files; remove it`,
      );
    }
    const { name } = entry;
    await this.#checkArgs(entry);
    const definition = { ...entry, source: "runtime" as const };
    await this.#edit(name, (stored, now) => {
      const before = stored && readDefinition(stored.definition);
      if (before?.source === "config" && isLoaded(before, stored!, now)) {
        throw new CrontabError(
          `Cron entry "${name}" is defined in a configuration; change it there, or use another name`,
        );
      }
      if (stored && !replace && before?.source === "runtime") {
        throw new CrontabError(`Cron entry "${name}" already exists; replace it, or use another name`);
      }
      const kept = stored && readState(stored.state, before);
      const planned = plan(definition, kept, now);
      // A worker enqueues the runs that the old schedule still owes.
      const isOwed = planned.due.length > 0 || planned.missed !== undefined;
      return {
        ...unchanged(isOwed ? { ...kept!, changedAt: kept!.changedAt ?? now } : planned.state, definition),
        ...indexOf(definition),
        definition: definitionText(entry, "runtime"),
        next: isOwed ? now : planned.next,
      };
    });
  }

  /** Rejects arguments that don't fit the schema of the class: every run would be skipped. */
  async #checkArgs({ name, class: className, args }: CronEntry): Promise<void> {
    const { schema } = await this.#client.optionsOf(className);
    if (schema === undefined) return;
    try {
      argsCheck(schema, "schema")(args);
    } catch (error) {
      throw error instanceof InvalidPayload ? new CrontabError(`Cron entry "${name}": ${error.message}`) : error;
    }
  }

  /**
   * Removes an entry, with the run that waits. Jobs of the entry stay.
   *
   * @throws {CrontabError} if the entry doesn't exist, or is in the configuration of a running worker
   */
  async remove(name: string): Promise<void> {
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
      const { now, entries: [stored] } = await this.#store.cron.read([name]);
      if (stored === undefined) throw notFound(name);
      const definition = readDefinition(stored.definition);
      if (definition?.source === "config" && isLoaded(definition, stored, now)) {
        throw new CrontabError(
          `Cron entry "${name}" is in the configuration of a running worker; remove it there, or pause it`,
        );
      }
      const [removed] = await this.#store.cron.write([{ name, version: stored.version, remove: true }]);
      if (removed !== undefined) return;
    }
    throw busy(name);
  }

  /**
   * Enqueues a job of the entry now, even while other jobs of the entry haven't ended.
   *
   * @param options.jid the jid of the job. If the entry has a run with it, no other job is enqueued
   * @returns its jid
   * @throws {CrontabError} if the entry doesn't exist, or its job is invalid
   */
  async run(name: string, { jid: chosen }: { readonly jid?: string | undefined } = {}): Promise<string> {
    const { now, entries: [stored] } = await this.#store.cron.read([name]);
    const definition = definitionOf(name, stored);
    if (definition.everyProcess) {
      throw new CrontabError(`Cron entry "${name}" is performed by every worker itself; push its class instead`);
    }
    const { job, record } = decideManualRun({ name, now, newJid: () => chosen ?? this.#jids.next(this.#clock.now()) });
    const { jobs, records } = await buildOccurrences(this.#client, definition, { jobs: [job], records: [record] });
    const jid = jobs[0]?.jid;
    if (jid === undefined) throw new CrontabError(`Cannot enqueue cron entry "${name}": ${records[0]?.reason}`);
    await this.#edit(name, async (stored, now) => {
      // The write fails if another one has added the run meanwhile.
      if (chosen !== undefined && (await this.history(name, MAX_HISTORY)).some((one) => one.jid === jid)) {
        return undefined;
      }
      if (stored === undefined) throw notFound(name);
      const state = countRecords(stateOf(stored, definition, now), records);
      const change = { ...unchanged(state, definition), next: stored.next };
      return { ...change, jobs, records: records.map((one) => JSON.stringify(one)) };
    });
    return jid;
  }

  /**
   * Pauses an entry: no run is enqueued, and runs during the pause are not caught up.
   *
   * @throws {CrontabError} if the entry doesn't exist
   */
  async pause(name: string): Promise<void> {
    await this.#setState(name, (state) => pause(state));
  }

  /**
   * Resumes a paused entry from now.
   *
   * @throws {CrontabError} if the entry doesn't exist
   */
  async resume(name: string): Promise<void> {
    await this.#setState(name, (state, now) => state.paused ? resume(state, now) : state);
  }

  async #setState(name: string, change: (state: CronState, now: number) => CronState): Promise<void> {
    await this.#edit(name, (stored, now) => {
      const definition = definitionOf(name, stored);
      const state = change(stateOf(stored!, definition, now), now);
      // The definition is written even if it is unchanged: that notifies the workers.
      return {
        ...unchanged(state, definition),
        ...indexOf(definition),
        definition: stored!.definition,
        next: state.paused ? undefined : openSchedule(state.schedule).next(state.considered),
      };
    });
  }

  async #edit(name: string, edit: Edit): Promise<void> {
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
      const { now, entries: [stored] } = await this.#store.cron.read([name]);
      const change = await edit(stored, now);
      if (change === undefined) return;
      const [version] = await this.#store.cron.write([{ name, version: stored?.version ?? 0, ...change }]);
      if (version !== undefined) return;
    }
    throw busy(name);
  }
}

function show(stored: StoredCron, now: number): CrontabEntry {
  const { name, live } = stored;
  const definition = readDefinition(stored.definition);
  const state = readState(stored.state, definition);
  const loaded = definition !== undefined && isLoaded(definition, stored, now);
  const runs = loaded && !state?.paused;
  return {
    name,
    definition,
    state,
    next: runs ? openSchedule(definition.schedule).next(Math.max(now, state?.considered ?? now)) : undefined,
    live,
    isLoaded: loaded,
    last: state?.last,
  };
}

function definitionOf(name: string, stored: StoredCron | undefined): CronDefinition {
  if (stored === undefined) throw notFound(name);
  const definition = readDefinition(stored.definition);
  if (definition === undefined) {
    throw new CrontabError(`Cron entry "${name}" was written by a newer version of jobs; use that version`);
  }
  return definition;
}

function stateOf({ state }: StoredCron, definition: CronDefinition, now: number): CronState {
  return readState(state, definition) ?? plan(definition, undefined, now).state;
}

function isLoaded({ source }: CronDefinition, { seenAt }: StoredCron, now: number): boolean {
  return source === "runtime" || now - seenAt <= LOADED_TTL_MS;
}

function unchanged(state: CronState, { schedule }: CronDefinition): Change {
  return { state: stateText(state, schedule), jobs: [], awaited: state.waiting !== undefined, records: [] };
}

function notFound(name: string): CrontabError {
  return new CrontabError(`Cron entry "${name}" not found; see jobs cron list`);
}

function busy(name: string): CrontabError {
  return new CrontabError(`Cron entry "${name}" was changed by others ${MAX_ATTEMPTS} times in a row; try again`);
}
