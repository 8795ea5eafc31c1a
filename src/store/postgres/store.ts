/**
 * The store in a PostgreSQL database, put together from the parts of the port.
 *
 * @module
 */
import type { Store } from "../admin/store.ts";
import { LeaseBook } from "../ops/lease_book.ts";
import { dayOf, DAYS_KEPT_MS } from "../port/history.ts";
import { maxEntries } from "../port/logs.ts";
import { MAX_RECORDS } from "../port/results.ts";
import { UnsweptKeys } from "../sql/push_keys.ts";
import { batchesPart } from "../sql/batches.ts";
import { type Body, type Engine, hold, lock, query } from "../sql/body.ts";
import { classesPart } from "../sql/classes.ts";
import { configure } from "../sql/configure.ts";
import { Cron } from "../sql/cron.ts";
import * as editor from "../sql/edit.ts";
import * as entries from "../sql/entries.ts";
import type { EntryRow } from "../sql/entries.ts";
import { flowsPart } from "../sql/flows.ts";
import { readGroups } from "../sql/groups.ts";
import { remove } from "../sql/job_rows.ts";
import { keepCancelled, stillLeased } from "../sql/leases.ts";
import { logsPart } from "../sql/logs.ts";
import { hasQueuedJobs } from "../sql/open_queues.ts";
import { readMembers, readPage } from "../sql/pages.ts";
import { createPromotion } from "../sql/promote.ts";
import { rescue } from "../sql/rescue.ts";
import { resultsPart } from "../sql/results.ts";
import { sqlSeries } from "../sql/series.ts";
import { sessionsPart } from "../sql/sessions.ts";
import { stats } from "../sql/stats.ts";
import { markReturned } from "../sql/step_rows.ts";
import { stepsPart } from "../sql/steps.ts";
import { streamsPart } from "../sql/streams.ts";
import { transferPart } from "../sql/transfer.ts";
import { webhooksPart } from "../sql/webhooks.ts";
import { workerIn, workersPart } from "../sql/workers.ts";
import { array } from "./values.ts";
import { DIALECT, type Runner } from "./engine.ts";
import { eventsPart } from "./events.ts";
import { Floors } from "./floors.ts";
import { health } from "./health.ts";
import { HotVerbs, storing } from "./jobs.ts";
import { readHoldersOfLocks } from "./lock_holders.ts";
import type { Access } from "./migrations.ts";
import { promoteDue } from "./promote.ts";
import { StepWrites } from "./step_writes.ts";
import { transactionsPart } from "./transactions.ts";
import { Upkeep } from "./upkeep.ts";
import { Vacuum } from "./vacuum.ts";
import { Watch } from "./watch.ts";

/** Changes of sizes and totals are folded, and marks of commits are forgotten, after this many verbs that write. */
const VERBS_PER_FOLD = 200;

/** Options of the store. */
export interface PostgresStoreOptions extends Access, Pick<Engine, "wire" | "deadMaxJobs" | "deadMaxAgeMs"> {
  readonly log: (message: string) => void;
}

/** Returns the store. */
export function postgresStore(runner: Runner, options: PostgresStoreOptions): Store {
  const { client } = runner;
  const { log, access, ...settings } = options;
  const engine: Engine = {
    ...settings,
    unswept: new UnsweptKeys(),
    dialect: DIALECT,
    write: (body, options) => counted(runner.write(body, options)),
    read: (body) => runner.read(body),
    readMoment: (body) => runner.readMoment(body),
    losses: () => client.losses,
    turn: () => client.clock.turn(),
    now: () => runner.now(),
    removeEnded: remove,
    storeJobs: storing(runner, settings.wire),
    *returnLeases(worker) {
      yield* returnLeases(worker);
      yield* engine.grow(0, 1);
    },
    holdLeases,
    holdEntries,
    trimRecords,
    // Triggers count. A job that is added by itself has returned to its queue.
    *grow(_, by) {
      if (by > 0) yield query(`SELECT nextval('${runner.schema}.returned')`);
    },
    *addToTotal(name, by) {
      yield query("INSERT INTO count_change (name, by) VALUES (?1, ?2)", [name, by]);
      return false;
    },
  };
  const book = new LeaseBook();
  const floors = new Floors(() => client.clock.monotonic());
  const hot = new HotVerbs(runner, engine, book, floors, access === "push");
  const stepWrites = new StepWrites(runner, engine);
  const promotion = createPromotion(
    engine,
    (limit, now, skipsHeld) => promoteDue(engine, limit, now, skipsHeld ? runner.schema : undefined),
  );
  const cron = new Cron(engine);
  const watch = new Watch(runner, { due: () => promotion.knownDue(), cron: () => cron.changesRead, floors }, log);
  const workers = workersPart(engine);
  let verbs = 0;
  let logged: Promise<unknown> = Promise.resolve();
  let folding: Promise<unknown> | undefined;
  const upkeep = new Upkeep(log);
  /** Folds changes. The views add them to what they read: nothing depends on its success. */
  const fold = async () => {
    verbs = 0;
    if (access !== "all" || isClosed) return;
    const before = dayOf(client.clock.now() + runner.ahead - DAYS_KEPT_MS);
    const run = () => runner.call("fold", [before], ["text"]);
    await (folding ??= upkeep.run("the fold of sizes", run).finally(() => folding = undefined));
  };
  /** Counts a verb that changes sizes. */
  const counted = async <T>(result: Promise<T>): Promise<T> => {
    const value = await result;
    if (++verbs >= VERBS_PER_FOLD) void fold();
    return value;
  };
  const vacuum = new Vacuum(client, upkeep);
  let isClosed = false;

  return {
    url: client.address.shown,
    jobs: {
      enqueue: (jobs) => counted(hot.enqueue(jobs)),
      take: (request) => counted(hot.take(request)),
      settle: (worker, outcomes, options) => counted(hot.settle(worker, outcomes, options)),
      async stillLeased(worker, tokens) {
        const left = await engine.read(() => stillLeased(worker, tokens));
        if (tokens !== undefined) {
          const still = new Set(left);
          book.drop(worker, tokens.filter((token) => !still.has(token)));
        }
        return left;
      },
      promote: (limit) => promotion.promote(limit),
      rescue(request) {
        vacuum.tend();
        return rescue(engine, request);
      },
      hasQueuedJobs: (names, classes) => engine.read((at) => hasQueuedJobs(names, classes, at)),
      find: (selection) => entries.find(engine, selection),
      edit: (selection, edit, queue) => editor.edit(engine, selection, edit, queue),
    },
    workers: {
      ...workers,
      get losses() {
        return workers.losses;
      },
      async deregister(worker) {
        await workers.deregister(worker);
        book.dropAll(worker);
      },
    },
    cron,
    steps: {
      ...stepsPart(engine),
      remember: (lease, step) => stepWrites.add(lease, step),
    },
    streams: streamsPart(engine),
    batches: batchesPart(engine),
    flows: flowsPart(engine),
    results: resultsPart(engine),
    logs: {
      ...logsPart(engine),
      // One after the other: each waits for the lock of those before it anyway, and so they have the order of the calls.
      add(log, text) {
        const call = runner.callText("add_log", ["text", "text", "bigint"]);
        const add = () =>
          engine.write(function* () {
            yield query(call, [runner.ahead, log, text, maxEntries(log)]);
          });
        const added = logged.then(add, add);
        logged = added;
        return added.then(() => {});
      },
    },
    series: sqlSeries(engine),
    classes: classesPart(engine),
    webhooks: webhooksPart(engine),
    events: eventsPart(runner, engine),
    admin: {
      async stats(request = {}) {
        await fold();
        return await engine.read((at) => stats(DIALECT, request, at));
      },
      async health() {
        const holders = await readHoldersOfLocks(runner);
        if (!holders.some(({ blocksReads }) => blocksReads)) await fold();
        const found = await health(runner, watch.hears);
        return { ...found, findings: [...holders, ...found.findings, ...upkeep.findings] };
      },
      page: (place, request = {}) => engine.read(() => readPage(place, request)),
      members: (batch, request) => engine.read(() => readMembers(DIALECT, batch, request)),
      get: (refs, { before } = {}) => engine.read(() => entries.get(refs, before)),
      configure: (queue, settings) =>
        engine.write(function* (at) {
          yield lock(`queue:${queue}`);
          yield* foldQueue(runner, queue, at);
          return yield* configure(DIALECT, queue, settings, at);
        }),
      async groups(queue, request = {}) {
        if (access === "all") {
          await engine.write(function* (at) {
            yield lock(`queue:${queue}`);
            yield* foldQueue(runner, queue, at);
          });
        }
        return await engine.read((at) => readGroups(DIALECT, queue, request, at));
      },
    },
    sessions: sessionsPart(engine),
    transfer: transferPart(engine),
    transactions: transactionsPart(runner, engine, book),
    watch: (topic, signal) => watch.until(topic, signal),
    async [Symbol.asyncDispose]() {
      if (isClosed) return;
      isClosed = true;
      upkeep.close();
      await Promise.all([watch.close(), vacuum.close(), folding, client.close()]);
    },
  };
}

/** Folds the changes of a queue's groups. The caller has its lock. */
function* foldQueue({ schema }: Runner, queue: string, now: number): Body<void> {
  yield query(`SELECT ${schema}.fold_groups(id, ?2) FROM queue WHERE name = ?1`, [queue, now]);
}

/** See `Engine.holdLeases`. */
function* holdLeases(
  worker: string,
  leases: Parameters<Engine["holdLeases"]>[1],
): Body<Map<number, string>> {
  const rows = yield query(
    `SELECT job, take FROM lease WHERE job = ANY (?1::bigint[]) AND worker_id = ${
      workerIn("?2")
    } ORDER BY job FOR UPDATE`,
    [array(leases.flatMap((lease) => lease?.job ?? [])), worker],
  );
  return new Map(rows.map(({ job, take }) => [Number(job), String(take)]));
}

/** See `Engine.trimRecords`. Settlements don't wait for each other: each skips what another one deletes. */
function* trimRecords(now: number): Body<void> {
  const drop = (which: string) =>
    `DELETE FROM record WHERE id = ANY (ARRAY(SELECT id FROM record WHERE ${which} LIMIT 1000 FOR UPDATE SKIP LOCKED))`;
  yield query(drop("expires <= ?1 ORDER BY expires"), [now]);
  yield query(drop("id <= (SELECT max(id) FROM record) - ?1 ORDER BY id"), [MAX_RECORDS]);
}

/** See `Engine.holdEntries`. Only a transaction that has the place of a waiting job changes its payload. */
function* holdEntries(rows: readonly EntryRow[]): Body<readonly EntryRow[]> {
  const [queued, members] = [rows.filter(({ queue }) => queue !== null), rows.filter(({ queue }) => queue === null)];
  if (queued.length > 0) {
    yield hold(
      `SELECT 1 FROM queued JOIN unnest(?1::text[], ?2::bigint[]) AS one (name, job)
         ON queued.queue = (SELECT id FROM queue WHERE queue.name = one.name) AND queued.job = one.job
       ORDER BY queued.job FOR UPDATE OF queued`,
      [array(queued.map(({ queue }) => queue!)), array(queued.map(({ id }) => Number(id)))],
    );
  }
  if (members.length > 0) {
    yield hold("SELECT 1 FROM member WHERE job = ANY (?1::bigint[]) ORDER BY place, at, job FOR UPDATE", [
      array(members.map(({ id }) => Number(id))),
    ]);
  }
  if (rows.length === 0) return rows;
  const current = yield query("SELECT id, payload FROM job WHERE id = ANY (?1::bigint[])", [
    array(rows.map(({ id }) => Number(id))),
  ]);
  const payloads = new Map(current.map(({ id, payload }) => [Number(id), payload as string]));
  return rows.flatMap((row) => {
    const payload = payloads.get(Number(row.id));
    return payload === undefined ? [] : [{ ...row, payload }];
  });
}

/** See `Engine.returnLeases`. */
function* returnLeases(worker: string): Body<void> {
  const theirs = `worker_id = ${workerIn("?1")}`;
  // A job may be cancelled at this moment.
  yield hold(`SELECT 1 FROM lease WHERE ${theirs} ORDER BY job FOR UPDATE`, [worker]);
  yield* keepCancelled(theirs, worker);
  const gone = yield query(`DELETE FROM lease WHERE ${theirs} RETURNING job, queue`, [worker]);
  for (const { job } of gone) yield* markReturned(Number(job), true);
  yield query("INSERT INTO queued (queue, job) SELECT * FROM unnest(?1::bigint[], ?2::bigint[])", [
    array(gone.map(({ queue }) => Number(queue))),
    array(gone.map(({ job }) => Number(job))),
  ]);
}
