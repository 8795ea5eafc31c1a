/** `jobs bench`. @module */
import { Client } from "../../client/client.ts";
import { systemClock } from "../../clock.ts";
import { Registry } from "../../handlers/registry.ts";
import { type Server, startServer } from "../../server/start.ts";
import { openScratch, openStore } from "../../store/open.ts";
import { number } from "../../text/format.ts";
import { COMMON_FLAGS, parseCommand } from "../terminal/args.ts";
import { Interrupted, UsageError } from "../terminal/errors.ts";
import { print, printError, printJson } from "../terminal/output.ts";
import { LongWork } from "../terminal/progress.ts";
import { loadSettings, storeOptions, storeUrl } from "../shared/store.ts";
import { printTable } from "../terminal/table.ts";

/** The text of `--help`. */
export const help = `
Usage: jobs bench [--jobs 20000] [-c 10] [--json]

Measures this machine and its store: pushes jobs one by one and in bulk, runs
them, and measures how soon single jobs start. The jobs do nothing and never
touch yours: on SQLite they are in a temporary database next to the store's
file, on Redis in an empty database of the same server, on PostgreSQL in another
schema of the database. They are removed at the end, also after Ctrl-C. After a
kill, the next run removes them.

      --jobs N           push and run this many in bulk (20000)
  -c, --concurrency N    run at most this many at once (10)

Examples
  jobs bench
  jobs bench --jobs 100000 -c 50 --store redis://localhost:6379`;

const QUEUE = "jobs-bench";
const CLASS = "Noop";
/** Times at most this many single pushes. */
const MAX_SINGLES = 200;
const BATCH = 1_000;

/** Measures. */
export async function run(argv: readonly string[]): Promise<number> {
  const { flags } = parseCommand("bench", argv, {
    ...COMMON_FLAGS,
    jobs: { takes: "text" },
    concurrency: { takes: "text", short: "c" },
  }, "");
  const jobs = Number(flags.jobs ?? 20_000);
  if (!Number.isInteger(jobs) || jobs < 1 || jobs > 10_000_000) {
    throw new UsageError(`Invalid --jobs "${flags.jobs}": expected a whole number from 1 to 10000000`);
  }
  const { settings } = await loadSettings(flags, { concurrency: flags.concurrency });
  const { concurrency } = settings;
  using work = new LongWork("Measuring");
  await using scratch = await openScratch(storeUrl(settings), {
    queue: QUEUE,
    // Only of the default store, which can't be a typo.
    create: settings.store === undefined,
    warn: (message) => printError(`jobs: ${message}`),
  });
  await using store = await openStore(scratch.url, storeOptions(settings));
  const client = new Client({ store, onUnregistered: () => {} });
  const bench = new Bench(client, work, Math.min(jobs, MAX_SINGLES));
  const pushOne = await bench.pushSingles();
  const pushBulk = await bench.pushBulk(jobs);
  const registry = new Registry().add(CLASS, () => bench.performed());
  await using server = await startServer({
    store: scratch.url,
    storeOptions: storeOptions(settings),
    registry,
    log: false,
    settings: { ...settings, cron: [], queues: [{ name: QUEUE, weight: 0 }], webListen: undefined, processes: 1 },
  });
  const perform = await bench.allPerformed(jobs, server);
  const start = await bench.startSingles();
  work.clear();
  const { version } = await store.admin.health();
  const measured = {
    store: version,
    cores: navigator.hardwareConcurrency,
    jobs,
    concurrency,
    pushOne,
    pushBulk,
    perform,
    start,
  };
  if (flags.json) printJson(measured);
  else {
    print(`${version}, ${measured.cores} cores, ${number(jobs)} no-op jobs, concurrency ${concurrency}\n`);
    printTable(["step", "jobs/s", "p50", "p99"], [
      ["push, one by one", number(pushOne.perSecond), ms(pushOne.p50Ms), ms(pushOne.p99Ms)],
      ["push in bulk, 1,000 at a time", number(pushBulk.perSecond), "", ""],
      ["run, in one worker", number(perform.perSecond), "", ""],
      ["from push to start, idle", "", ms(start.p50Ms), ms(start.p99Ms)],
    ], "");
  }
  return 0;
}

interface Rate {
  readonly perSecond: number;
}

interface Spread {
  readonly p50Ms: number;
  readonly p99Ms: number;
}

/** The measurements. Each stops on Ctrl-C. */
class Bench {
  readonly #client: Client;
  readonly #work: LongWork;
  readonly #singles: number;
  #performed = 0;
  /** When the first job ran. */
  #first = 0;
  #onPerformed = () => {};

  /** @param singles the number of jobs that are pushed one by one, before the bulk and at the end */
  constructor(client: Client, work: LongWork, singles: number) {
    this.#client = client;
    this.#work = work;
    this.#singles = singles;
  }

  /** The handler. */
  performed(): void {
    if (this.#performed++ === 0) this.#first = systemClock.monotonic();
    this.#onPerformed();
  }

  async pushSingles(): Promise<Rate & Spread> {
    const times: number[] = [];
    for (let i = 0; i < this.#singles; i++) {
      this.#check();
      const start = systemClock.monotonic();
      await this.#push(i);
      times.push(systemClock.monotonic() - start);
    }
    return { perSecond: rate(this.#singles, times.reduce((sum, time) => sum + time, 0)), ...spread(times) };
  }

  async pushBulk(jobs: number): Promise<Rate> {
    let spent = 0;
    for (let done = 0; done < jobs; done += BATCH) {
      this.#check();
      const args = Array.from({ length: Math.min(BATCH, jobs - done) }, (_, i) => ["bob", done + i]);
      const start = systemClock.monotonic();
      await this.#client.pushBulk({ class: CLASS, queue: QUEUE, args });
      spent += systemClock.monotonic() - start;
      this.#work.at({ done: done + args.length, total: jobs });
    }
    return { perSecond: rate(jobs, spent) };
  }

  /** Waits until all have run; the rate counts from the first one. */
  async allPerformed(bulk: number, server: Server): Promise<Rate> {
    const total = this.#singles + bulk;
    await this.#until(() => {
      this.#work.at({ done: this.#performed, total });
      return this.#performed >= total;
    }, server);
    return { perSecond: rate(total, systemClock.monotonic() - this.#first) };
  }

  /** Pushes single jobs, each after the previous one has started, at irregular intervals. */
  async startSingles(): Promise<Spread> {
    const times: number[] = [];
    for (let i = 0; i < this.#singles; i++) {
      this.#check();
      await systemClock.sleep(1 + Math.random() * 5, this.#work.signal);
      const before = this.#performed;
      const start = systemClock.monotonic();
      const begun = this.#until(() => this.#performed > before);
      await this.#push(i);
      await begun;
      times.push(systemClock.monotonic() - start);
    }
    return spread(times);
  }

  #push(i: number): Promise<string | undefined> {
    return this.#client.push({ class: CLASS, queue: QUEUE, args: ["bob", i] });
  }

  /** Resolves when the condition holds; checks it after each job. */
  async #until(condition: () => boolean, server?: Server): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#onPerformed = () => {
      if (condition()) resolve();
    };
    this.#onPerformed();
    this.#work.signal.addEventListener("abort", () => resolve(), { once: true });
    await Promise.race([promise, ...(server ? [server.finished] : [])]);
    this.#onPerformed = () => {};
    this.#check();
  }

  #check(): void {
    if (this.#work.signal.aborted) throw new Interrupted("Interrupted: the temporary store is removed");
  }
}

function rate(count: number, ms: number): number {
  return Math.round(count / Math.max(ms, 0.001) * 1_000);
}

function spread(times: readonly number[]): Spread {
  const sorted = times.toSorted((a, b) => a - b);
  const at = (share: number) =>
    Number(sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))]!.toFixed(2));
  return { p50Ms: at(0.5), p99Ms: at(0.99) };
}

function ms(value: number): string {
  return `${value.toFixed(1)} ms`;
}
