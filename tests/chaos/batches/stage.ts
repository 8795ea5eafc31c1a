/**
 * The workers and the store of the random program, and their disturbances.
 *
 * @module
 */
import { systemClock } from "../../../src/clock.ts";
import type { Store } from "../../../src/store/admin/store.ts";
import { openStore } from "../../../src/store/open.ts";
import { insist } from "../../soak/insist.ts";
import { Random } from "../../soak/random.ts";
import { Bench } from "../../support/bench.ts";
import { type JobsProcess, MORTAL } from "../../support/process.ts";
import { type Server, startServer, type StoreKind } from "../../support/servers.ts";
import { TcpProxy } from "../../support/tcp_proxy.ts";
import { until } from "../../support/eventually.ts";
import { checkEmpty } from "./check.ts";
import { Program } from "./program.ts";

const HANDLERS = new URL("../../support/member_handlers.js", import.meta.url).pathname;
const CONCURRENCY = 5;
const DAY_MS = 86_400_000;

/** A disturbance of a worker, or of the store. */
type Disturbance = "kill" | "freeze" | "restart";

/** In this order, again and again. SQLite has no server. */
const DISTURBANCES: Readonly<Record<StoreKind, readonly Disturbance[]>> = {
  sqlite: ["kill", "freeze"],
  redis: ["kill", "freeze", "restart"],
  postgres: ["kill", "freeze", "restart"],
};

/** With a server, all connections lose the next reply at every third step. A disturbance must hit a call that changes something. */
const CUT_EVERY = 3;

/** How to run the program. */
export interface StageOptions {
  readonly store: StoreKind;
  readonly seed: number;
  readonly steps: number;
  /** Steps between disturbances. */
  readonly disturbEvery: number;
  /** Steps between quiet points. */
  readonly quietEvery: number;
  readonly workers: number;
}

/** The extent of a run. */
export interface StageReport {
  readonly batches: number;
  readonly members: number;
  readonly quietPoints: number;
  readonly disturbances: Readonly<Record<string, number>>;
}

/**
 * Runs the program.
 *
 * @throws {AssertionError} if the store is not as the model has it
 */
export async function runProgram(options: StageOptions): Promise<StageReport> {
  await using stack = new AsyncDisposableStack();
  const server = await startServer(options.store);
  if (server) stack.use(server);
  const proxy = server && stack.use(await TcpProxy.start(server.port));
  const bench = stack.use(await Bench.open(proxy && server.url(proxy.port)));
  const stage = stack.use(new Stage(bench, { ...options, ...(server && { server, proxy: proxy! }) }));
  const program = new Program(bench.store, bench.folder, options.seed);
  await program.start();
  await stage.start(options.workers);
  let quietPoints = 0;
  const quiet = async () => {
    await stage.calm();
    await program.quiet();
    quietPoints++;
  };
  for (let step = 1; step <= options.steps; step++) {
    await program.step();
    if (step % CUT_EVERY === 0) stage.cut();
    if (step % options.disturbEvery === 0) await stage.disturb();
    if (step % options.quietEvery !== 0) continue;
    await quiet();
    await program.mend(0.3);
  }
  await program.closeAll();
  await quiet();
  // The jobs that failed for good now succeed, so every batch ends.
  await program.mend(1);
  await quiet();
  await stage.stop();
  await retire(bench.url);
  const members = program.batches.reduce((sum, batch) => sum + batch.members.size, 0);
  return { batches: program.batches.length, members, quietPoints, disturbances: stage.counts };
}

/** Lets the retention of all batches pass, and asserts that nothing is left of them. */
async function retire(url: string): Promise<void> {
  const clock = { ...systemClock, now: () => systemClock.now() + 3 * DAY_MS };
  await using store: Store = await openStore(url, { clock });
  while ((await store.batches.tend(100)).more);
  await checkEmpty(store);
}

class Stage implements AsyncDisposable {
  readonly counts: Record<string, number> = {};
  readonly #bench: Bench;
  readonly #random: Random;
  readonly #disturbances: readonly Disturbance[];
  readonly #server: Server | undefined;
  readonly #proxy: TcpProxy | undefined;
  readonly #workers: JobsProcess[] = [];
  readonly #frozen = new Set<JobsProcess>();
  #thawing: Promise<void>[] = [];
  #disturbed = 0;

  constructor(bench: Bench, { store, seed, server, proxy }: StageOptions & {
    readonly server?: Server;
    readonly proxy?: TcpProxy;
  }) {
    this.#bench = bench;
    this.#random = new Random(seed + 1);
    this.#disturbances = DISTURBANCES[store];
    this.#server = server;
    this.#proxy = proxy;
  }

  async start(count: number): Promise<void> {
    for (let i = 0; i < count; i++) this.#workers.push(await this.#startWorker());
    await this.calm();
  }

  /** Starts a worker, and doesn't wait until it is ready: the program continues meanwhile. */
  #startWorker(): Promise<JobsProcess> {
    const env = { ...MORTAL, JOBS_MAX_RESCUES: "1000" };
    return this.#bench.server([HANDLERS, "-c", `${CONCURRENCY}`], env, false);
  }

  /** Disturbs the workers or the store. At least one worker is left to rescue the jobs of a frozen one. */
  async disturb(): Promise<void> {
    const all = this.#disturbances;
    const awake = this.#workers.filter((worker) => !this.#frozen.has(worker));
    const next = all[this.#disturbed++ % all.length]!;
    const name = next === "freeze" && awake.length === 1 ? "kill" : next;
    this.#count(name);
    if (name === "kill") {
      const at = this.#random.between(0, this.#workers.length - 1);
      this.#frozen.delete(this.#workers[at]!);
      this.#workers[at]!.kill("SIGKILL");
      await this.#workers[at]!.status();
      this.#workers[at] = await this.#startWorker();
    } else if (name === "freeze") {
      const worker = awake[this.#random.between(0, awake.length - 1)]!;
      const { worker: workerId } = await worker.logged("Ready");
      this.#frozen.add(worker);
      await this.#bench.freeze(worker);
      this.#thawing.push(this.#thaw(worker, workerId));
    } else {
      await this.#server!.kill();
      await this.#server!.start();
    }
  }

  /** Cuts the connections to the server in their next reply. */
  cut(): void {
    if (this.#proxy === undefined) return;
    this.#count("cut");
    this.#proxy.cutNextAnswer();
  }

  #count(name: string): void {
    this.counts[name] = (this.counts[name] ?? 0) + 1;
  }

  /** Thaws a worker when the others have rescued its jobs. */
  async #thaw(worker: JobsProcess, workerId: unknown): Promise<void> {
    const isOffline = async () =>
      !(await insist(() => this.#bench.store.workers.list())).some((one) => one.id === workerId);
    await until(isOffline, "the frozen worker is offline");
    if (this.#frozen.delete(worker)) worker.kill("SIGCONT");
  }

  /** Resolves when all workers run. */
  async calm(): Promise<void> {
    await Promise.all(this.#thawing);
    this.#thawing = [];
    for (const worker of this.#workers) await worker.logged("Ready");
  }

  async stop(): Promise<void> {
    for (const worker of this.#workers) worker.kill("SIGTERM");
    for (const worker of this.#workers) await worker.status();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const worker of this.#workers) await worker[Symbol.asyncDispose]();
    await Promise.allSettled(this.#thawing);
  }
}
