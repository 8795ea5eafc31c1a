/**
 * Workers that die, in one process and without waiting: a real store, real fetchers, suspects and settlers, on a clock that the
 * lab moves. Only the processors are the lab's own, because a real one cannot be killed without its process.
 *
 * @module
 */
import { parsePayload } from "../../src/job/job.ts";
import { getField } from "../../src/job/raw.ts";
import { OutageLog } from "../../src/server/outage_log.ts";
import { Counters } from "../../src/server/stats/counters.ts";
import { Fetcher } from "../../src/server/work/fetcher.ts";
import { Settler } from "../../src/server/work/settler.ts";
import { Suspects } from "../../src/server/work/suspects.ts";
import type { Store } from "../../src/store/admin/store.ts";
import { openStore } from "../../src/store/open.ts";
import { StoreError } from "../../src/store/port/errors.ts";
import { workerRecord } from "../store_contract/jobs.ts";
import { FakeClock } from "./clock.ts";
import { interceptStore } from "./intercept.ts";
import { KeptLog } from "./log.ts";

/** The lab advances its clock to the next event, by at most this. */
const MAX_TICK_MS = 1_000;
const HEARTBEAT_MS = 5_000;
const TIMEOUT_MS = 20_000;
const RESTART_MS = 1_000;
const MAX_RESCUES = 3;

/** The behaviour of the jobs of a class. */
export interface Behaviour {
  /** The run time of a job. */
  readonly runMs: number;
  /** The job kills its worker at the end of that time. */
  readonly kills?: boolean;
}

/** Workers on one store. */
export class CrashLab implements AsyncDisposable {
  readonly clock = new FakeClock();
  readonly store: Store;
  /** The starts by jid, in milliseconds since the lab began. */
  readonly starts = new Map<string, number[]>();
  /** The jids that were acknowledged. */
  readonly done: string[] = [];
  /** The jids of the dead jobs, with the number of deaths. */
  readonly dead = new Map<string, number>();
  deaths = 0;
  readonly behaviours: Readonly<Record<string, Behaviour>>;
  readonly isolated: ReadonlySet<string>;
  /** The live workers. */
  readonly workers = new Set<LabWorker>();
  readonly #restarts: { readonly at: number; readonly concurrency: number }[] = [];
  #started = 0;
  #inFlight = 0;

  private constructor(store: Store, clock: FakeClock, options: LabOptions) {
    this.store = this.#counting(store);
    this.clock = clock;
    this.behaviours = options.behaviours;
    this.isolated = new Set(options.isolated);
  }

  static async open(url: string, options: LabOptions): Promise<CrashLab> {
    const clock = new FakeClock();
    return new CrashLab(await openStore(url, { clock }), clock, options);
  }

  /** Pushes jobs of a class. Returns their jids. */
  async push(className: string, count = 1): Promise<string[]> {
    const jids = Array.from({ length: count }, () => crypto.randomUUID());
    await this.store.jobs.enqueue(jids.map((jid) => ({
      jid,
      queue: "default",
      payload: JSON.stringify({ class: className, args: [], jid, queue: "default" }),
    })));
    return jids;
  }

  /** Starts a worker. */
  async startWorker(concurrency: number): Promise<LabWorker> {
    const worker = new LabWorker(this, `host:${++this.#started}:${crypto.randomUUID().slice(-12)}`, concurrency);
    await worker.beat();
    this.workers.add(worker);
    worker.start();
    return worker;
  }

  /** Replaces a worker that has died. */
  replace(worker: LabWorker): void {
    this.deaths++;
    this.workers.delete(worker);
    this.#restarts.push({ at: Math.ceil(this.clock.monotonic()) + RESTART_MS, concurrency: worker.concurrency });
  }

  /**
   * Advances the clock until a condition holds.
   *
   * @throws {Error} if the condition doesn't hold after that time
   */
  async until(isSo: () => boolean, withinMs: number): Promise<void> {
    for (const end = this.clock.monotonic() + withinMs; !isSo();) {
      if (this.clock.monotonic() >= end) throw new Error(`Not so within ${withinMs} ms: ${this}`);
      await this.#tick();
    }
  }

  /** Advances the clock until all these jobs have ended. */
  untilEnded(jids: readonly string[], withinMs: number): Promise<void> {
    return this.until(() => jids.every((jid) => this.done.includes(jid) || this.dead.has(jid)), withinMs);
  }

  toString(): string {
    return `deaths ${this.deaths}, dead ${[...this.dead]}, done ${this.done.length}, starts ${
      JSON.stringify([...this.starts])
    }`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const worker of this.workers) worker.end();
    await this.#settled();
    await this.store[Symbol.asyncDispose]();
  }

  async #tick(): Promise<void> {
    const now = this.clock.monotonic();
    for (const restart of this.#restarts.filter(({ at }) => at <= now)) {
      this.#restarts.splice(this.#restarts.indexOf(restart), 1);
      await this.startWorker(restart.concurrency);
    }
    const isBeat = now % HEARTBEAT_MS === 0;
    for (const worker of [...this.workers]) {
      if (isBeat) await worker.beat();
      if (isBeat) await this.#rescue(worker.id);
      await worker.step();
    }
    const { nextInMs = MAX_TICK_MS } = await this.store.jobs.promote(100);
    await this.#settled();
    const next = [MAX_TICK_MS, nextInMs, HEARTBEAT_MS - now % HEARTBEAT_MS];
    next.push(...this.clock.sleeping.slice(0, 1), ...this.#restarts.map(({ at }) => at - now));
    await this.clock.advance(Math.max(1, Math.ceil(Math.min(...next))));
    await this.#settled();
  }

  async #rescue(worker: string): Promise<void> {
    for (let more = true; more;) {
      const result = await this.store.jobs.rescue({ worker, limit: 100, maxRescues: MAX_RESCUES });
      for (const { worker, token, payload, deaths } of result.doomed) {
        const { lost } = await this.store.jobs.settle(worker, [{ kind: "bury", token, payload }]);
        if (lost.length === 0) this.dead.set(String(getField(payload, "jid")), deaths);
      }
      more = result.more;
    }
  }

  /** Waits until all requests to the store have ended, and their consequences, too. */
  async #settled(): Promise<void> {
    for (let quiet = 0; quiet < 4; quiet++) {
      await this.clock.turn();
      if (this.#inFlight > 0) quiet = -1;
    }
  }

  #counting(store: Store): Store {
    return interceptStore(store, async ({ pass }) => {
      this.#inFlight++;
      try {
        return await pass();
      } finally {
        this.#inFlight--;
      }
    });
  }
}

/** Options of a lab. */
export interface LabOptions {
  readonly behaviours: Readonly<Record<string, Behaviour>>;
  /** Isolated classes. */
  readonly isolated?: readonly string[];
}

/** A worker of the lab. */
export class LabWorker {
  readonly id: string;
  readonly concurrency: number;
  readonly #lab: CrashLab;
  readonly #fetcher: Fetcher;
  readonly #settler: Settler;
  readonly #dead = new AbortController();

  constructor(lab: CrashLab, id: string, concurrency: number) {
    this.#lab = lab;
    this.id = id;
    this.concurrency = concurrency;
    const { clock } = lab;
    const store = this.#untilDeath(lab.store);
    const log = new KeptLog();
    const common = { store, worker: id, clock, log };
    this.#settler = new Settler({ ...common, counters: new Counters() });
    const suspects = new Suspects({ ...common, outage: new OutageLog(), isIsolated: (name) => lab.isolated.has(name) });
    const leaseGuard = { isSure: true, confirm: () => Promise.resolve() };
    this.#fetcher = new Fetcher({
      ...common,
      settler: this.#settler,
      leaseGuard,
      suspects,
      order: () => ["default"],
    });
  }

  start(): void {
    for (let i = 0; i < this.concurrency; i++) void this.#process();
  }

  async beat(): Promise<void> {
    await this.#lab.store.workers.heartbeat(
      workerRecord(this.id, { concurrency: this.concurrency }),
      TIMEOUT_MS,
    );
  }

  async step(): Promise<void> {
    await this.#fetcher.step();
  }

  /** Ends the worker as `kill -9` does: no call that it has begun continues. */
  die(): void {
    this.end();
    this.#lab.replace(this);
  }

  end(): void {
    this.#dead.abort();
    this.#settler.abandon();
  }

  async #process(): Promise<void> {
    const { clock, starts, done, behaviours } = this.#lab;
    const { signal } = this.#dead;
    for (;;) {
      const lease = await this.#fetcher.buffer.wait(signal);
      if (lease === undefined) return;
      const job = parsePayload(lease.payload)!;
      starts.set(job.jid, [...starts.get(job.jid) ?? [], clock.monotonic()]);
      const { runMs, kills } = behaviours[job.class]!;
      await clock.sleep(runMs, signal);
      if (signal.aborted) return;
      if (kills) return this.die();
      done.push(job.jid);
      this.#settler.add({ kind: "ack", token: lease.token });
      this.#fetcher.buffer.ended(lease);
    }
  }

  /** Rejects calls of a dead worker. */
  #untilDeath(store: Store): Store {
    return interceptStore(
      store,
      ({ pass }) => this.#dead.signal.aborted ? Promise.reject(new StoreError("unavailable", "dead")) : pass(),
    );
  }
}
