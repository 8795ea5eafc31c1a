/**
 * The cron decider: turns the stored state of one entry and the time into what is to be written, with its jobs. The scheduler
 * stores it.
 *
 * @module
 */
import type { Client } from "../../client/client.ts";
import { buildOccurrences } from "../../client/occurrence_jobs.ts";
import { countRecords } from "../../cron/counts.ts";
import {
  type CronDefinition,
  definitionText,
  indexOf,
  readDefinition,
  readState,
  stateText,
} from "../../cron/definition.ts";
import { type CronRecord, decideRuns } from "../../cron/occurrence.ts";
import { type CronState, heldUntil, plan } from "../../cron/plan.ts";
import { membersOf } from "../../job/event.ts";
import { JidMaker } from "../../job/jid.ts";
import type { NewJob } from "../../store/port/jobs.ts";
import type { CronWrite, StoredCron } from "../../store/port/cron.ts";
import type { CronReporter } from "./cron_reporter.ts";
import type { Announcer } from "../work/announcer.ts";
import type { InProcessRuns } from "./in_process_runs.ts";

/** Interval at which a cancellation is repeated. */
export const RECHECK_MS = 1_000;

export interface EntryDecision {
  readonly name: string;
  /** Undefined: nothing has changed. */
  readonly write: CronWrite | undefined;
  /** Reported when `write` is stored. */
  readonly records: readonly CronRecord[];
  /** The job to cancel when `write` is stored. */
  readonly cancel: string | undefined;
  /** When to look at the entry again, by the store's clock; Infinity: not before something changes. */
  readonly next: number;
}

/** A definition in force, and the stored entry. */
export interface EntrySnapshot {
  readonly definition: CronDefinition;
  readonly stored: StoredCron | undefined;
  /** The store's time. */
  readonly now: number;
  /** The definition's text, if it is to be written. */
  readonly text?: string | undefined;
}

/** Performs jobs in this process, without the store. */
export type LocalPerformer = Pick<InProcessRuns, "isRunning" | "start">;

export class CronDecider {
  readonly #client: Client;
  readonly #report: CronReporter;
  readonly #local: LocalPerformer;
  readonly #announcer: Pick<Announcer, "followEvent"> | undefined;
  readonly #jids = new JidMaker();
  /** The states of entries that each worker performs itself. */
  readonly #here = new Map<string, { readonly state: CronState; readonly live: string | undefined }>();

  constructor(
    options: {
      client: Client;
      report: CronReporter;
      local: LocalPerformer;
      /** Makes the jobs of webhooks. Absent: none. */
      announcer?: Pick<Announcer, "followEvent">;
    },
  ) {
    this.#announcer = options.announcer;
    this.#client = options.client;
    this.#report = options.report;
    this.#local = options.local;
  }

  /** Decides on one entry. If each worker performs it itself, its jobs are started here. */
  async decide(one: EntrySnapshot): Promise<EntryDecision> {
    return one.definition.everyProcess ? await this.#decideHere(one) : await this.#decideForAll(one);
  }

  forget(name: string): void {
    this.#here.delete(name);
  }

  async #decideForAll(one: EntrySnapshot): Promise<EntryDecision> {
    const { definition, stored, now } = one;
    const { name, overlap } = definition;
    const before = stateOf(one);
    const planned = plan(definition, before, now);
    if (planned.clockSetBackMs !== undefined) this.#report.clockSetBack(name, planned.clockSetBackMs);
    const held = heldUntil(planned.state, now);
    if (held !== undefined) this.#report.clockAhead(held, name);
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
    const follow = records.flatMap((record) => this.#follow(definition, record));
    const events = records.flatMap((record) => eventOf(definition, record));
    // A job that could not be built is not stored: a run that waits for its end is decided now.
    const again = decided.cancel !== undefined ? now + RECHECK_MS : jobs.length < decided.jobs.length ? now : Infinity;
    const next = Math.min(planned.next ?? Infinity, again);
    const write: CronWrite = {
      ...writeOf(one, state, next),
      jobs,
      ...(follow.length > 0 && { follow }),
      ...(events.length > 0 && { events }),
      awaited: state.waiting !== undefined,
      records: records.map((record) => JSON.stringify(record)),
    };
    // A claim has changed the time in the store.
    const isUnchanged = write.definition === undefined && state === before && write.next === stored?.next;
    return { name, write: isUnchanged ? undefined : write, records, cancel: decided.cancel, next };
  }

  /** Returns the webhook jobs of missed runs. */
  #follow({ name, class: className, options }: CronDefinition, record: CronRecord): readonly NewJob[] {
    if (record.outcome !== "missed") return [];
    const { scheduledAt, count = 1, first = scheduledAt } = record;
    const queue = typeof options["queue"] === "string" ? options["queue"] : undefined;
    const data = {
      ...{ entry: name, class: className, ...(queue !== undefined && { queue }), count },
      ...{ first: new Date(first).toISOString(), last: new Date(scheduledAt).toISOString() },
    };
    const subject = { class: className, queue: queue ?? "default" };
    return this.#announcer?.followEvent({ type: "cron.missed", data }, subject) ?? [];
  }

  /** The store only has the definition, and whether the entry is paused. */
  async #decideHere(one: EntrySnapshot): Promise<EntryDecision> {
    const { definition, now, text } = one;
    const { name, schedule } = definition;
    const before = stateOf(one);
    const next = before?.paused ? this.#rest(name) : await this.#performHere(definition, now);
    const write = text === undefined
      ? undefined
      : { ...writeOf(one, { ...before, schedule, considered: now }, Infinity), jobs: [], awaited: false, records: [] };
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
    const held = heldUntil(planned.state, now);
    if (held !== undefined) this.#report.clockAhead(held, name);
    const live = this.#local.isRunning(before?.live) ? before?.live : undefined;
    const decided = decideRuns({ name, overlap, plan: planned, live, now, newJid: () => this.#jids.next(now) });
    // It is not retried, and leaves no record.
    const once = { ...definition, options: { ...definition.options, retry: false, dead: false } };
    const { jobs, records } = await buildOccurrences(this.#client, once, decided);
    for (const job of jobs) this.#local.start(job);
    this.#here.set(name, { state: decided.state, live: jobs.at(-1)?.jid ?? live });
    this.#report.records(name, records);
    return planned.next ?? Infinity;
  }
}

/** Returns the members of the event of missed runs. */
function eventOf({ name, class: className, options }: CronDefinition, record: CronRecord): string[] {
  if (record.outcome !== "missed") return [];
  const queue = typeof options["queue"] === "string" ? options["queue"] : undefined;
  const about = { entry: name, class: className, ...(queue !== undefined && { queue }), count: record.count ?? 1 };
  return [membersOf({ type: "cron.missed", ...about })];
}

/** Returns the stored state of an entry. */
function stateOf({ stored, definition, text }: EntrySnapshot): CronState | undefined {
  if (stored === undefined) return undefined;
  return readState(stored.state, text === undefined ? definition : readDefinition(stored));
}

/** Returns a write of the state, and of the definition if it is new, or if an older version has written it. */
function writeOf(
  { definition, stored, text }: EntrySnapshot,
  state: CronState,
  next: number,
): Omit<CronWrite, "jobs" | "awaited" | "records"> {
  const { name, source } = definition;
  const index = indexOf(definition);
  const isIndexed = stored?.shared === index.shared && `${stored.tags}` === `${index.tags}`;
  return {
    name,
    version: stored?.version ?? 0,
    ...((text !== undefined || !isIndexed) && { definition: text ?? definitionText(definition, source), ...index }),
    state: stateText(state, definition.schedule),
    next: next === Infinity ? undefined : next,
  };
}
