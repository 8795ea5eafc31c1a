/**
 * The crontab as people see and change it while it is in force: through the store, whatever processes run.
 *
 * @module
 */
import { type Clock, systemClock } from "../clock.ts";
import { countRecords } from "../cron/counts.ts";
import { checkCrontab, CrontabError } from "../cron/crontab.ts";
import {
  CARRIED_MS,
  type CronDefinition,
  definitionText,
  readDefinition,
  readState,
  stateText,
} from "../cron/definition.ts";
import type { CronEntryInput } from "../cron/entry.ts";
import { type CronRecord, decideManualRun } from "../cron/occurrence.ts";
import { type CronState, pause, plan, resume } from "../cron/plan.ts";
import { openSchedule } from "../cron/schedule_spec.ts";
import { JidMaker } from "../job/jid.ts";
import type { CronWrite, StoredCron } from "../store/port/cron.ts";
import type { Client } from "./client.ts";
import { buildOccurrences } from "./occurrence_jobs.ts";
import type { ServerStore } from "../store/port/store.ts";

/** An entry in force, or that was. */
export interface CrontabEntry {
  /** Names it. */
  readonly name: string;
  /** What it says; undefined when a newer version of the program wrote it. */
  readonly definition: CronDefinition | undefined;
  /** What is remembered of it. */
  readonly state: CronState | undefined;
  /** Its next occurrence, epoch milliseconds; undefined when it is paused, over, or no process carries it. */
  readonly next: number | undefined;
  /** The job that was enqueued last, while it is not done. */
  readonly live: string | undefined;
  /** Whether some process enqueues it: one has it in its configuration, or it was added while they ran. */
  readonly isCarried: boolean;
  /** What became of its latest occurrence. */
  readonly last: CronRecord | undefined;
}

/** Others may be faster so many times. */
const MAX_TRIES = 20;

/** What is to become of an entry. */
type Edit = (stored: StoredCron | undefined, now: number) => Omit<CronWrite, "name" | "version">;

/** Shows and changes the crontab. */
export class Crontab {
  readonly #store: Pick<ServerStore, "cron">;
  readonly #client: Client;
  readonly #clock: Clock;
  readonly #jids = new JidMaker();

  /**
   * The crontab of a store.
   *
   * @param options what keeps it, and what builds the jobs that are enqueued by hand
   */
  constructor(options: { store: Pick<ServerStore, "cron">; client: Client; clock?: Clock }) {
    this.#store = options.store;
    this.#client = options.client;
    this.#clock = options.clock ?? systemClock;
  }

  /** All entries, by name. */
  async list(): Promise<CrontabEntry[]> {
    const { now, entries } = await this.#store.cron.read();
    return await Promise.all(entries.map((stored) => this.#show(stored, now)));
  }

  /** One entry. */
  async get(name: string): Promise<CrontabEntry | undefined> {
    const { now, entries: [stored] } = await this.#store.cron.read({ names: [name] });
    return stored && await this.#show(stored, now);
  }

  /** What became of an entry's occurrences, latest first; the store keeps 100. */
  async history(name: string, limit: number): Promise<CronRecord[]> {
    return (await this.#store.cron.history(name, limit)).map((text) => JSON.parse(text) as CronRecord);
  }

  /**
   * The next occurrences, epoch milliseconds.
   *
   * @throws {CrontabError} when there is no such entry
   */
  async next(name: string, count: number): Promise<number[]> {
    const { now, entries: [stored] } = await this.#store.cron.read({ names: [name] });
    const schedule = openSchedule(definitionOf(name, stored).schedule);
    const times: number[] = [];
    for (let at = schedule.next(now); at !== undefined && times.length < count; at = schedule.next(at)) times.push(at);
    return times;
  }

  /**
   * Adds an entry; processes that run take it up at once.
   *
   * @param options.replace an entry that was added before may be there
   * @throws {CrontabError} when it is wrong, or its name is taken
   */
  async add(input: CronEntryInput, { replace = false } = {}): Promise<void> {
    const { active: [entry], inactive: [off] } = checkCrontab([input], { environment: "" });
    if (entry === undefined) {
      throw new CrontabError(
        `Cron entry "${off?.entry.name}": "${off?.by}" is for configurations; add it where it is to be`,
      );
    }
    const { name } = entry;
    const definition = { ...entry, source: "runtime" as const };
    await this.#edit(name, (stored, now) => {
      const before = stored && readDefinition(stored.definition);
      if (before?.source === "config" && isCarried(before, stored!, now)) {
        throw new CrontabError(`Cron entry "${name}" is in a configuration; change it there, or take another name`);
      }
      if (stored && !replace && before?.source === "runtime") {
        throw new CrontabError(`Cron entry "${name}" is there already; replace it, or take another name`);
      }
      const state = (stored && readState(stored.state)) ?? plan(definition, undefined, now).state;
      return { ...unchanged(state), definition: definitionText(entry, "runtime") };
    });
  }

  /**
   * Removes an entry, with what waits of it. Its job, if there is one, stays.
   *
   * @throws {CrontabError} when there is none, or the configuration of a process that runs has it
   */
  async remove(name: string): Promise<void> {
    for (let tries = 0; tries < MAX_TRIES; tries++) {
      const { now, entries: [stored] } = await this.#store.cron.read({ names: [name] });
      if (stored === undefined) throw unknown(name);
      const definition = readDefinition(stored.definition);
      if (definition?.source === "config" && isCarried(definition, stored, now)) {
        throw new CrontabError(
          `Cron entry "${name}" is in the configuration of a process that runs; remove it there, or pause it`,
        );
      }
      if (await this.#store.cron.remove(name, stored.version)) return;
    }
    throw busy(name);
  }

  /**
   * Enqueues a job of the entry now, once, whatever else of it is there.
   *
   * @returns its jid
   * @throws {CrontabError} when there is no such entry, or its job cannot be built
   */
  async run(name: string): Promise<string> {
    const { now, entries: [stored] } = await this.#store.cron.read({ names: [name] });
    const definition = definitionOf(name, stored);
    if (definition.everyProcess) {
      throw new CrontabError(`Cron entry "${name}" is performed by each process itself; push its class instead`);
    }
    const { job, record } = decideManualRun({ name, now, newJid: () => this.#jids.next(this.#clock.now()) });
    const { jobs, records } = await buildOccurrences(this.#client, definition, { jobs: [job], records: [record] });
    const jid = jobs[0]?.jid;
    if (jid === undefined) throw new CrontabError(`Cron entry "${name}" is not enqueued: ${records[0]?.reason}`);
    await this.#edit(name, (stored, now) => {
      const state = stateOf(name, stored, definition, now);
      return { ...unchanged(countRecords(state, records)), jobs, records: records.map((one) => JSON.stringify(one)) };
    });
    return jid;
  }

  /**
   * Lets nothing of the entry be enqueued; what would have been is not caught up.
   *
   * @throws {CrontabError} when there is no such entry
   */
  async pause(name: string): Promise<void> {
    await this.#setState(name, (state) => pause(state));
  }

  /**
   * Lets a paused entry go on from now.
   *
   * @throws {CrontabError} when there is no such entry
   */
  async resume(name: string): Promise<void> {
    await this.#setState(name, (state, now) => state.paused ? resume(state, now) : state);
  }

  async #setState(name: string, change: (state: CronState, now: number) => CronState): Promise<void> {
    await this.#edit(name, (stored, now) => {
      const definition = definitionOf(name, stored);
      // Written though unchanged: so the processes are told.
      return { ...unchanged(change(stateOf(name, stored, definition, now), now)), definition: stored!.definition };
    });
  }

  async #edit(name: string, edit: Edit): Promise<void> {
    for (let tries = 0; tries < MAX_TRIES; tries++) {
      const { now, entries: [stored] } = await this.#store.cron.read({ names: [name] });
      const [version] = await this.#store.cron.write([{ name, version: stored?.version ?? 0, ...edit(stored, now) }]);
      if (version !== undefined) return;
    }
    throw busy(name);
  }

  async #show(stored: StoredCron, now: number): Promise<CrontabEntry> {
    const { name, live } = stored;
    const definition = readDefinition(stored.definition);
    const state = readState(stored.state);
    const carried = definition !== undefined && isCarried(definition, stored, now);
    const mayOccur = carried && !state?.paused;
    return {
      name,
      definition,
      state,
      next: mayOccur ? openSchedule(definition.schedule).next(Math.max(now, state?.considered ?? now)) : undefined,
      live,
      isCarried: carried,
      last: (await this.history(name, 1))[0],
    };
  }
}

function definitionOf(name: string, stored: StoredCron | undefined): CronDefinition {
  if (stored === undefined) throw unknown(name);
  const definition = readDefinition(stored.definition);
  if (definition === undefined) {
    throw new CrontabError(`Cron entry "${name}" was written by a newer version of jobs; use that version`);
  }
  return definition;
}

function stateOf(name: string, stored: StoredCron | undefined, definition: CronDefinition, now: number): CronState {
  if (stored === undefined) throw unknown(name);
  return readState(stored.state) ?? plan(definition, undefined, now).state;
}

function isCarried({ source }: CronDefinition, { seenAt }: StoredCron, now: number): boolean {
  return source === "runtime" || now - seenAt <= CARRIED_MS;
}

function unchanged(state: CronState): Omit<CronWrite, "name" | "version"> {
  return { state: stateText(state), jobs: [], awaited: state.waiting !== undefined, records: [] };
}

function unknown(name: string): CrontabError {
  return new CrontabError(`There is no cron entry "${name}"; see jobs cron list`);
}

function busy(name: string): CrontabError {
  return new CrontabError(`Cron entry "${name}" changes all the time; try again`);
}
