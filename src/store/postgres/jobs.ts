/**
 * The hot verbs: each is one function of the schema, and one round trip. All other cases run as bodies.
 *
 * @module
 */
import { asideClass } from "../../job/aside.ts";
import { batchIn } from "../../job/batch.ts";
import { setFields } from "../../job/raw.ts";
import type { LeaseBook } from "../ops/lease_book.ts";
import { retryLostReply } from "../ops/lost_reply.ts";
import { MAX_BATCH_BYTES } from "../port/batch_bytes.ts";
import { nameOf, splitName } from "../port/groups.ts";
import type { EnqueueResult, Lease, NewJob, TakeRequest } from "../port/jobs.ts";
import type { Outcome, SettleOptions, SettleResult } from "../port/outcomes.ts";
import { isHeld, type StoreError } from "../port/errors.ts";
import { MAX_RECORDS } from "../port/results.ts";
import { type Body, type Engine, hold, query, type Value } from "../sql/body.ts";
import { isConditional } from "../sql/enqueue.ts";
import { trimDead } from "../sql/job_ends.ts";
import { keepCancelled, parseToken, returnLease } from "../sql/leases.ts";
import { settle } from "../sql/settle.ts";
import { workerIn } from "../sql/workers.ts";
import { randomName } from "./client.ts";
import { isOutcomeUnknown } from "./errors.ts";
import type { Floors } from "./floors.ts";
import { readHoldersOfLocks } from "./lock_holders.ts";
import { array, encode } from "./values.ts";
import type { Runner } from "./engine.ts";
import { takeInTurn } from "./take_in_turn.ts";

const STORE_TYPES = ["integer", ...Array<string>(6).fill("text[]"), "double precision[]", "double precision[]"];
const TAKE_TYPES = ["text", "bigint", "bigint[]", "text[]", "bigint[]", "bigint", "integer", "bigint", "text[]"];
const SETTLE_TYPES = [
  ...["text", "bigint[]", "bigint[]", "text", "text[]", "double precision[]", "text[]", "text[]", "text[]"],
  ...["double precision[]", "text[]", "bigint"],
];
/** Kinds of outcomes as the function names them. */
const KINDS: Readonly<Record<Outcome["kind"], string>> = {
  ...{ ack: "a", discard: "d", retry: "t", snooze: "s", bury: "b", release: "", aside: "" },
};
/** A queue with groups or limits is taken from as such for this long, before the function is asked again. */
const IN_TURN_MS = 1_000;
/** The dead rows of a name's earlier pushes are read at each push. */
const PUSHES_PER_NAME = 1_000;
const FIELD = `,"enqueued_at":`;
/** A settlement waits this long for a lock before it is split. The function `settle` has the same number. */
const LOCK_TIMEOUT_MS = 200;
/** The parts of one that was split. */
const SPLIT_LOCK_TIMEOUT_MS = 50;
/** A transaction of a settlement locks this many names at most. */
const MAX_NAMES = 250;
/** A settlement is split this many times at most. Each takes a while, and other outcomes wait. */
const MAX_HELD_PARTS = 24;

/** Returns the body that stores jobs. */
export function storing(runner: Runner, wire: 7 | 8): Engine["storeJobs"] {
  const text = runner.callText("store_jobs", STORE_TYPES);
  return function* (jobs, now) {
    if (jobs.length === 0) return 0;
    const [row] = yield query(text, [now, ...columnsOf(jobs, wire)]);
    return Number(row!.store_jobs);
  };
}

/** The hot verbs. */
export class HotVerbs {
  readonly #runner: Runner;
  readonly #engine: Engine;
  readonly #book: LeaseBook;
  readonly #isPushOnly: boolean;
  /** Names of pushers whose push has ended: pushes at once have different ones. */
  readonly #pushers: string[] = [];
  #pushes = 0;
  /** Queues with groups or limits, and until when they are known as such. */
  readonly #inTurn = new Map<string, number>();
  readonly #floors: Floors;

  /** @param isPushOnly the user may only push */
  constructor(runner: Runner, engine: Engine, book: LeaseBook, floors: Floors, isPushOnly: boolean) {
    this.#floors = floors;
    this.#runner = runner;
    this.#engine = engine;
    this.#book = book;
    this.#isPushOnly = isPushOnly;
  }

  /** See `JobStore.enqueue`. */
  async enqueue(jobs: readonly NewJob[]): Promise<EnqueueResult[]> {
    if (jobs.length === 0) return [];
    if (this.#isPushOnly || jobs.some(isConditional)) {
      return await this.#engine.write(() => this.#enqueueChecked(jobs));
    }
    const number = ++this.#pushes;
    const known = this.#pushers.pop();
    const pusher = known === undefined || number % PUSHES_PER_NAME === 0 ? randomName() : known;
    try {
      const values = [pusher, number, this.#runner.ahead, ...columnsOf(jobs, this.#engine.wire)];
      const text = `SELECT ${this.#runner.schema}.enqueue(${
        ["bigint", "bigint", "bigint", ...STORE_TYPES].map((type, i) => `$${i + 1}::${type}`).join(", ")
      })`;
      await this.#runner.client.run(text, values);
    } finally {
      this.#pushers.push(pusher);
    }
    return jobs.map(() => ({ kind: "stored" }));
  }

  *#enqueueChecked(jobs: readonly NewJob[]): Body<EnqueueResult[]> {
    const { schema, ahead } = this.#runner;
    const [row] = this.#isPushOnly
      ? yield query(`SELECT ${schema}.push_built(?1) AS results`, [jsonOf(jobs)])
      : yield query(`SELECT ${schema}.enqueue_checked(?1::bigint, ?2::integer, ?3::text::json)::text AS results`, [
        ...[ahead, this.#engine.wire, jsonOf(jobs)],
      ]);
    return JSON.parse(row!.results as string);
  }

  /** See `JobStore.take`. */
  async take(request: TakeRequest): Promise<Lease[]> {
    return await this.#unlessLost(() => this.#take(request));
  }

  async #take(request: TakeRequest): Promise<Lease[]> {
    const { queues, worker } = request;
    await this.#reconcile(worker);
    const limit = Math.max(0, Math.floor(request.limit));
    if ((limit < 1 || queues.length === 0) && !this.#book.hasLostTakes(worker)) return [];
    const names = this.#book.beginTake(worker);
    const number = takeNumber(names.name);
    try {
      const leases: Lease[] = [];
      let next = 0;
      const isInTurn = (this.#inTurn.get(queues[0] ?? "") ?? 0) > this.#runner.client.clock.monotonic();
      if (!isInTurn || names.lost.length > 0) {
        next = queues.length;
        const rows = await this.#runner.call(
          "take",
          [
            ...[worker, number, array(names.lost.map(takeNumber)), array(queues)],
            ...[
              array(queues.map((queue) => this.#floors.of(queue, "take"))),
              this.#floors.returned,
              limit,
              MAX_BATCH_BYTES,
              request.classes === undefined ? null : array(request.classes.map(asideClass)),
            ],
          ],
          TAKE_TYPES,
          { isRepeatable: false },
        );
        let last: unknown;
        for (const row of rows) {
          if (row.place === 0 && row.job === null) this.#floors.forget(Number(row.of_take));
          else if (row.job === null) {
            next = Number(row.place) - 1;
            this.#inTurn.set(queues[next]!, this.#runner.client.clock.monotonic() + IN_TURN_MS);
          } else {
            leases.push(leaseIn(row));
            if (row.place !== 0 && row.name !== last) {
              this.#floors.noteFirst(last = row.name as string, Number(row.job));
            }
          }
        }
      }
      if (next < queues.length) {
        const taken = leases.reduce((sum, { payload }) => sum + payload.length, 0);
        const rest = { queues: queues.slice(next), limit: limit - leases.length, bytes: MAX_BATCH_BYTES - taken };
        const { minTurn = 1, classes } = request;
        const more = await this.#engine.write((now) =>
          takeInTurn(this.#runner, { ...rest, worker, minTurn, classes, take: number }, now)
        );
        leases.push(...more);
      }
      this.#book.endTake(worker, names, leases);
      return leases;
    } catch (error) {
      this.#book.failTake(worker, names, isOutcomeUnknown(error));
      throw error;
    }
  }

  /** See `JobStore.settle`. */
  async settle(worker: string, outcomes: readonly Outcome[], options: SettleOptions = {}): Promise<SettleResult> {
    if (outcomes.length === 0) return { lost: [], dropped: 0 };
    if (options.skipsHeld) return await this.#settleUnheld(worker, outcomes);
    const result = await this.#settle(worker, outcomes);
    return { ...result, lost: this.#book.endSettlement(worker, outcomes, result.lost) };
  }

  /** Settles all outcomes but those whose rows another transaction holds, which may be an application's and stay open for hours. */
  async #settleUnheld(worker: string, outcomes: readonly Outcome[]): Promise<SettleResult> {
    const lost: string[] = [];
    const held: Outcome[] = [];
    let dropped = 0;
    let lockTimeoutMs = LOCK_TIMEOUT_MS;
    const parts = [outcomes];
    for (let failures = 0; parts.length > 0;) {
      const part = parts.pop()!;
      try {
        const result = await this.#settle(worker, part, lockTimeoutMs);
        lost.push(...this.#book.endSettlement(worker, part, result.lost));
        dropped += result.dropped;
      } catch (error) {
        if (!isHeld(error)) {
          // The caller repeats the call. Those that are missing then were settled by this one.
          if (failures > 0) this.#book.failSettlement(outcomes);
          throw error;
        }
        lockTimeoutMs = SPLIT_LOCK_TIMEOUT_MS;
        if (part.length === 1 || ++failures > MAX_HELD_PARTS) held.push(...part);
        else parts.push(...splitHeld(part, error));
      }
    }
    if (held.length === 0) return { lost, dropped };
    const heldBy = (await readHoldersOfLocks(this.#runner, LOCK_TIMEOUT_MS).catch(() => []))[0];
    return {
      lost,
      dropped,
      held: held.map(({ token }) => token),
      ...(heldBy && { heldBy: `${heldBy.message}; ${heldBy.cure}` }),
    };
  }

  /** Settles parts of a call in turn. If one fails, the caller repeats all: those that are missing then were settled here. */
  async #settleAll(
    worker: string,
    parts: readonly (readonly Outcome[])[],
    lockTimeoutMs: number | undefined,
  ): Promise<SettleResult> {
    const lost: string[] = [];
    let dropped = 0;
    for (const [i, part] of parts.entries()) {
      const result = await this.#settle(worker, part, lockTimeoutMs).catch((error) => {
        this.#book.failSettlement(parts.slice(0, i).flat());
        throw error;
      });
      lost.push(...result.lost);
      dropped += result.dropped;
    }
    return { lost, dropped };
  }

  async #settle(worker: string, outcomes: readonly Outcome[], lockTimeoutMs?: number): Promise<SettleResult> {
    const values = lockTimeoutMs === SPLIT_LOCK_TIMEOUT_MS ? undefined : plainValues(outcomes);
    if (values === undefined) {
      const [part, ...others] = inNamedParts(outcomes);
      if (part !== undefined && others.length > 0) {
        return await this.#settleAll(worker, [part, ...others], lockTimeoutMs);
      }
      const options = lockTimeoutMs === undefined ? {} : { lockTimeoutMs };
      return await this.#engine.write((now) => settle(this.#engine, worker, outcomes, now), options);
    }
    const lost = await this.#unlessLost(async () => {
      // The function waits for a lock as long as a call that skips held ones.
      const options = { isRepeatable: false, isOnce: lockTimeoutMs !== undefined };
      const call = this.#runner.call("settle", [worker, ...values, MAX_RECORDS], SETTLE_TYPES, options);
      const rows = await call.catch((error) => {
        // Those that are missing next time were settled by this call.
        if (isOutcomeUnknown(error)) this.#book.failSettlement(outcomes);
        throw error;
      });
      return rows.map((row) => outcomes[Number(row.settle)]!.token);
    });
    const hasBuried = outcomes.some(({ kind }) => kind === "bury");
    return { lost, dropped: hasBuried ? await this.#engine.write((now) => trimDead(this.#engine, now)) : 0 };
  }

  /** Repeats a call whose reply was lost. */
  #unlessLost<T>(attempt: () => Promise<T>): Promise<T> {
    const { clock, waitMs } = this.#runner.client;
    return retryLostReply({ clock, waitMs, mayHaveRun: isOutcomeUnknown }, attempt);
  }

  /** Returns leases to their queues that the store has for this worker, but the book doesn't: it lost its latest writes. */
  async #reconcile(worker: string): Promise<void> {
    const book = this.#book;
    await book.reconcile(worker, this.#runner.client.losses, async ({ unanswered, held, last }) => {
      const known = new Set(unanswered.map((name) => String(takeNumber(name))));
      const lastTake = takeNumber(last);
      const prefix = prefixOf(lastTake);
      await this.#engine.write(() =>
        returnUnknown(this.#engine, worker, (token) => {
          const take = token.slice(token.indexOf(".") + 1);
          return prefixOf(Number(take)) !== prefix || Number(take) > lastTake || held.has(token) || known.has(take);
        })
      );
    });
  }
}

/** Splits outcomes so that each part locks a bounded number of names: all transactions share the server's memory for these. */
function inNamedParts(outcomes: readonly Outcome[]): (readonly Outcome[])[] {
  const parts: Outcome[][] = [];
  let names = MAX_NAMES;
  for (const outcome of outcomes) {
    const more = (outcome.steps ? 1 : 0) + (outcome.parent === undefined ? 0 : 1);
    if (parts.length === 0 || names + more > MAX_NAMES) {
      parts.push([]);
      names = 0;
    }
    parts.at(-1)!.push(outcome);
    names += more;
  }
  return parts;
}

/** Splits outcomes of which another transaction holds some: by what the failed statement names, else in halves. The last part goes first. */
function splitHeld(outcomes: readonly Outcome[], { cause }: StoreError): (readonly Outcome[])[] {
  const values = (cause as { readonly values?: readonly Value[] }).values ?? [];
  const names = new Set(values.filter((value) => typeof value === "string" && value !== ""));
  const isNamed = ({ jid, batch, parent, unlock, record }: Outcome) =>
    [jid, batch?.id, parent?.jid, unlock, record?.jid].some((name) => name !== undefined && names.has(name));
  const named = outcomes.filter(isNamed);
  if (named.length > 0 && named.length < outcomes.length) return [named, outcomes.filter((one) => !isNamed(one))];
  const half = outcomes.length >> 1;
  return [outcomes.slice(half), outcomes.slice(0, half)];
}

/** Returns the JSON text of jobs, as functions take it. */
export function jsonOf(jobs: readonly NewJob[]): string {
  return JSON.stringify(jobs, (_, value) => typeof value === "string" ? encode(value.toWellFormed()) : value);
}

/** Returns the number of a take: 21 bits name the process, 32 count. */
function takeNumber(name: string): number {
  return (parseInt(name.slice(0, 8), 16) % 2 ** 21) * 2 ** 32 + parseInt(name.slice(8), 16);
}

function prefixOf(take: number): number {
  return Math.floor(take / 2 ** 32);
}

function* returnUnknown(engine: Engine, worker: string, isKnown: (token: string) => boolean): Body<void> {
  const theirs = `FROM lease WHERE worker_id = ${workerIn("?1")} ORDER BY job`;
  // A job may be cancelled at this moment.
  yield hold(`SELECT 1 ${theirs} FOR UPDATE`, [worker]);
  const rows = yield query(`SELECT job, take, queue ${theirs}`, [worker]);
  for (const { job, take, queue } of rows) {
    if (isKnown(`${job}.${take}`) || (yield* keepCancelled("job = ?1", Number(job)))) continue;
    const gone = yield query("DELETE FROM lease WHERE job = ?1 AND take = ?2 RETURNING 1", [Number(job), Number(take)]);
    if (gone.length > 0) yield* returnLease(engine, Number(queue), Number(job), true);
  }
}

/** Returns the lease in a row. */
function leaseIn({ job, of_take, name, payload, cancelled }: Readonly<Record<string, unknown>>): Lease {
  return {
    token: `${job}.${of_take}`,
    ...splitName(name as string),
    payload: payload as string,
    ...(cancelled === true && { cancelled }),
  };
}

/** Returns the columns of new jobs: the function adds the time to those that go to their queues. */
function columnsOf(jobs: readonly NewJob[], wire: 7 | 8): Value[] {
  const wholes: (string | null)[] = [];
  const heads: (string | null)[] = [];
  const tails: (string | null)[] = [];
  for (const { payload, at, delayMs } of jobs) {
    const [head, tail] = delayMs !== undefined && delayMs > 0 ? [null, null] : around(payload);
    heads.push(head);
    tails.push(tail);
    wholes.push(head === null || at !== undefined ? payload : null);
  }
  return [
    wire,
    array(jobs.map(({ queue, group }) => nameOf(queue, group))),
    array(jobs.map(({ jid }) => jid)),
    ...[optional(wholes), optional(heads), optional(tails)],
    optional(jobs.map(({ batch, payload }) => batch?.id ?? batchIn(payload))),
    optional(jobs.map(({ at, delayMs }) => delayMs === undefined ? at : undefined)),
    optional(jobs.map(({ delayMs }) => delayMs)),
  ];
}

/** Returns the text before and after the enqueue time; nulls for a payload that isn't an object. */
function around(payload: string): readonly [string, string] | readonly [null, null] {
  if (payload.endsWith("}") && payload.length > 2 && !payload.includes('"enqueued_at"')) {
    return [payload.slice(0, -1) + FIELD, "}"];
  }
  const mark = `"${crypto.randomUUID()}"`;
  try {
    const [head, tail] = setFields(payload, { enqueued_at: mark }).split(mark);
    return [head!, tail!];
  } catch {
    // Not an object: it is stored unchanged, and the worker that takes it buries it.
    return [null, null];
  }
}

/** Returns an array, or null if all its values are absent. */
function optional(values: readonly (string | number | null | undefined)[]): string | null {
  return values.some((value) => value !== null && value !== undefined) ? array(values) : null;
}

/** Returns the parameters of the function `settle`; undefined if it doesn't cover one of the outcomes. */
function plainValues(outcomes: readonly Outcome[]): Value[] | undefined {
  const tokens = outcomes.map(({ token }) => parseToken(token));
  const seen = new Set<number>();
  let kinds = "";
  for (const [i, { kind, occurrence, steps, parent, batch, record, jid, follow }] of outcomes.entries()) {
    const token = tokens[i];
    if (token === undefined || !/^\d{1,16}$/.test(token.take) || seen.has(token.job) || KINDS[kind] === "") {
      return undefined;
    }
    if (occurrence !== undefined || steps || parent !== undefined || batch !== undefined) return undefined;
    if (follow !== undefined) return undefined;
    if (record !== undefined && record.jid !== jid) return undefined;
    seen.add(token.job);
    kinds += KINDS[kind];
  }
  return [
    array(tokens.map((token) => token!.job)),
    array(tokens.map((token) => Number(token!.take))),
    kinds,
    optional(outcomes.map((one) => "payload" in one ? one.payload : null)),
    optional(outcomes.map((one) => "delayMs" in one ? one.delayMs : null)),
    optional(outcomes.map(({ unlock }) => unlock)),
    optional(outcomes.map(({ jid, unlock, record }) => unlock === undefined && record === undefined ? null : jid)),
    optional(outcomes.map(({ record }) => record?.body)),
    optional(outcomes.map(({ record }) => record && Number.isFinite(record.ttlMs) ? record.ttlMs : null)),
    optional(outcomes.map(({ event }) => event)),
  ];
}
