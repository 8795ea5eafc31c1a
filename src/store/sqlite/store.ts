/**
 * The verbs of the ports, each where it belongs. What a verb does stands in the port.
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
import { Importer } from "./import.ts";
import { Audit } from "./audit.ts";
import { WorkerNames } from "./worker_names.ts";
import { Classes } from "./classes.ts";
import { Commands } from "./commands.ts";
import type { Context } from "./context.ts";
import { Counts } from "./counts.ts";
import { Cron } from "./cron.ts";
import { Editor } from "./edit.ts";
import { Entries, toEntry } from "./entries.ts";
import { health } from "./health.ts";
import { Enqueuer } from "./enqueue.ts";
import { Jobs } from "./job_rows.ts";
import { Leases } from "./settle.ts";
import { Measures } from "./metrics.ts";
import { Pages } from "./pages.ts";
import { Workers } from "./workers.ts";
import { Promotion } from "./promote.ts";
import { Queues } from "./take.ts";
import { Rescue } from "./rescue.ts";
import { Results } from "./results.ts";
import { Sets } from "./sets.ts";
import { Totals } from "./totals.ts";
import { UniqueLocks } from "./unique_locks.ts";

/** Both ports, each verb where it belongs. */
export class SqliteStore implements OpenStore {
  readonly url: string;
  readonly #context: Context;
  readonly #intake: Enqueuer;
  readonly #queues: Queues;
  readonly #leases: Leases;
  readonly #promotion: Promotion;
  readonly #processes: Workers;
  readonly #rescue: Rescue;
  readonly #claims: WorkerNames;
  readonly #commands: Commands;
  readonly #counts: Counts;
  readonly #pages: Pages;
  readonly #entries: Entries;
  readonly #editor: Editor;
  readonly #cron: Cron;
  readonly #results: Results;
  readonly #adoption: Importer;
  readonly #audit: Audit;
  readonly #totals: Totals;
  readonly #classes: Classes;
  readonly #measures: Measures;
  #isClosed = false;

  /** @param url the address as given */
  constructor(url: string, context: Context) {
    this.url = url;
    this.#context = context;
    const locks = new UniqueLocks(context);
    const totals = this.#totals = new Totals(context);
    const results = this.#results = new Results(context);
    const jobs = new Jobs(context);
    const sets = new Sets(context, jobs);
    const queues = this.#queues = new Queues(context);
    const intake = this.#intake = new Enqueuer(context, { jobs, queues, sets, locks });
    const leases = this.#leases = new Leases(context, { jobs, queues, sets, locks, totals, results });
    const promotion = this.#promotion = new Promotion(context, { jobs, queues, sets });
    const processes = this.#processes = new Workers(context, queues);
    this.#rescue = new Rescue(context, { jobs, leases, processes, queues });
    this.#claims = new WorkerNames(context);
    this.#commands = new Commands(context);
    this.#counts = new Counts(context, { processes, sets, totals });
    const pages = this.#pages = new Pages(context);
    const entries = this.#entries = new Entries(context);
    const editor = this.#editor = new Editor(context, { jobs, queues, entries, pages, promotion, sets, locks });
    this.#cron = new Cron(context, intake);
    this.#adoption = new Importer(context, { jobs, queues, sets, locks, editor });
    this.#audit = new Audit(context);
    this.#classes = new Classes(context);
    this.#measures = new Measures(context);
  }

  enqueue(jobs: readonly NewJob[]): Promise<EnqueueResult[]> {
    return this.#intake.enqueue(jobs);
  }

  take(request: TakeRequest): Promise<Lease[]> {
    return this.#queues.take(request);
  }

  returnUnanswered(_owner: string): Promise<void> {
    return Promise.resolve();
  }

  settle(owner: string, outcomes: readonly Outcome[]): Promise<SettleResult> {
    return this.#leases.settle(owner, outcomes);
  }

  promote(limit: number): Promise<PromoteResult> {
    return this.#promotion.promote(limit);
  }

  beat(process: WorkerRecord, ttlMs: number): Promise<HeartbeatReply> {
    return this.#processes.beat(process, ttlMs);
  }

  held(owner: string, tokens: readonly string[]): Promise<string[]> {
    return this.#context.read(() => this.#leases.held(owner, tokens));
  }

  deregister(identity: string): Promise<void> {
    return this.#processes.deregister(identity);
  }

  rescue(request: RescueRequest): Promise<RescueResult> {
    return this.#rescue.rescue(request);
  }

  noteSuspects(owner: string, running: RunningSuspects): Promise<void> {
    return this.#processes.noteSuspects(owner, running);
  }

  noteDeath(identity: string, ended: string): Promise<void> {
    return this.#processes.noteDeath(identity, ended);
  }

  claim(name: string, owner: string, ttlMs: number): Promise<number | undefined> {
    return this.#claims.claim(name, owner, ttlMs);
  }

  holder(name: string): Promise<ClaimHolder | undefined> {
    return this.#context.read(() => this.#claims.holder(name));
  }

  release(name: string, owner: string): Promise<void> {
    return this.#claims.release(name, owner);
  }

  waitForWork(queues: readonly string[], signal: AbortSignal): Promise<void> {
    return this.#context.watch.until(() => {
      const looks = queues.map((queue) => this.#queues.hasWork(queue));
      return looks.includes(true) || (looks.includes("soon") && "soon");
    }, signal);
  }

  hasQueuedJobs(queues: readonly string[]): Promise<boolean> {
    return this.#context.read(() => this.#queues.hasQueuedJobs(queues));
  }

  waitForDue(signal: AbortSignal): Promise<void> {
    return this.#promotion.waitForDue(signal);
  }

  receive(identity: string, signal: AbortSignal): Promise<Command[]> {
    return this.#commands.receive(identity, signal);
  }

  reply(id: string, text: string): Promise<void> {
    return this.#commands.reply(id, text);
  }

  health(): Promise<Health> {
    return health(this.#context);
  }

  stats(): Promise<Stats> {
    return this.#context.read(() => this.#counts.stats());
  }

  queues(): Promise<QueueInfo[]> {
    return this.#context.read(() => this.#counts.queues());
  }

  pauses(queues: readonly string[]): Promise<QueuePause[]> {
    return this.#context.read(() => this.#queues.pauses(queues));
  }

  processes(): Promise<WorkerInfo[]> {
    return this.#context.read(() => this.#processes.list());
  }

  page(place: Place, request?: PageRequest): Promise<Page> {
    return this.#context.read(() => this.#pages.page(place, request));
  }

  find(jid: string): Promise<Entry[]> {
    return this.findAll([jid]);
  }

  findAll(jids: readonly string[]): Promise<Entry[]> {
    return this.#context.read(() => [...new Set(jids)].flatMap((jid) => this.#entries.find(jid)));
  }

  get(ref: string): Promise<Entry | undefined> {
    return this.#context.read(() => {
      const row = this.#entries.locate(ref);
      return row && toEntry(row);
    });
  }

  before(ref: string, most: number): Promise<number | undefined> {
    return this.#context.read(() => this.#entries.before(ref, most));
  }

  search(text: string, limit: number): Promise<Entry[]> {
    return this.#entries.search(text, limit);
  }

  edit(refs: readonly string[], edit: Edit, queue?: string): Promise<number> {
    return this.#editor.edit(refs, edit, queue);
  }

  editSome(place: Place, edit: Edit, limit: number): Promise<number> {
    return this.#editor.editSome(place, edit, limit);
  }

  pause(queue: string, forMs?: number): Promise<void> {
    return this.#queues.pause(queue, forMs);
  }

  resume(queue: string): Promise<void> {
    return this.#queues.resume(queue);
  }

  limit(queue: string, limit: QueueLimit): Promise<void> {
    return this.#queues.limit(queue, limit);
  }

  forgetQueue(queue: string): Promise<boolean> {
    return this.#queues.forget(queue);
  }

  send(identity: string, command: Command): Promise<boolean> {
    return this.#commands.send(identity, command);
  }

  awaitReply(id: string, signal: AbortSignal): Promise<string | undefined> {
    return this.#commands.awaitReply(id, signal);
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
    await cancelJob(this, jid, this.#context.now());
  }

  waitForCron(signal: AbortSignal): Promise<void> {
    return this.#cron.wait(signal);
  }

  measure(measurements: readonly ClassMetrics[]): Promise<void> {
    return this.#measures.add(measurements);
  }

  measured(window: MetricsWindow): Promise<ClassMetricsSeries[]> {
    return this.#measures.read(window);
  }

  declareClasses(classes: readonly DeclaredClass[]): Promise<void> {
    return this.#classes.declare(classes);
  }

  declaredClasses(names?: readonly string[]): Promise<DeclaredClass[]> {
    return this.#classes.declared(names);
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
    return this.#results.keep(record, () => ref === undefined || this.#editor.delete(ref));
  }

  adopt(batch: string, jobs: readonly ImportedJob[]): Promise<number> {
    return this.#adoption.adopt(batch, jobs);
  }

  remember(key: string): Promise<void> {
    return this.#adoption.remember(key);
  }

  remembers(key: string): Promise<boolean> {
    return this.#adoption.remembers(key);
  }

  forget(key: string): Promise<void> {
    return this.#adoption.forget(key);
  }

  departure(): Promise<Departure | undefined> {
    return this.#adoption.departure();
  }

  announce(refs: readonly string[]): Promise<Departure> {
    return this.#adoption.announce(refs);
  }

  depart(departure: Departure): Promise<number> {
    return this.#adoption.depart(departure);
  }

  history(from: number, to: number): Promise<DayCount[]> {
    return this.#context.read(() => this.#totals.history(from, to));
  }

  audit(act: AuditEvent): Promise<void> {
    return this.#audit.add(act);
  }

  acts(request?: { readonly cursor?: string; readonly limit?: number }): Promise<AuditPage> {
    return this.#audit.page(request);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#context.watch.close();
    await this.#context.commit.end();
    this.#context.close();
  }
}
