/**
 * The store in an SQLite file: the parts of the port.
 *
 * @module
 */
import type { Store } from "../admin/store.ts";
import { cancelJob } from "../ops/cancel.ts";
import { auditPart } from "./audit.ts";
import { BatchCounters } from "./batch_rows.ts";
import { Batches } from "./batches.ts";
import { classesPart } from "./classes.ts";
import { Commands } from "./commands.ts";
import type { Context } from "./context.ts";
import { Counts } from "./counts.ts";
import { Cron } from "./cron.ts";
import { Editor } from "./edit.ts";
import { Enqueuer } from "./enqueue.ts";
import { Entries, toEntry } from "./entries.ts";
import { health } from "./health.ts";
import { Jobs } from "./job_rows.ts";
import { Measures } from "./metrics.ts";
import { Migration } from "./migration.ts";
import { Pages } from "./pages.ts";
import { Promotion } from "./promote.ts";
import { queueSamplesPart } from "./queue_samples.ts";
import { Rescue } from "./rescue.ts";
import { Results } from "./results.ts";
import { Sets } from "./sets.ts";
import { Steps } from "./steps.ts";
import { Leases } from "./settle.ts";
import { Queues } from "./take.ts";
import { Totals } from "./totals.ts";
import { UniqueLocks } from "./unique_locks.ts";
import { claimName, nameHolder, releaseName } from "./worker_names.ts";
import { Workers } from "./workers.ts";

/**
 * The store, in parts.
 *
 * @param url the address as given
 */
export function sqliteStore(url: string, context: Context): Store {
  const { commit, read, watch, now } = context;
  const locks = new UniqueLocks(context);
  const totals = new Totals(context);
  const results = new Results(context);
  const jobRows = new Jobs(context);
  const batches = new BatchCounters(context, (jobs, now) => enqueuer.store(jobs, now));
  const sets = new Sets(context, jobRows, batches);
  const queues = new Queues(context);
  const enqueuer = new Enqueuer(context, { jobs: jobRows, queues, sets, locks, batches });
  const leases = new Leases(context, { jobs: jobRows, queues, sets, locks, totals, results, batches });
  const promotion = new Promotion(context, { jobs: jobRows, queues, sets });
  const workers = new Workers(context, queues);
  const rescue = new Rescue(context, { jobs: jobRows, leases, processes: workers, queues });
  const commands = new Commands(context);
  const counts = new Counts(context, { processes: workers, sets, totals });
  const pages = new Pages(context);
  const entries = new Entries(context);
  const editor = new Editor(context, { jobs: jobRows, queues, entries, pages, promotion, sets, locks, batches });
  let isClosed = false;

  const store: Store = {
    url,
    jobs: {
      enqueue: (jobs) => enqueuer.enqueue(jobs),
      take: (request) => queues.take(request),
      // No reply can be lost here.
      returnUnanswered: () => Promise.resolve(),
      settle: (owner, outcomes) => leases.settle(owner, outcomes),
      stillLeased: (owner, tokens) => read(() => leases.stillLeased(owner, tokens)),
      promote: (limit) => promotion.promote(limit),
      rescue: (request) => rescue.rescue(request),
      cancel: async (jid) => void await cancelJob(store, jid, now()),
      hasQueuedJobs: (names) => read(() => queues.hasQueuedJobs(names)),
      waitForWork: (names, signal) =>
        watch.until(() => {
          const looks = names.map((name) => queues.hasWork(name));
          return looks.includes(true) || (looks.includes("soon") && "soon");
        }, signal),
      waitForDue: (signal) => promotion.waitForDue(signal),
    },
    workers: {
      heartbeat: (worker, ttlMs) => workers.heartbeat(worker, ttlMs),
      deregister: (identity) => workers.deregister(identity),
      list: () => read(() => workers.list()),
      noteSuspects: (owner, running) => workers.noteSuspects(owner, running),
      noteDeath: (identity, ended) => workers.noteDeath(identity, ended),
      claimName: (name, owner, ttlMs) => commit.run(() => claimName(context, name, owner, ttlMs)),
      nameHolder: (name) => read(() => nameHolder(context, name)),
      releaseName: (name, owner) => commit.run(() => releaseName(context, name, owner)),
      send: (identity, command) => commands.send(identity, command),
      receive: (identity, signal) => commands.receive(identity, signal),
      reply: (id, text) => commands.reply(id, text),
      awaitReply: (id, signal) => commands.awaitReply(id, signal),
    },
    cron: new Cron(context, enqueuer),
    steps: new Steps(context, { jobs: jobRows, intake: enqueuer }),
    batches: new Batches(context, { jobs: jobRows, counters: batches }),
    results: {
      wait: (jid, signal) => results.wait(jid, signal),
      get: (jid) => results.get(jid),
      page: (request) => results.page(request),
      search: (text, limit) => results.search(text, limit),
      keep: (record, ref) => results.keep(record, () => ref === undefined || editor.delete(ref, "cancelled")),
    },
    metrics: new Measures(context),
    queueSamples: queueSamplesPart(context),
    classes: classesPart(context),
    admin: {
      stats: () => read(() => counts.stats()),
      pausedQueues: (names) => read(() => queues.pauses(names)),
      history: (from, to) => read(() => totals.history(from, to)),
      health: () => health(context),
      page: (place, request) => read(() => pages.page(place, request)),
      get: (ref) =>
        read(() => {
          const row = entries.locate(ref);
          return row && toEntry(row);
        }),
      position: (ref, most) => read(() => entries.position(ref, most)),
      find: (jids) => read(() => [...new Set(jids)].flatMap((jid) => entries.find(jid))),
      search: (text, limit) => entries.search(text, limit),
      edit: (refs, edit, queue) => editor.edit(refs, edit, queue),
      editSome: (place, edit, limit) => editor.editSome(place, edit, limit),
      pause: (queue, forMs) => queues.pause(queue, forMs),
      limit: (queue, limit) => queues.limit(queue, limit),
      limitGroup: (queue, group, limit) => queues.limitGroup(queue, group, limit),
      groups: (queue, request) => queues.groups(queue, request),
      forgetQueue: (queue) => queues.forget(queue),
    },
    audit: auditPart(context),
    migration: new Migration(context, { jobs: jobRows, queues, sets, locks, editor }),
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
