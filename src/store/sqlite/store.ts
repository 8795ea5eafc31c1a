/**
 * The store in an SQLite file, put together from the parts of the port.
 *
 * @module
 */
import type { DatabaseSync } from "node:sqlite";
import type { Store } from "../admin/store.ts";
import type { Topic } from "../port/watch.ts";
import { batchesPart } from "../sql/batches.ts";
import { flowsPart } from "../sql/flows.ts";
import { classesPart } from "../sql/classes.ts";
import { configure } from "../sql/configure.ts";
import * as editor from "../sql/edit.ts";
import { enqueue } from "../sql/enqueue.ts";
import { Cron } from "../sql/cron.ts";
import * as entries from "../sql/entries.ts";
import { eventsPart, hasEvents } from "../sql/events.ts";
import { readGroups } from "../sql/groups.ts";
import { findLeases, stillLeased } from "../sql/leases.ts";
import { logsPart } from "../sql/logs.ts";
import { readMembers, readPage } from "../sql/pages.ts";
import { hasQueuedJobs } from "../sql/open_queues.ts";
import { createPromotion } from "../sql/promote.ts";
import { UnsweptKeys } from "../sql/push_keys.ts";
import { grow } from "../sql/queue_rows.ts";
import { rescue } from "../sql/rescue.ts";
import { bodyOf, resultsPart, trim as trimRecords } from "../sql/results.ts";
import { settle } from "../sql/settle.ts";
import { sqlSeries } from "../sql/series.ts";
import { sessionsPart } from "../sql/sessions.ts";
import { direct, type Engine, query, runNow } from "../sql/body.ts";
import { hasMail } from "../sql/mailbox.ts";
import { stats } from "../sql/stats.ts";
import { stepsPart } from "../sql/steps.ts";
import { hasChunks, streamsPart } from "../sql/streams.ts";
import { transferPart } from "../sql/transfer.ts";
import { webhooksPart } from "../sql/webhooks.ts";
import { workersPart } from "../sql/workers.ts";
import { type Context, DIALECT } from "./context.ts";
import { health } from "./database.ts";
import { hasNoted, MAX_REMOVED, removeEnded, removeNoted } from "./ended.ts";
import * as newJobs from "./new_jobs.ts";
import { promoteDue } from "./promote.ts";
import { haveJobs } from "./queues.ts";
import { returnLeases } from "./leases.ts";
import { StepWrites } from "./step_writes.ts";
import * as takes from "./take.ts";

/**
 * Returns the store.
 *
 * @param url the address as given
 */
export function sqliteStore(url: string, context: Context): Store {
  const { commit, read, watch, now, sql, turn } = context;
  const engine: Engine = {
    dialect: DIALECT,
    write: (body, options) => commit.run(() => runNow(body(now()), sql), options),
    read: (body) => read(() => runNow(body(now()), sql)),
    readMoment: (body) => read(() => inMoment(context.database, () => runNow(body(now()), sql))),
    losses: () => 0,
    turn,
    now: () => Promise.resolve(now()),
    storeJobs: newJobs.storing(context),
    returnLeases: (worker) => direct(() => returnLeases(context, worker)),
    removeEnded,
    holdLeases: findLeases,
    trimRecords,
    holdEntries: (rows) => direct(() => rows),
    grow,
    *addToTotal(name, by) {
      const [known] = yield query("UPDATE total SET count = count + ?1 WHERE name = ?2 RETURNING 1", [by, name]);
      if (known === undefined) yield query("INSERT INTO total (name, count) VALUES (?1, ?2)", [name, by]);
      return known === undefined;
    },
    unswept: new UnsweptKeys(),
    wire: context.wire,
    deadMaxJobs: context.deadMaxJobs,
    deadMaxAgeMs: context.deadMaxAgeMs,
  };
  const promotion = createPromotion(engine, (limit, now) => promoteDue(engine, limit, now));
  const cron = new Cron(engine);
  const stepWrites = new StepWrites(context);
  let isClosed = false;

  /** Returns whether the condition of a topic holds; "soon" if time alone ends it shortly. */
  const look = (topic: Topic): boolean | "soon" => {
    context.checkFile();
    if (topic === "due") return runNow(promotion.isDueEarlier(), sql);
    if (topic === "cron") return runNow(cron.hasChanged(), sql);
    if ("result" in topic) return runNow(bodyOf(topic.result, now()), sql) !== undefined;
    if ("events" in topic) return runNow(hasEvents(topic.events), sql);
    if ("stream" in topic) return runNow(hasChunks(topic.stream, topic.after), sql);
    if (!("work" in topic)) return runNow(hasMail(topic, now()), sql);
    // Mostly none of them has jobs: one statement finds that.
    if (topic.work.length > 1 && !haveJobs(context, topic.work)) return false;
    const looks = topic.work.map((name) => takes.hasWork(context, name, topic.classes));
    return looks.includes(true) || (looks.includes("soon") && "soon");
  };

  const store: Store = {
    url,
    jobs: {
      enqueue: (jobs) => engine.write((at) => enqueue(engine, jobs, at), { rows: jobs.length }),
      take: (request) => takes.take(context, request),
      settle: (worker, outcomes) =>
        engine.write((at) => settle(engine, worker, outcomes, at), { rows: outcomes.length }),
      stillLeased: (worker, tokens) => engine.read(() => stillLeased(worker, tokens)),
      promote: (limit) => promotion.promote(limit),
      async rescue(request) {
        while (await engine.read(hasNoted) && await engine.write(removeNoted, { rows: MAX_REMOVED }));
        return await rescue(engine, request);
      },
      hasQueuedJobs: (names, classes) => engine.read((at) => hasQueuedJobs(names, classes, at)),
      find: (selection) => entries.find(engine, selection),
      edit: (selection, edit, queue) => editor.edit(engine, selection, edit, queue),
    },
    workers: workersPart(engine),
    cron,
    steps: { ...stepsPart(engine), remember: (lease, step) => stepWrites.add(lease, step) },
    streams: streamsPart(engine),
    batches: batchesPart(engine),
    flows: flowsPart(engine),
    results: resultsPart(engine),
    logs: logsPart(engine),
    series: sqlSeries(engine),
    classes: classesPart(engine),
    webhooks: webhooksPart(engine),
    events: eventsPart(engine),
    admin: {
      stats: (request = {}) => engine.read((at) => stats(engine.dialect, request, at)),
      health: () => health(context),
      page: (place, request = {}) => engine.read(() => readPage(place, request)),
      members: (batch, request) => engine.read(() => readMembers(engine.dialect, batch, request)),
      get: (refs, { before } = {}) => engine.read(() => entries.get(refs, before)),
      configure: (queue, settings) => engine.write((at) => configure(engine.dialect, queue, settings, at)),
      groups: (queue, request = {}) => engine.read((at) => readGroups(engine.dialect, queue, request, at)),
    },
    sessions: sessionsPart(engine),
    transfer: transferPart(engine),
    async watch(topic, signal) {
      await watch.until(() => look(topic), signal);
      return !signal.aborted && !watch.isClosed;
    },
    async [Symbol.asyncDispose]() {
      if (isClosed) return;
      isClosed = true;
      watch.close();
      await commit.end();
      context.close();
    },
  };
  return store;
}

/** Reads of one moment. A transaction of this connection may be open: then they are of one moment anyway. */
function inMoment<Result>(database: DatabaseSync, run: () => Result): Result {
  if (database.isTransaction) return run();
  database.exec("BEGIN");
  try {
    return run();
  } finally {
    // A failure of the disk has ended the transaction.
    if (database.isTransaction) database.exec("COMMIT");
  }
}
