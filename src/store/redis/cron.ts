/**
 * The cron part of the port. One script writes entries together with the jobs that follow.
 *
 * @module
 */
import { randomUUID } from "node:crypto";
import {
  CLAIM_MS,
  type CronClaim,
  type CronPage,
  type CronPageRequest,
  type CronReading,
  type CronRemoval,
  cronSteps,
  type CronStore,
  type CronSurvey,
  type CronWrite,
  type StoredCron,
} from "../port/cron.ts";
import { CursorError } from "../port/cursor.ts";
import { nameOf } from "../port/groups.ts";
import { MAX_ALL_CRON_RECORDS, MAX_CRON_RECORDS } from "../port/logs.ts";
import { type Context, keepReplyMs } from "./context.ts";
import { CRON_CHANGES, cronDoneKey } from "./keys.ts";
import { withoutBrace } from "./enqueue.ts";
import { packFollow } from "./move_request.ts";
import type { Args } from "./client/script_head.ts";
import { type Script, SCRIPTS } from "./client/scripts.ts";
import type { WakeChannel } from "./wait/wake_channel.ts";

/** Poll interval for changes that aren't announced: the writing client may lack the permission to publish. */
const POLL_INTERVAL_MS = 5_000;

/** Entries that one script plans again. */
const REPLANNED_PER_SCRIPT = 500;
const DEFAULT_LIMIT = 100;

/** Stores the cron entries. */
export class Cron implements CronStore {
  readonly #context: Context;
  readonly #channel: WakeChannel;
  /** The number of announced changes at the last survey. */
  #changesRead = 0;

  constructor(context: Context, channel: WakeChannel) {
    this.#context = context;
    this.#channel = channel;
  }

  async read(names: readonly string[]): Promise<CronReading> {
    const [now, ...rows] = await this.#run(SCRIPTS.cronRead, { names }) as [number, ...Row[]];
    return { now, entries: rows.map(toStored) };
  }

  async page(request: CronPageRequest = {}): Promise<CronPage> {
    const { prefix = "", tag = "", sort = "name", cursor = "", limit = DEFAULT_LIMIT } = request;
    const [, score = "", after = ""] = sort === "name" ? ["", "", cursor] : /^(\d+|inf) (.+)$/s.exec(cursor) ?? [];
    if (cursor !== "" && after === "") throw new CursorError(cursor);
    const args = { prefix, tag, sort, score, after, limit: limit + 1 };
    const [now, ...rows] = await this.#run(SCRIPTS.cronPage, args) as [number, ...Row[]];
    const entries = rows.slice(0, limit).map(toStored);
    const last = entries.at(-1);
    if (rows.length <= limit || last === undefined) return { now, entries };
    return { now, entries, next: sort === "name" ? last.name : `${last.next ?? "inf"} ${last.name}` };
  }

  async survey(configured: readonly string[]): Promise<CronSurvey> {
    const reply = await this.#run(SCRIPTS.cronSurvey, { configured });
    const [now, changes, latest, ...rows] = reply as [number, number, number, ...[string, string, number][]];
    this.#changesRead = changes;
    const entries = rows.map(([name, version, seenAt]) => ({ name, version: Number(version), seenAt }));
    return { now, latest, entries: entries.sort((a, b) => a.name < b.name ? -1 : 1) };
  }

  async claim(limit: number): Promise<CronClaim> {
    const reply = await this.#run(SCRIPTS.cronClaim, { limit, holdMs: CLAIM_MS });
    const [now, next, ...rows] = reply as [number, string | null, ...Row[]];
    return { now, next: next === null ? undefined : Number(next), entries: rows.map(toStored) };
  }

  async write(writes: readonly (CronWrite | CronRemoval)[]): Promise<(number | undefined)[]> {
    const versions: (number | undefined)[] = [];
    for (const some of cronSteps(writes)) versions.push(...await this.#write(some));
    return versions;
  }

  async replan(): Promise<void> {
    for (let after: string | null = ""; after !== null;) {
      after = await this.#run(SCRIPTS.cronReplan, { after, limit: REPLANNED_PER_SCRIPT }) as string | null;
    }
  }

  #run(script: Script, args: Args): Promise<unknown> {
    const { client, offset } = this.#context;
    return client.run(script, { ...args, now: offset() });
  }

  async #write(writes: readonly (CronWrite | CronRemoval)[]): Promise<(number | undefined)[]> {
    const { wire } = this.#context;
    // A resent write must not look like a conflict: the caller would write once more.
    const head = { done: cronDoneKey(randomUUID()), wire, keepMs: keepReplyMs(this.#context) };
    const bounds = { maxRecords: MAX_CRON_RECORDS, allRecords: MAX_ALL_CRON_RECORDS };
    const versions = await this.#run(SCRIPTS.cronWrite, { ...head, ...bounds, writes: writes.map(pack) }) as number[];
    return versions.map((version) => version === 0 ? undefined : version);
  }

  /** Resolves when a change was announced since the last survey, or when `stop` aborts. */
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

/** A row of a script: see `rowOf` in cron.lua. */
type Row = readonly [
  ...[name: string, version: string, seen: number, live: string, definition: string, tags: string, state: string],
  ...[shared: number, next: string],
];

function toStored([name, version, seenAt, live, definition, tags, state, shared, next]: Row): StoredCron {
  return {
    ...{ name, version: Number(version), definition, state, seenAt, shared: shared === 1 },
    live: live === "" ? undefined : live,
    tags: tags === "" ? [] : tags.split("\n"),
    next: next === "inf" ? undefined : Number(next),
  };
}

function pack(write: CronWrite | CronRemoval): Args {
  if ("remove" in write) {
    const { name, version } = write;
    const none = {
      state: "",
      next: "inf",
      awaited: false,
      shared: false,
      tags: "",
      definition: "",
      live: "",
      jobs: [],
      follow: [],
      events: [],
      records: [],
    };
    return { name, version, verb: "remove", ...none };
  }
  const {
    name,
    version,
    definition = "",
    live = "",
    state,
    next = "inf",
    awaited,
    shared = false,
    tags = [],
    records,
    follow = [],
    events = [],
  } = write;
  const verb = write.definition === undefined ? "keep" : "define";
  const jobs = write.jobs.map(({ queue, group, jid, payload }) => ({
    queue: nameOf(queue, group),
    jid,
    payload: withoutBrace(payload) ?? payload,
  }));
  return {
    name,
    version,
    state,
    next,
    awaited,
    verb,
    shared,
    tags: tags.join("\n"),
    definition,
    live,
    jobs,
    follow: packFollow(follow),
    events,
    records,
  };
}
