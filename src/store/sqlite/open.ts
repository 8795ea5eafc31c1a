/**
 * The embedded store: one SQLite file, for any number of processes on one machine.
 *
 * @module
 */
import { systemClock } from "../../clock.ts";
import type { Edit, Entry, Page, PageRequest, Place, ProcessInfo, QueueInfo, Stats } from "../admin.ts";
import { cancelJob } from "../admin_cancel.ts";
import type { CronReading, CronWrite } from "../cron.ts";
import type { OpenStore, StoreOptions } from "../open.ts";
import type {
  Command,
  EnqueueResult,
  Lease,
  NewJob,
  Outcome,
  ProcessRecord,
  PromoteResult,
  RescueResult,
  SettleResult,
  TakeRequest,
} from "../store.ts";
import { parseAddress } from "./address.ts";
import { Commands } from "./commands.ts";
import { Committer } from "./commit.ts";
import { type Context, statementCache } from "./context.ts";
import { Cron } from "./cron.ts";
import { openDatabase, patiently } from "./database.ts";
import { Dead } from "./dead.ts";
import { Editor } from "./editor.ts";
import { translate } from "./errors.ts";
import { Leases } from "./leases.ts";
import { Claims, Locks } from "./locks.ts";
import { Pages } from "./pages.ts";
import { Processes } from "./processes.ts";
import { Queues } from "./queues.ts";
import { Sets } from "./sets.ts";
import { Totals } from "./totals.ts";
import { Watch } from "./watch.ts";

const DAY_MS = 24 * 3600 * 1000;

/**
 * Opens the store in a file, and makes it where there is none.
 *
 * @throws {StoreError} when it cannot be opened, or is not ours
 */
export async function openSqlite(url: string, options: StoreOptions): Promise<OpenStore> {
  const { path, durability } = parseAddress(url, Deno.env.get("HOME"));
  const waitMs = options.waitMs ?? 10_000;
  const database = await openDatabase(path, durability ?? options.durability ?? "full", systemClock, waitMs);
  const watch = new Watch(database);
  const commit = new Committer(database, { path, clock: systemClock, waitMs, onCommit: () => watch.changed() });
  const context: Context = {
    database,
    sql: statementCache(database),
    commit,
    watch,
    clock: options.clock ?? systemClock,
    turn: () => systemClock.turn(),
    read: async (run) => {
      try {
        return await patiently(systemClock, waitMs, run);
      } catch (error) {
        throw translate(error, path);
      }
    },
    wire: options.sidekiqWire ?? 7,
    deadMaxJobs: options.deadMaxJobs ?? 10_000,
    deadMaxAgeMs: options.deadMaxAgeMs ?? 180 * DAY_MS,
  };
  return new SqliteStore(url, context);
}

/** Both ports, each verb where it belongs. */
class SqliteStore implements OpenStore {
  readonly url: string;
  readonly #context: Context;
  readonly #queues: Queues;
  readonly #leases: Leases;
  readonly #sets: Sets;
  readonly #processes: Processes;
  readonly #claims: Claims;
  readonly #commands: Commands;
  readonly #pages: Pages;
  readonly #editor: Editor;
  readonly #cron: Cron;
  #isClosed = false;

  constructor(url: string, context: Context) {
    this.url = url;
    this.#context = context;
    const locks = new Locks(context);
    const dead = new Dead(context);
    const totals = new Totals(context);
    this.#queues = new Queues(context, locks);
    this.#leases = new Leases(context, { locks, dead, totals });
    this.#sets = new Sets(context, { queues: this.#queues, dead });
    this.#processes = new Processes(context, { locks, dead });
    this.#claims = new Claims(context);
    this.#commands = new Commands(context);
    this.#pages = new Pages(context, { processes: this.#processes, totals });
    this.#editor = new Editor(context, { sets: this.#sets, locks, dead });
    this.#cron = new Cron(context, this.#queues);
  }

  enqueue(jobs: readonly NewJob[]): Promise<EnqueueResult[]> {
    return this.#queues.enqueue(jobs);
  }

  take(request: TakeRequest): Promise<Lease[]> {
    return this.#queues.take(request);
  }

  settle(owner: string, outcomes: readonly Outcome[]): Promise<SettleResult> {
    return this.#leases.settle(owner, outcomes);
  }

  promote(limit: number): Promise<PromoteResult> {
    return this.#sets.promote(limit);
  }

  async beat(process: ProcessRecord, ttlMs: number): Promise<Command[]> {
    await this.#processes.beat(process, ttlMs);
    return [];
  }

  deregister(identity: string): Promise<void> {
    return this.#processes.deregister(identity);
  }

  rescue(limit: number, maxRescues: number): Promise<RescueResult> {
    return this.#processes.rescue(limit, maxRescues);
  }

  claim(name: string, owner: string, ttlMs: number): Promise<number | undefined> {
    return this.#claims.claim(name, owner, ttlMs);
  }

  release(name: string, owner: string): Promise<void> {
    return this.#claims.release(name, owner);
  }

  waitForWork(queues: readonly string[], signal: AbortSignal): Promise<void> {
    return this.#context.watch.until(() => queues.some((queue) => this.#queues.hasWork(queue)), signal);
  }

  waitForDue(signal: AbortSignal): Promise<void> {
    return this.#sets.waitForDue(signal);
  }

  receive(identity: string, signal: AbortSignal): Promise<Command[]> {
    return this.#commands.receive(identity, signal);
  }

  reply(id: string, text: string): Promise<void> {
    return this.#commands.reply(id, text);
  }

  stats(): Promise<Stats> {
    return this.#context.read(() => this.#pages.stats());
  }

  queues(): Promise<QueueInfo[]> {
    return this.#context.read(() => this.#pages.queues());
  }

  processes(): Promise<ProcessInfo[]> {
    return this.#context.read(() => this.#processes.list());
  }

  page(place: Place, request?: PageRequest): Promise<Page> {
    return this.#context.read(() => this.#pages.page(place, request));
  }

  find(jid: string): Promise<Entry[]> {
    return this.#context.read(() => this.#pages.find(jid));
  }

  get(ref: string): Promise<Entry | undefined> {
    return this.#context.read(() => this.#pages.get(ref));
  }

  search(text: string, limit: number): Promise<Entry[]> {
    return this.#pages.search(text, limit);
  }

  edit(refs: readonly string[], edit: Edit): Promise<number> {
    return this.#editor.edit(refs, edit);
  }

  editSome(place: Place, edit: Edit, limit: number): Promise<number> {
    return this.#editor.editSome(place, edit, limit);
  }

  pause(queue: string): Promise<void> {
    return this.#queues.setPaused(queue, true);
  }

  resume(queue: string): Promise<void> {
    return this.#queues.setPaused(queue, false);
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

  cronCancel(jid: string): Promise<void> {
    return cancelJob(this, jid);
  }

  waitForCron(signal: AbortSignal): Promise<void> {
    return this.#cron.wait(signal);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#context.watch.close();
    await this.#context.commit.idle();
    this.#context.database.close();
  }
}
