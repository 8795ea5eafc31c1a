/**
 * The crontab's entries, what is remembered of them, and the jobs that follow, each write in one script.
 *
 * @module
 */
import { randomUUID } from "node:crypto";
import { type CronReading, type CronStore, type CronWrite, MAX_CRON_RECORDS, type StoredCron } from "../port/cron.ts";
import { nameOf } from "../port/groups.ts";
import { type Context, keepReplyMs } from "./context.ts";
import { CRON_TOLD, cronDoneKey, cronHistoryKey } from "./keys.ts";
import { openEnded } from "./enqueue.ts";
import { SCRIPTS } from "./client/scripts.ts";
import type { WakeChannel } from "./wait/wake_channel.ts";

/** Where nothing can be told (this user may not publish), it is looked for so often. */
const POLL_INTERVAL_MS = 5_000;

/** Entries that one step of Redis changes: at midnight a thousand may be due. */
const WRITES_AT_ONCE = 100;

/** Keeps the crontab. */
export class Cron implements CronStore {
  readonly #context: Context;
  readonly #channel: WakeChannel;
  readonly #end = new AbortController();
  /** How much had been told at the last reading of all. */
  #heard = 0;

  constructor(context: Context, channel: WakeChannel) {
    this.#context = context;
    this.#channel = channel;
  }

  async read(
    { names, carried = [] }: { readonly names?: readonly string[]; readonly carried?: readonly string[] } = {},
  ): Promise<CronReading> {
    const { client, offset } = this.#context;
    const which = names === undefined ? ["all"] : ["some", ...names];
    const reply = await client.run(SCRIPTS.cronRead, [], [offset(), `${carried.length}`, ...carried, ...which]);
    const [now, told, ...entries] = reply as [number, number, ...EntryReply[]];
    if (names === undefined) this.#heard = told;
    return { now, entries: entries.map(toStored) };
  }

  async write(writes: readonly CronWrite[]): Promise<(number | undefined)[]> {
    const versions: (number | undefined)[] = [];
    for (let from = 0; from < writes.length; from += WRITES_AT_ONCE) {
      versions.push(...await this.#write(writes.slice(from, from + WRITES_AT_ONCE)));
    }
    return versions;
  }

  async #write(writes: readonly CronWrite[]): Promise<(number | undefined)[]> {
    const { client, offset, wire } = this.#context;
    const head = [offset(), `${wire}`, `${MAX_CRON_RECORDS}`, keepReplyMs(this.#context)];
    // Resent because its answer was lost, it must not seem that another was faster: the caller would write once more.
    const key = cronDoneKey(randomUUID());
    const versions = await client.run(SCRIPTS.cronWrite, [key], [...head, ...writes.flatMap(pack)]) as number[];
    return versions.map((version) => version === 0 ? undefined : version);
  }

  async remove(name: string, version: number): Promise<boolean> {
    const args = [name, `${version}`, keepReplyMs(this.#context)];
    return await this.#context.client.run(SCRIPTS.cronRemove, [cronDoneKey(randomUUID())], args) === 1;
  }

  async history(name: string, limit: number): Promise<string[]> {
    if (limit < 1) return [];
    return await this.#context.client.call(["LRANGE", cronHistoryKey(name), "0", `${limit - 1}`]) as string[];
  }

  async wait(signal: AbortSignal): Promise<void> {
    const over = AbortSignal.any([signal, this.#end.signal]);
    while (!over.aborted) {
      // Listen first, then look: what is told in between counts.
      const enough = new AbortController();
      const told = this.#channel.wait("cron", AbortSignal.any([over, enough.signal]), POLL_INTERVAL_MS);
      if (await this.#isNews()) enough.abort();
      await told;
      if (enough.signal.aborted) return;
    }
  }

  /** Gives up everything. Waits resolve. */
  close(): void {
    this.#end.abort();
  }

  async #isNews(): Promise<boolean> {
    try {
      return Number(await this.#context.client.call(["GET", CRON_TOLD]) ?? 0) !== this.#heard;
    } catch {
      return false; // Redis is away: whoever reads finds out.
    }
  }
}

type EntryReply = [name: string, version: string, definition: string, state: string, live: string | null, seen: string];

function toStored([name, version, definition, state, live, seen]: EntryReply): StoredCron {
  return { name, version: Number(version), definition, state, live: live ?? undefined, seenAt: Number(seen) };
}

function pack({ name, version, definition, state, jobs, awaited, records }: CronWrite): string[] {
  return [
    name,
    `${version}`,
    state,
    awaited ? "1" : "",
    definition === undefined ? "keep" : "define",
    definition ?? "",
    `${jobs.length}`,
    ...jobs.flatMap(({ queue, group, jid, payload }) => [nameOf(queue, group), jid, openEnded(payload) ?? payload]),
    `${records.length}`,
    ...records,
  ];
}
