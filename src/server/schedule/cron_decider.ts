/**
 * Where one crontab entry is decided upon: what is stored of it and the time → what is to be written, with its jobs.
 * Nothing is stored here.
 *
 * @module
 */
import type { Client } from "../../client/client.ts";
import { buildOccurrences } from "../../client/occurrence_jobs.ts";
import { countRecords } from "../../cron/counts.ts";
import { type CronDefinition, readState, stateText } from "../../cron/definition.ts";
import { type CronRecord, decideRuns } from "../../cron/occurrence.ts";
import { type CronState, plan } from "../../cron/plan.ts";
import { JidMaker } from "../../job/jid.ts";
import type { CronWrite, StoredCron } from "../../store/port/cron.ts";
import type { CronReporter } from "./cron_reporter.ts";
import type { InProcessRuns } from "./in_process_runs.ts";

/** A job that is to be cancelled is asked so often. */
export const RECHECK_MS = 1_000;

/** What is to be done about one entry. */
export interface EntryDecision {
  readonly name: string;
  /** Absent: nothing has changed. */
  readonly write: CronWrite | undefined;
  /** What to report once that is written. */
  readonly records: readonly CronRecord[];
  /** The job to cancel then. */
  readonly cancel: string | undefined;
  /** When to look again, by the store's clock; infinite: not before something changes. */
  readonly next: number;
}

/** An entry in force, with what is stored of it. */
export interface EntrySnapshot {
  readonly definition: CronDefinition;
  readonly stored: StoredCron | undefined;
  /** The store's time. */
  readonly now: number;
  /** The definition's text, where it is to be written. */
  readonly text?: string | undefined;
}

/** What performs jobs in this process, past the store. */
export type LocalPerformer = Pick<InProcessRuns, "isRunning" | "start">;

/** Decides on entries. */
export class CronDecider {
  readonly #client: Client;
  readonly #report: CronReporter;
  readonly #local: LocalPerformer;
  readonly #jids = new JidMaker();
  /** Of entries that each process performs: what this one remembers. */
  readonly #here = new Map<string, { readonly state: CronState; readonly live: string | undefined }>();

  constructor(options: { client: Client; report: CronReporter; local: LocalPerformer }) {
    this.#client = options.client;
    this.#report = options.report;
    this.#local = options.local;
  }

  /** Decides on one entry; one that each process performs is performed here. */
  async decide(one: EntrySnapshot): Promise<EntryDecision> {
    return one.definition.everyProcess ? await this.#decideHere(one) : await this.#decideForAll(one);
  }

  /** The entry is no longer there. */
  forget(name: string): void {
    this.#here.delete(name);
  }

  async #decideForAll({ definition, stored, now, text }: EntrySnapshot): Promise<EntryDecision> {
    const { name, overlap } = definition;
    const before = stored && readState(stored.state);
    const planned = plan(definition, before, now);
    if (planned.clockSetBackMs !== undefined) this.#report.clockSetBack(name, planned.clockSetBackMs);
    const decided = decideRuns({
      name,
      overlap,
      plan: planned,
      live: stored?.live,
      now,
      newJid: () => this.#jids.next(now),
    });
    const { jobs, records } = await buildOccurrences(this.#client, definition, decided);
    const state = countRecords(decided.state, records);
    const write: CronWrite = {
      name,
      version: stored?.version ?? 0,
      ...(text !== undefined && { definition: text }),
      state: stateText(state),
      jobs,
      awaited: state.waiting !== undefined,
      records: records.map((record) => JSON.stringify(record)),
    };
    // What was not built stands in nobody's way: another may wait for it in vain.
    const again = decided.cancel !== undefined ? now + RECHECK_MS : jobs.length < decided.jobs.length ? now : Infinity;
    return {
      name,
      write: text === undefined && state === before ? undefined : write,
      records,
      cancel: decided.cancel,
      next: Math.min(planned.next ?? Infinity, again),
    };
  }

  /** Stored is only that there is such an entry, and whether it is paused. */
  async #decideHere(one: EntrySnapshot): Promise<EntryDecision> {
    const { definition, stored, now, text } = one;
    const { name, schedule } = definition;
    const before = stored && readState(stored.state);
    const next = before?.paused ? this.#rest(name) : await this.#performHere(definition, now);
    const state = stateText({ ...before, schedule, considered: now });
    const version = stored?.version ?? 0;
    const write = text === undefined
      ? undefined
      : { name, version, definition: text, state, jobs: [], awaited: false, records: [] };
    return { name, write, records: [], cancel: undefined, next };
  }

  #rest(name: string): number {
    this.forget(name);
    return Infinity;
  }

  async #performHere(definition: CronDefinition, now: number): Promise<number> {
    const { name, overlap } = definition;
    const before = this.#here.get(name);
    const planned = plan(definition, before?.state, now);
    const live = this.#local.isRunning(before?.live) ? before?.live : undefined;
    const decided = decideRuns({ name, overlap, plan: planned, live, now, newJid: () => this.#jids.next(now) });
    // It is not tried again, and nothing of it is kept.
    const once = { ...definition, options: { ...definition.options, retry: false, dead: false } };
    const { jobs, records } = await buildOccurrences(this.#client, once, decided);
    for (const job of jobs) this.#local.start(job);
    this.#here.set(name, { state: decided.state, live: jobs.at(-1)?.jid ?? live });
    this.#report.records(name, records);
    return planned.next ?? Infinity;
  }
}
