/**
 * The cron part of the port. One script writes entries together with the jobs that follow.
 *
 * @module
 */
import { randomUUID } from "node:crypto";
import type { CronReading, CronRemoval, CronStore, CronWrite, StoredCron } from "../port/cron.ts";
import { nameOf } from "../port/groups.ts";
import { MAX_CRON_RECORDS } from "../port/logs.ts";
import { type Context, keepReplyMs } from "./context.ts";
import { CRON_CHANGES, cronDoneKey } from "./keys.ts";
import { withoutBrace } from "./enqueue.ts";
import { packFollow } from "./move_request.ts";
import type { Args } from "./client/script_head.ts";
import { SCRIPTS } from "./client/scripts.ts";
import type { WakeChannel } from "./wait/wake_channel.ts";

/** Poll interval for changes that aren't announced: the writing client may lack the permission to publish. */
const POLL_INTERVAL_MS = 5_000;

/** Maximum number of entries that one script changes: a thousand may be due at midnight. */
const MAX_WRITES_PER_SCRIPT = 100;

/** Stores the cron entries. */
export class Cron implements CronStore {
  readonly #context: Context;
  readonly #channel: WakeChannel;
  /** The number of announced changes at the last read of all entries. */
  #changesRead = 0;

  constructor(context: Context, channel: WakeChannel) {
    this.#context = context;
    this.#channel = channel;
  }

  async read(
    { names, configured = [] }: { readonly names?: readonly string[]; readonly configured?: readonly string[] } = {},
  ): Promise<CronReading> {
    const { client, offset } = this.#context;
    const args = { now: offset(), all: names === undefined, configured, names: names ?? [] };
    const reply = await client.run(SCRIPTS.cronRead, args);
    const [now, changes, ...entries] = reply as [number, number, ...EntryReply[]];
    if (names === undefined) this.#changesRead = changes;
    return { now, entries: entries.map(toStored) };
  }

  async write(writes: readonly (CronWrite | CronRemoval)[]): Promise<(number | undefined)[]> {
    const versions: (number | undefined)[] = [];
    for (let from = 0; from < writes.length; from += MAX_WRITES_PER_SCRIPT) {
      versions.push(...await this.#write(writes.slice(from, from + MAX_WRITES_PER_SCRIPT)));
    }
    return versions;
  }

  async #write(writes: readonly (CronWrite | CronRemoval)[]): Promise<(number | undefined)[]> {
    const { client, offset, wire } = this.#context;
    // A resent write must not look like a conflict: the caller would write once more.
    const done = cronDoneKey(randomUUID());
    const head = { done, now: offset(), wire, maxRecords: MAX_CRON_RECORDS, keepMs: keepReplyMs(this.#context) };
    const versions = await client.run(SCRIPTS.cronWrite, { ...head, writes: writes.map(pack) }) as number[];
    return versions.map((version) => version === 0 ? undefined : version);
  }

  /** Resolves when a change was announced since the last read of all entries, or when `stop` aborts. */
  async wait(stop: AbortSignal): Promise<void> {
    while (!stop.aborted) {
      // Listen first, then read: a message in between must not be missed.
      const changed = new AbortController();
      const woken = this.#channel.wait("cron", AbortSignal.any([stop, changed.signal]), POLL_INTERVAL_MS);
      if (await this.#hasChanged()) changed.abort();
      await woken;
      if (changed.signal.aborted) return;
    }
  }

  async #hasChanged(): Promise<boolean> {
    try {
      return Number(await this.#context.client.call(["GET", CRON_CHANGES]) ?? 0) !== this.#changesRead;
    } catch {
      return false; // The next read fails, too.
    }
  }
}

type EntryReply = [name: string, version: string, definition: string, state: string, live: string | null, seen: string];

function toStored([name, version, definition, state, live, seen]: EntryReply): StoredCron {
  return { name, version: Number(version), definition, state, live: live ?? undefined, seenAt: Number(seen) };
}

function pack(write: CronWrite | CronRemoval): Args {
  if ("remove" in write) {
    const { name, version } = write;
    return {
      name,
      version,
      state: "",
      awaited: false,
      verb: "remove",
      definition: "",
      jobs: [],
      follow: [],
      events: [],
      records: [],
    };
  }
  const { name, version, definition, state, awaited, records, follow = [], events = [] } = write;
  const verb = definition === undefined ? "keep" : "define";
  const jobs = write.jobs.map(({ queue, group, jid, payload }) => ({
    queue: nameOf(queue, group),
    jid,
    payload: withoutBrace(payload) ?? payload,
  }));
  return { name, version, state, awaited, verb, definition, jobs, follow: packFollow(follow), events, records };
}
