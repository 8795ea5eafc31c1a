/**
 * Jobs → queues and `schedule`.
 *
 *  1. Calls of the same turn share a script, as do those made while a batch is in flight.
 *  2. One batch is in flight at a time. The script remembers its number and its refused jobs: a batch sent again because its
 *     reply was lost isn't stored twice, and gets the same reply.
 *  3. A job that Redis can't store (a key of the wrong type) doesn't fail the calls that share its script.
 *
 * @module
 */
import { randomUUID } from "node:crypto";
import { around, setFields, wireTime } from "../../job/raw.ts";
import { nameOf } from "../port/groups.ts";
import { StoreError } from "../port/errors.ts";
import type { BatchRefusal } from "../port/batches.ts";
import type { EnqueueResult, NewJob } from "../port/jobs.ts";
import { type Context, keepReplyMs } from "./context.ts";
import { pusherKey } from "./keys.ts";
import type { Args } from "./client/script_head.ts";
import { SCRIPTS } from "./client/scripts.ts";

/** Maximum numbers of jobs and characters of calls that share a script. A larger call goes alone. */
const MAX_BATCH = 1_000;
const MAX_BATCH_CHARS = 1 << 20;

/** The result of a job whose search for the job to replace would make the script too long. A further script gets it. */
const UNDECIDED = "?";

/** A call of `enqueue` that waits. */
interface Push {
  readonly jobs: readonly NewJob[];
  readonly since: number;
  readonly resolve: (results: EnqueueResult[]) => void;
  readonly reject: (error: unknown) => void;
}

/** Stores jobs. */
export class Enqueuer {
  readonly #context: Context;
  readonly #key = pusherKey(randomUUID());
  #batches = 0;
  #waiting: Push[] = [];
  #running = false;
  /** Milliseconds to add to this machine's clock for the server's time: 0 until a reply says that a push had a wrong time. */
  #skewMs = 0;

  constructor(context: Context) {
    this.#context = context;
  }

  /** See `JobStore.enqueue`. */
  enqueue(jobs: readonly NewJob[]): Promise<EnqueueResult[]> {
    if (jobs.length === 0) return Promise.resolve([]);
    return new Promise((resolve, reject) => {
      this.#waiting.push({ jobs, since: this.#context.client.clock.monotonic(), resolve, reject });
      if (!this.#running) void this.#run();
    });
  }

  async #run(): Promise<void> {
    this.#running = true;
    await this.#context.client.clock.turn();
    while (this.#waiting.length > 0) await this.#push(this.#nextBatch());
    this.#running = false;
  }

  #nextBatch(): Push[] {
    let jobs = 0;
    let chars = 0;
    let calls = 0;
    for (const push of this.#waiting) {
      jobs += push.jobs.length;
      for (const job of push.jobs) chars += job.payload.length;
      if (calls > 0 && (jobs > MAX_BATCH || chars > MAX_BATCH_CHARS)) break;
      calls++;
    }
    return this.#waiting.splice(0, calls);
  }

  async #push(batch: readonly Push[]): Promise<void> {
    try {
      const results = await this.#store(batch.flatMap((push) => push.jobs));
      let from = 0;
      for (const { jobs, resolve } of batch) resolve(results.slice(from, from += jobs.length));
    } catch (error) {
      if (batch.length > 1 && error instanceof StoreError && !error.transient) {
        for (const push of batch) await this.#push([push]);
        return;
      }
      for (const push of batch) push.reject(error);
      this.#rejectOverdue(error);
    }
  }

  /** Fails the calls that have already waited for the full connection timeout. */
  #rejectOverdue(error: unknown): void {
    const before = this.#context.client.clock.monotonic() - this.#context.waitMs;
    const overdue = this.#waiting.filter((push) => push.since < before);
    this.#waiting = this.#waiting.filter((push) => push.since >= before);
    for (const push of overdue) push.reject(error);
  }

  async #store(jobs: readonly NewJob[]): Promise<EnqueueResult[]> {
    const { client, wire } = this.#context;
    const offset = this.#context.offset();
    const now = Math.round(this.#context.client.clock.now() + Number(offset) + this.#skewMs);
    const { args, order } = pack(jobs, `,"enqueued_at":${wireTime(now, wire)}}`);
    const reply = await client.run(SCRIPTS.enqueue, {
      ...{ pusher: this.#key, now: offset, wire, number: ++this.#batches, keepMs: keepReplyMs(this.#context) },
      ...{ pushedAt: now, ...args },
    }) as (number | string)[];
    const results: EnqueueResult[] = Array.from(jobs, () => ({ kind: "stored" }));
    const undecided: number[] = [];
    for (let i = 0; i < reply.length; i += 2) {
      const place = reply[i] as number;
      if (place === 0) {
        this.#skewMs += Number(reply[i + 1]) - now;
        continue;
      }
      const index = order[Math.abs(place) - 1]!;
      if (reply[i + 1] === UNDECIDED) undecided.push(index);
      else results[index] = resultIn(reply[i + 1] as string, place < 0);
    }
    if (undecided.length === 0) return results;
    const rest = await this.#store(undecided.map((index) => jobs[index]!));
    for (const [i, index] of undecided.entries()) results[index] = rest[i]!;
    return results;
  }
}

/** Reads one result of the script. No jid begins with a sign or a space. */
function resultIn(text: string, isFirst: boolean): EnqueueResult {
  if (isFirst) return { kind: "existing", first: text };
  const rest = text.slice(1);
  switch (text[0]) {
    case " ":
      return { kind: "refused", batch: rest as BatchRefusal };
    case "#":
      return { kind: "existing", first: rest, differs: true };
    case "=":
      return { kind: "replaced", jid: rest };
    case "!":
      return { kind: "throttled", by: rest.slice(rest.indexOf(" ") + 1), freeInMs: parseInt(rest) };
    default:
      return { kind: "duplicate", holder: text };
  }
}

/**
 * Returns the rows and lists of the script, and the index in `jobs` of each place in them.
 *
 * @param ending follows payloads for queues, in place of their closing brace
 */
function pack(jobs: readonly NewJob[], ending: string): { readonly args: Args; readonly order: readonly number[] } {
  const plain = new Map<string, { kind: string; queue: string; payloads: string[]; readonly members: number[] }>();
  const lists = { debounced: [] as Args[], replacing: [] as Args[], later: [] as Args[] };
  const members: Record<keyof typeof lists, number[]> = { debounced: [], replacing: [], later: [] };
  for (const [i, job] of jobs.entries()) {
    const { at, delayMs, payload, debounce, unique } = job;
    const queue = nameOf(job.queue, job.group);
    const open = withoutBrace(payload);
    const isPlain = at === undefined && delayMs === undefined && debounce === undefined && !unique?.replace;
    if (isPlain) {
      const kind = open === undefined ? "raw" : "now";
      const name = `${kind}:${queue}`;
      let group = plain.get(name);
      if (group === undefined) plain.set(name, group = { kind, queue, payloads: [], members: [] });
      group.payloads.push(open === undefined ? payload : open + ending);
      group.members.push(i);
      continue;
    }
    const text = open === undefined ? payload : open + "}";
    const list = unique?.replace ? "replacing" : debounce ? "debounced" : "later";
    members[list].push(i);
    if (list === "debounced") lists.debounced.push(aroundJid(text));
    else if (list === "later") lists.later.push({ ...timeOf(job), queue, payload: text });
    else {
      const preceding = plain.get(`now:${queue}`)?.members.length ?? 0;
      lists.replacing.push({ ...timeOf(job), queue, preceding, ...aroundJid(text) });
    }
  }
  const groups = [...plain.values()];
  const order = [
    ...[...members.debounced, ...members.replacing],
    ...[...groups.flatMap(({ members }) => members), ...members.later],
  ];
  const rows: Row[] = [];
  const places = new Map(order.map((i, place) => [i, place + 1]));
  for (const [i, job] of jobs.entries()) addRequests(rows, places.get(i)!, job);
  const shown = groups.map(({ kind, queue, payloads }) => ({ kind, queue, payloads }));
  return { args: { rows: rows.length === 0 ? "" : JSON.stringify(rows), ...lists, plain: shown }, order };
}

/** Returns when a job runs, as the script reads it. */
function timeOf({ at, delayMs }: NewJob): { readonly when: string; readonly ms: number } {
  if (delayMs !== undefined) return { when: "in", ms: Math.round(delayMs) };
  return at === undefined ? { when: "now", ms: 0 } : { when: "at", ms: Math.round(at) };
}

/** A request of a push: the place of its job, the kind, and the details. */
type Row = readonly (string | number)[];

function addRequests(rows: Row[], place: number, { jid, unique, once, batch, throttle, debounce }: NewJob): void {
  if (unique) rows.push([place, "lock", unique.key, jid, Math.ceil(unique.ttlMs)]);
  if (once) rows.push([place, "once", once.key, jid, Math.ceil(once.ttlMs), once.fingerprint ?? ""]);
  if (batch) rows.push([place, "member", batch.id, batch.by?.worker ?? "", batch.by?.token ?? ""]);
  if (throttle) rows.push([place, "throttle", throttle.key, jid, throttle.count, Math.ceil(throttle.perMs)]);
  if (debounce) {
    const { key, waitMs, maxMs = 0 } = debounce;
    rows.push([place, "debounce", key, jid, Math.ceil(waitMs), Math.ceil(maxMs)]);
  }
}

/** Returns the payload up to its jid, and after it. */
function aroundJid(payload: string): { readonly before: string; readonly after: string } {
  const [before, after] = around(payload, "jid") ?? around(setFields(payload, { jid: '""' }), "jid")!;
  return { before: `${before}"`, after: `"${after}` };
}

/**
 * Returns the payload without its closing brace, before which the time is added. Returns undefined for a payload that
 * isn't an object: it is stored unchanged, and the worker that takes it buries it.
 */
export function withoutBrace(payload: string): string | undefined {
  // Payloads of our clients end in their brace and don't have the field: they need no scan.
  if (payload.endsWith("}") && payload.length > 2 && !payload.includes('"enqueued_at"')) return payload.slice(0, -1);
  try {
    const text = setFields(payload, { enqueued_at: undefined }).trimEnd().slice(0, -1);
    return text.trimEnd() === "{" ? undefined : text;
  } catch {
    return undefined;
  }
}
