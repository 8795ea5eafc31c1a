/**
 * Workers that die, in one process and in no time: a real store, real fetchers, suspects and settlers, on a clock that the
 * lab moves. Only the processors are the lab's own, because a real one cannot be killed without its process.
 *
 * @module
 */
import { parsePayload } from "../../src/job/job.ts";
import { getField } from "../../src/job/raw.ts";
import { Fetcher } from "../../src/server/work/fetcher.ts";
import { OutageLog } from "../../src/server/component.ts";
import { Settler } from "../../src/server/work/settler.ts";
import { Suspects } from "../../src/server/work/suspects.ts";
import { Counters } from "../../src/server/stats/counters.ts";
import { StoreError } from "../../src/store/port/errors.ts";
import { openStore } from "../../src/store/open.ts";
import { processRecord } from "../store_contract/jobs.ts";
import { FakeClock } from "./clock.ts";
import { KeptLog } from "./log.ts";
import type { Store } from "../../src/store/admin/store.ts";
import { interceptStore } from "./intercept.ts";

/** The lab moves its clock to whatever comes next, and no further than this. */
const MAX_TICK_MS = 1_000;
const HEARTBEAT_MS = 5_000;
const TIMEOUT_MS = 20_000;
const RESTART_MS = 1_000;
const MAX_RESCUES = 3;

/** What the jobs of a class do. */
export interface Behaviour {
  /** How long one runs. */
  readonly runMs: number;
  /** At the end of that it kills its worker. */
  readonly kills?: boolean;
}

/** Workers on one store. */
export class CrashLab implements AsyncDisposable {
  readonly clock = new FakeClock();
  readonly store: Store;
  /** jid → when it started, in milliseconds since the lab began. */
  readonly starts = new Map<string, number[]>();
  /** The jids that were acknowledged. */
  readonly done: string[] = [];
  /** The jids that were buried, with the number of deaths. */
  readonly dead = new Map<string, number>();
  deaths = 0;
  readonly behaviours: Readonly<Record<string, Behaviour>>;
  readonly isolated: ReadonlySet<string>;
  /** Those that live. */
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

  /** Pushes jobs of a class; returns their jids. */
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

  /** A worker has died: another is started in its place. */
  replace(worker: LabWorker): void {
    this.deaths++;
    this.workers.delete(worker);
    this.#restarts.push({ at: Math.ceil(this.clock.monotonic()) + RESTART_MS, concurrency: worker.concurrency });
  }

  /**
   * Lets time pass until it is so.
   *
   * @throws when it is not so after that time
   */
  async until(isSo: () => boolean, withinMs: number): Promise<void> {
    for (const end = this.clock.monotonic() + withinMs; !isSo();) {
      if (this.clock.monotonic() >= end) throw new Error(`Not so within ${withinMs} ms: ${this}`);
      await this.#tick();
    }
  }

  /** Lets time pass until all these jobs have ended. */
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
      if (isBeat) await this.#rescue(worker.identity);
      await worker.step();
    }
    const { nextInMs = MAX_TICK_MS } = await this.store.jobs.promote(100);
    await this.#settled();
    const next = [MAX_TICK_MS, nextInMs, HEARTBEAT_MS - now % HEARTBEAT_MS];
    next.push(...this.clock.sleeping.slice(0, 1), ...this.#restarts.map(({ at }) => at - now));
    await this.clock.advance(Math.max(1, Math.ceil(Math.min(...next))));
    await this.#settled();
  }

  async #rescue(owner: string): Promise<void> {
    for (let more = true; more;) {
      const result = await this.store.jobs.rescue({ owner, limit: 100, maxRescues: MAX_RESCUES });
      for (const { owner, token, payload, deaths } of result.doomed) {
        const { lost } = await this.store.jobs.settle(owner, [{ kind: "bury", token, payload }]);
        if (lost.length === 0) this.dead.set(String(getField(payload, "jid")), deaths);
      }
      more = result.more;
    }
  }

  /** Everything that was asked of the store is answered, and what follows from it has happened. */
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

/** What a lab is made with. */
export interface LabOptions {
  readonly behaviours: Readonly<Record<string, Behaviour>>;
  /** Classes that run in processes of their own. */
  readonly isolated?: readonly string[];
}

/** A worker of the lab. */
export class LabWorker {
  readonly identity: string;
  readonly concurrency: number;
  readonly #lab: CrashLab;
  readonly #fetcher: Fetcher;
  readonly #settler: Settler;
  readonly #dead = new AbortController();

  constructor(lab: CrashLab, identity: string, concurrency: number) {
    this.#lab = lab;
    this.identity = identity;
    this.concurrency = concurrency;
    const { clock } = lab;
    const store = this.#untilDeath(lab.store);
    const log = new KeptLog();
    const common = { store, owner: identity, clock, log };
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
      processRecord(this.identity, { concurrency: this.concurrency }),
      TIMEOUT_MS,
    );
  }

  async step(): Promise<void> {
    await this.#fetcher.step();
  }

  /** As by `kill -9`: nothing that it has begun goes on. */
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

  /** A dead worker asks nothing of the store. */
  #untilDeath(store: Store): Store {
    return interceptStore(
      store,
      ({ pass }) => this.#dead.signal.aborted ? Promise.reject(new StoreError("unavailable", "dead")) : pass(),
    );
  }
}
