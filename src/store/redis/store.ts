/**
 * The store on Redis, in Sidekiq's format: each verb of the port, and the file that does it.
 *
 * @module
 */
import type { RunningSuspects } from "../../job/suspicion.ts";
import type { Departure, ImportedJob } from "../admin/import.ts";
import type { AuditEvent, AuditPage } from "../admin/audit.ts";
import type {
  Edit,
  Entry,
  Page,
  PageRequest,
  Place,
  QueueInfo,
  QueuePause,
  Stats,
  WorkerInfo,
} from "../admin/admin.ts";
import { cancelJob } from "../ops/cancel.ts";
import type { Health } from "../admin/health.ts";
import type { DayCount } from "../admin/history.ts";
import type { DeclaredClass } from "../port/classes.ts";
import type { CronReading, CronWrite } from "../port/cron.ts";
import type { QueueLimit } from "../port/limits.ts";
import type { ClassMetrics, ClassMetricsSeries, MetricsWindow } from "../port/metrics.ts";
import type { OpenStore } from "../open.ts";
import { ALL_QUEUES } from "../port/paused_queues.ts";
import type { NewRecord, RecordPage } from "../port/results.ts";
import type {
  ClaimHolder,
  Command,
  EnqueueResult,
  HeartbeatReply,
  Lease,
  NewJob,
  Outcome,
  PromoteResult,
  RescueRequest,
  RescueResult,
  SettleResult,
  TakeRequest,
  WorkerRecord,
} from "../port/jobs.ts";
import { adopt, announce, depart, departure, forget, remember, remembers } from "./import.ts";
import { addAct, readActs } from "./audit.ts";
import { declareClasses, declaredClasses } from "./classes.ts";
import { type Context, serverTime } from "./context.ts";
import { readHistory, readPauses, readStats } from "./counts.ts";
import { Cron } from "./cron.ts";
import { DueWatch } from "./wait/due_watch.ts";
import { edit, editSome } from "./edit.ts";
import { entryOf } from "./entries.ts";
import { health } from "./health.ts";
import { LeaseCache } from "./lease_cache.ts";
import { leasesKey, WAKE_CHANNEL } from "./keys.ts";
import { locateText } from "./locate.ts";
import { measure, measured } from "./metrics.ts";
import { readPage } from "./pages.ts";
import { Workers } from "./workers.ts";
import { promote } from "./promote.ts";
import { Enqueuer } from "./enqueue.ts";
import { QueueWatch } from "./wait/queue_watch.ts";
import { rescue } from "./rescue.ts";
import { Results } from "./results.ts";
import { SCRIPTS } from "./client/scripts.ts";
import { find, search } from "./search.ts";
import { Settlement } from "./settle.ts";
import { Taker } from "./take.ts";
import { WakeChannel } from "./wait/wake_channel.ts";

/** The store on Redis. */
export class RedisStore implements OpenStore {
  readonly url: string;
  readonly #context: Context;
  readonly #holdings = new LeaseCache();
  readonly #pusher: Enqueuer;
  readonly #taker: Taker;
  readonly #settlement: Settlement;
  readonly #processes: Workers;
  readonly #queueWatch: QueueWatch;
  readonly #dueWatch: DueWatch;
  readonly #cron: Cron;
  readonly #results: Results;
  readonly #close: () => Promise<void>;

  /**
   * @param context what all parts share
   * @param close closes all links
   */
  constructor(context: Context, close: () => Promise<void>) {
    this.url = context.link.shown;
    this.#context = context;
    this.#close = close;
    const channel = new WakeChannel(context.subscriptions);
    this.#pusher = new Enqueuer(context);
    this.#taker = new Taker(context, this.#holdings);
    this.#settlement = new Settlement(context, this.#holdings);
    this.#processes = new Workers(context);
    this.#queueWatch = new QueueWatch(context, channel);
    this.#dueWatch = new DueWatch(context.link, channel);
    this.#cron = new Cron(context, channel);
    this.#results = new Results(context);
  }

  enqueue(jobs: readonly NewJob[]): Promise<EnqueueResult[]> {
    return this.#pusher.enqueue(jobs);
  }

  take(request: TakeRequest): Promise<Lease[]> {
    return this.#taker.take(request);
  }

  returnUnanswered(owner: string): Promise<void> {
    return this.#taker.returnUnanswered(owner);
  }

  settle(owner: string, outcomes: readonly Outcome[]): Promise<SettleResult> {
    return this.#settlement.settle(owner, outcomes);
  }

  async promote(limit: number): Promise<PromoteResult> {
    const { earliest, ...result } = await promote(this.#context, limit);
    this.#dueWatch.know(earliest);
    return result;
  }

  beat(process: WorkerRecord, ttlMs: number): Promise<HeartbeatReply> {
    return this.#processes.beat(process, ttlMs);
  }

  async held(owner: string, tokens: readonly string[]): Promise<string[]> {
    const held = await this.#context.link.run(SCRIPTS.held, [leasesKey(owner)], tokens) as string[];
    const left = new Set(held);
    this.#holdings.remove(owner, tokens.filter((token) => !left.has(token)).map((token) => ({ token })));
    return held;
  }

  async deregister(identity: string): Promise<void> {
    await this.#processes.deregister(identity);
    this.#holdings.forget(identity);
  }

  rescue(request: RescueRequest): Promise<RescueResult> {
    return rescue(this.#context, request);
  }

  noteSuspects(owner: string, running: RunningSuspects): Promise<void> {
    return this.#processes.noteSuspects(owner, running);
  }

  noteDeath(identity: string, ended: string): Promise<void> {
    return this.#processes.noteDeath(identity, ended);
  }

  async claim(name: string, owner: string, ttlMs: number): Promise<number | undefined> {
    const { link, offset } = this.#context;
    const fence = await link.run(SCRIPTS.claim, [`jobs:claim:${name}`], [offset(), owner, `${Math.ceil(ttlMs)}`]);
    return fence as number | null ?? undefined;
  }

  async holder(name: string): Promise<ClaimHolder | undefined> {
    const { link, offset } = this.#context;
    const found = await link.run(SCRIPTS.holder, [`jobs:claim:${name}`], [offset()]) as [string, string, string] | null;
    if (found === null) return undefined;
    return { owner: found[0], beatUntil: Number(found[1]), freeInMs: Number(found[2]) };
  }

  async release(name: string, owner: string): Promise<void> {
    await this.#context.link.run(SCRIPTS.release, [`jobs:claim:${name}`], [owner]);
  }

  waitForWork(queues: readonly string[], signal: AbortSignal): Promise<void> {
    return this.#queueWatch.wait(queues, signal);
  }

  async hasQueuedJobs(queues: readonly string[]): Promise<boolean> {
    const { link, offset } = this.#context;
    return await link.run(SCRIPTS.hasQueuedJobs, [], [offset(), ALL_QUEUES, ...queues]) === 1;
  }

  waitForDue(signal: AbortSignal): Promise<void> {
    return this.#dueWatch.wait(signal);
  }

  receive(identity: string, signal: AbortSignal): Promise<Command[]> {
    return this.#processes.receive(identity, signal);
  }

  reply(id: string, text: string): Promise<void> {
    return this.#processes.reply(id, text);
  }

  health(): Promise<Health> {
    return health(this.#context);
  }

  stats(): Promise<Stats> {
    return readStats(this.#context);
  }

  async queues(): Promise<QueueInfo[]> {
    return [...(await this.stats()).queues];
  }

  pauses(queues: readonly string[]): Promise<QueuePause[]> {
    return readPauses(this.#context, queues);
  }

  processes(): Promise<WorkerInfo[]> {
    return this.#processes.list();
  }

  page(place: Place, request?: PageRequest): Promise<Page> {
    return readPage(this.#context.link, place, request);
  }

  async get(ref: string): Promise<Entry | undefined> {
    const found = await locateText(this.#context.link, ref);
    return found && entryOf(found);
  }

  async before(ref: string, most: number): Promise<number | undefined> {
    const found = await locateText(this.#context.link, ref);
    return found?.place.in === "queue" ? Math.min(found.position, most) : undefined;
  }

  find(jid: string): Promise<Entry[]> {
    return find(this.#context.link, [jid]);
  }

  findAll(jids: readonly string[]): Promise<Entry[]> {
    return find(this.#context.link, jids);
  }

  search(text: string, limit: number): Promise<Entry[]> {
    return search(this.#context.link, text, limit);
  }

  edit(refs: readonly string[], kind: Edit, queue?: string): Promise<number> {
    return edit(this.#context, refs, { kind, queue });
  }

  editSome(place: Place, kind: Edit, limit: number): Promise<number> {
    return editSome(this.#context, place, kind, limit);
  }

  async pause(queue: string, forMs?: number): Promise<void> {
    const { link, offset } = this.#context;
    const time = forMs === undefined ? "" : `${Math.max(1, Math.round(forMs))}`;
    await link.run(SCRIPTS.pause, [], [offset(), queue, time]);
  }

  async resume(queue: string): Promise<void> {
    const { link, offset } = this.#context;
    await link.run(SCRIPTS.pause, [], [offset(), queue, "0"]);
    // Where the user may not publish, those who wait see it a second later.
    await link.call(["PUBLISH", WAKE_CHANNEL, "resume"]).catch(() => {});
  }

  async limit(queue: string, { running, starts }: QueueLimit): Promise<void> {
    const { link } = this.#context;
    await link.run(SCRIPTS.limit, [], [
      queue,
      ...[running, starts?.count, starts?.perMs].map((most) => `${most ?? 0}`),
    ]);
    await link.call(["PUBLISH", WAKE_CHANNEL, "limit"]).catch(() => {});
  }

  async forgetQueue(queue: string): Promise<boolean> {
    const { link, offset } = this.#context;
    return await link.run(SCRIPTS.forget, [], [offset(), queue]) === 1;
  }

  send(identity: string, command: Command): Promise<boolean> {
    return this.#processes.send(identity, command);
  }

  awaitReply(id: string, signal: AbortSignal): Promise<string | undefined> {
    return this.#processes.awaitReply(id, signal);
  }

  cronRead(request: { names?: readonly string[]; carried?: readonly string[] } = {}): Promise<CronReading> {
    return this.#cron.read(request.names, request.carried ?? []);
  }

  cronWrite(writes: readonly CronWrite[]): Promise<(number | undefined)[]> {
    return this.#cron.write(writes);
  }

  cronRemove(name: string, version: number): Promise<boolean> {
    return this.#cron.remove(name, version);
  }

  cronHistory(name: string, limit: number): Promise<string[]> {
    return this.#cron.history(name, limit);
  }

  async cronCancel(jid: string): Promise<void> {
    await cancelJob(this, jid, await serverTime(this.#context));
  }

  waitForCron(signal: AbortSignal): Promise<void> {
    return this.#cron.wait(signal);
  }

  measure(measurements: readonly ClassMetrics[]): Promise<void> {
    return measure(this.#context, measurements);
  }

  measured(window: MetricsWindow): Promise<ClassMetricsSeries[]> {
    return measured(this.#context, window);
  }

  declareClasses(classes: readonly DeclaredClass[]): Promise<void> {
    return declareClasses(this.#context, classes);
  }

  declaredClasses(names?: readonly string[]): Promise<DeclaredClass[]> {
    return declaredClasses(this.#context, names);
  }

  waitForResult(jid: string, signal: AbortSignal): Promise<string | undefined> {
    return this.#results.wait(jid, signal);
  }

  result(jid: string): Promise<string | undefined> {
    return this.#results.get(jid);
  }

  results(request?: { readonly cursor?: string; readonly limit?: number }): Promise<RecordPage> {
    return this.#results.page(request);
  }

  searchResults(text: string, limit: number): Promise<string[]> {
    return this.#results.search(text, limit);
  }

  keepResult(record: NewRecord, ref?: string): Promise<boolean> {
    return this.#results.keep(record, ref);
  }

  adopt(batch: string, jobs: readonly ImportedJob[]): Promise<number> {
    return adopt(this.#context, batch, jobs);
  }

  remember(key: string): Promise<void> {
    return remember(this.#context, key);
  }

  remembers(key: string): Promise<boolean> {
    return remembers(this.#context, key);
  }

  forget(key: string): Promise<void> {
    return forget(this.#context, key);
  }

  departure(): Promise<Departure | undefined> {
    return departure(this.#context);
  }

  announce(refs: readonly string[]): Promise<Departure> {
    return announce(this.#context, refs);
  }

  depart(departure: Departure): Promise<number> {
    return depart(this.#context, departure);
  }

  history(from: number, to: number): Promise<DayCount[]> {
    return readHistory(this.#context.link, from, to);
  }

  audit(act: AuditEvent): Promise<void> {
    return addAct(this.#context, act);
  }

  acts(request?: { readonly cursor?: string; readonly limit?: number }): Promise<AuditPage> {
    return readActs(this.#context, request);
  }

  [Symbol.asyncDispose](): Promise<void> {
    this.#queueWatch.close();
    this.#dueWatch.close();
    this.#cron.close();
    this.#results.close();
    return this.#close();
  }
}
