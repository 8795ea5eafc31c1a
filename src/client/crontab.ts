/**
 * Shows and changes the cron entries of a store. Works whether workers run or not.
 *
 * @module
 */
import { type Clock, systemClock } from "../clock.ts";
import { countRecords } from "../cron/counts.ts";
import { checkCrontab, CrontabError, requireValid } from "../cron/crontab.ts";
import { readRecord } from "../cron/definition.ts";
import type { CronEntry, CronEntryInput } from "../cron/entry.ts";
import { type CheckedEntries, EntryCheck } from "../cron/entry_check.ts";
import { type CronRecord, decideManualRun } from "../cron/occurrence.ts";
import { pause, resume } from "../cron/plan.ts";
import { openSchedule } from "../cron/schedule_spec.ts";
import { InvalidPayload } from "../job/errors.ts";
import { JidMaker } from "../job/jid.ts";
import { argsCheck } from "../job/schema/args_schema.ts";
import type { CronPageRequest } from "../store/port/cron.ts";
import type { ServerStore } from "../store/port/store.ts";
import type { Client } from "./client.ts";
import {
  added,
  checkFree,
  type CrontabEntry,
  type CrontabPage,
  definitionOf,
  isConfigured,
  notFound,
  show,
  stateOf,
  unchanged,
} from "./crontab_entry.ts";
import { type CronFilter, CrontabEdits, PART, stateEdit } from "./crontab_edits.ts";
import { checkLimit } from "./list_request.ts";
import { Slices } from "./slices.ts";
import { buildOccurrences } from "./occurrence_jobs.ts";

/** The store keeps at most this many runs of an entry. */
const MAX_HISTORY = 100;
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
  readonly #edits: CrontabEdits;
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
    this.#edits = new CrontabEdits(options.store.cron, options.clock ?? systemClock);
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
  async add(input: CronEntryInput, options: { readonly replace?: boolean } = {}): Promise<void> {
    await this.#add(checkCrontab([input], { environment: "", isSingle: true }), options);
  }

  /**
   * Adds entries, 64 in one step of the store. All are checked before the first is written.
   *
   * @param options.replace replaces entries of the same names that were added at run time; equal ones stay as they are
   * @returns how many were written
   * @throws {CrontabError} if an entry is invalid, or a name is taken, with a line for each invalid one
   */
  async addMany(
    inputs: readonly CronEntryInput[],
    options: { readonly replace?: boolean } = {},
  ): Promise<number> {
    const check = new EntryCheck({ environment: "" });
    const slices = new Slices(this.#clock);
    for (const input of inputs) {
      check.add(input);
      if (slices.isOver()) await slices.next();
    }
    return await this.#add(requireValid(check), options);
  }

  async #add({ active, inactive: [off] }: CheckedEntries, { replace = false }): Promise<number> {
    if (off !== undefined) {
      throw new CrontabError(`Cron entry "${off.entry.name}": "${off.by}" is for configuration files; remove it`);
    }
    const slices = new Slices(this.#clock);
    for (const entry of active) {
      await this.#checkArgs(entry);
      if (slices.isOver()) await slices.next();
    }
    const parts = Array.from(
      { length: Math.ceil(active.length / PART) },
      (_, index) => active.slice(index * PART, (index + 1) * PART),
    );
    if (parts.length > 1) {
      for (const part of parts) {
        const { now, entries } = await this.#store.cron.read(part.map(({ name }) => name));
        for (const stored of entries) checkFree(stored.name, stored, now, replace);
      }
    }
    let written = 0;
    for (const part of parts) {
      const byName = new Map(part.map((entry) => [entry.name, entry]));
      written += await this.#edits.of([...byName.keys()], (name, stored, now) => {
        checkFree(name, stored, now, replace);
        return added(byName.get(name)!, stored, now);
      });
    }
    return written;
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
    await this.#edits.of([name], (_, stored, now) => {
      if (stored === undefined) throw notFound(name);
      if (isConfigured(stored, now)) {
        throw new CrontabError(
          `Cron entry "${name}" is in the configuration of a running worker; remove it there, or pause it`,
        );
      }
      return "remove";
    });
  }

  /**
   * Removes the entries with a prefix or a tag that aren't in the configuration of a running worker. Their jobs stay.
   *
   * @returns how many were removed
   * @throws {CrontabError} without a prefix and a tag
   */
  async removeMany(filter: CronFilter): Promise<number> {
    return await this.#edits.some(
      filter,
      (_, stored, now) => stored === undefined || isConfigured(stored, now) ? undefined : "remove",
    );
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
    await this.#edits.of([name], async (_, stored, now) => {
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
    await this.#edits.of([name], stateEdit((state) => pause(state)));
  }

  /**
   * Resumes a paused entry from now.
   *
   * @throws {CrontabError} if the entry doesn't exist
   */
  async resume(name: string): Promise<void> {
    await this.#edits.of([name], stateEdit((state, now) => state.paused ? resume(state, now) : state));
  }

  /**
   * Pauses the entries with a prefix or a tag.
   *
   * @returns how many weren't paused before
   * @throws {CrontabError} without a prefix and a tag
   */
  async pauseMany(filter: CronFilter): Promise<number> {
    return await this.#edits.some(filter, stateEdit((state) => state.paused ? undefined : pause(state)));
  }

  /**
   * Resumes the paused entries with a prefix or a tag.
   *
   * @returns how many were paused
   * @throws {CrontabError} without a prefix and a tag
   */
  async resumeMany(filter: CronFilter): Promise<number> {
    return await this.#edits.some(filter, stateEdit((state, now) => state.paused ? resume(state, now) : undefined));
  }
}
