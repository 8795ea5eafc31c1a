/**
 * A laboratory for the scheduler: workers that share a real file with a clock that the test moves.
 *
 * @module
 */
import { logTexts } from "../store_contract/jobs.ts";
import { assertEquals } from "@std/assert";
import { Client } from "../../src/client/client.ts";
import { checkEntries } from "../../src/cron/entry_check.ts";
import type { Clock } from "../../src/clock.ts";
import type { CronEntryInput } from "../../src/cron/entry.ts";
import type { CronRecord } from "../../src/cron/occurrence.ts";
import type { Log } from "../../src/log/log.ts";
import type { PushMiddleware } from "../../src/client/middleware.ts";
import { CronDecider } from "../../src/server/schedule/cron_decider.ts";
import { CronReporter } from "../../src/server/schedule/cron_reporter.ts";
import { Counters } from "../../src/server/stats/counters.ts";
import { Scheduler } from "../../src/server/schedule/scheduler.ts";
import type { NewJob } from "../../src/store/port/jobs.ts";
import { FakeClock } from "./clock.ts";
import { sqliteFolder } from "./stores.ts";
import type { Store } from "../../src/store/admin/store.ts";

export const SECOND = 1_000;
export const MINUTE = 60 * SECOND;
export const HOUR = 60 * MINUTE;
export const NOON = Date.UTC(2026, 5, 15, 12);

/** The scheduler of one worker. */
export interface Process {
  readonly scheduler: Scheduler;
  /** The messages that it logged. */
  readonly said: string[];
  /** The jobs that it performs itself. */
  readonly local: NewJob[];
}

/** The file, its clock, and the workers that share them. */
export class Lab implements AsyncDisposable {
  readonly clock = new FakeClock(NOON);
  readonly #folder = sqliteFolder();

  /** A separate connection. */
  async open(): Promise<Store> {
    return await (await this.#folder).open({ clock: this.clock });
  }

  /** Returns a worker with this crontab. */
  process(store: Store, crontab: CronEntryInput[], middleware: PushMiddleware[] = []): Process {
    const process = schedulerOf(store, this.clock, middleware);
    carry(process.scheduler, crontab);
    return process;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await (await this.#folder)[Symbol.asyncDispose]();
  }
}

/** Returns a worker's scheduler on any store, without a crontab. */
export function schedulerOf(store: Store, clock: Clock, middleware: PushMiddleware[] = []): Process {
  const said: string[] = [];
  const local: NewJob[] = [];
  const log = recorder(said);
  const report = new CronReporter(log, new Counters());
  const client = new Client({ store, clock, middleware });
  const isRunning = (jid: string | undefined) => local.some((job) => job.jid === jid);
  const decider = new CronDecider({ client, report, local: { isRunning, start: (job) => void local.push(job) } });
  return { scheduler: new Scheduler({ store, clock, log, decider, report }), said, local };
}

function recorder(said: string[]): Log {
  const log = (message: string) => void said.push(message);
  return { debug: log, info: log, warn: log, error: log, enabled: () => true, with: () => recorder(said) };
}

/** Replaces the crontab of a worker. */
export function carry(scheduler: Scheduler, crontab: CronEntryInput[]): void {
  const { active, inactive, problems } = checkEntries(crontab, { environment: "test" });
  assertEquals(problems, []);
  scheduler.setEntries(active, inactive.map(({ entry }) => entry.name));
}

/** An entry. */
export function minutely(more: Partial<CronEntryInput> = {}): CronEntryInput {
  return { name: "a", every: "1m", class: "Act", ...more };
}

/** Returns the scheduled times of all queued jobs, in minutes from noon. */
export async function queued(store: Store): Promise<number[]> {
  const { entries } = await store.admin.page({ in: "queue", queue: "default" }, { limit: 10_000 });
  return entries.map(({ payload }) => (Date.parse(JSON.parse(payload).occurrence.scheduledAt) - NOON) / MINUTE);
}

/** Returns the records of an entry's runs, latest first. */
export async function history(store: Store, name = "a"): Promise<CronRecord[]> {
  return (await logTexts(store, `cron:${name}`, 100)).map((text) => JSON.parse(text));
}

/** Returns the outcomes of an entry's runs, latest first. */
export async function outcomes(store: Store): Promise<string[]> {
  return (await history(store)).map(({ outcome }) => outcome);
}

/** Takes and finishes the oldest job. */
export async function finish(store: Store): Promise<void> {
  const [lease] = await store.jobs.take({ queues: ["default"], limit: 1, worker: "test" });
  const { jid, occurrence } = JSON.parse(lease!.payload);
  await store.jobs.settle("test", [{ kind: "ack", token: lease!.token, jid, occurrence: occurrence.name }]);
}
