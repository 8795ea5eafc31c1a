/** `jobs bench`. @module */
import { Client } from "../../client/client.ts";
import { systemClock } from "../../clock.ts";
import { Registry } from "../../handlers/registry.ts";
import { type Server, startServer } from "../../server/start.ts";
import { openStore } from "../../store/open.ts";
import { openScratch } from "../../store/open_scratch.ts";
import { number } from "../../text/format.ts";
import { COMMON_FLAGS, parseCommand, UsageError } from "../terminal/args.ts";
import { blankControls, print, printError, printJson } from "../terminal/output.ts";
import { Interrupted, LongWork } from "../terminal/progress.ts";
import { loadSettings, storeOptions, storeUrl } from "../shared/store.ts";
import { printTable } from "../terminal/table.ts";

/** What `--help` prints. */
export const help = `
Usage: jobs bench [-n 20000] [-c 10] [--json]

Measures what this machine and the store can do: pushes jobs one by one and in bulk, performs them, and waits for single
ones to start. The jobs do nothing. They never come near yours: on SQLite it makes a database in a folder beside the store's
file, on Redis it takes a database of the same server that is empty, and refuses where there is none. At the end, also after
Ctrl-C, the folder is deleted, and the database empty again but for what others have put there meanwhile. When it is killed
outright, the folder (jobs-bench-…) or the database is cleared away by one that is started a minute later or more.
What else the machine and the server do meanwhile counts.

  -n, --jobs N          how many jobs are pushed in bulk and performed; one by one, at most 200
  -c, --concurrency N   how many are performed at once (the setting: 10)`;

const QUEUE = "jobs-bench";
const CLASS = "Noop";
/** At most so many single pushes are timed. */
const MAX_SINGLES = 200;
const BATCH = 1_000;

/** Measures. */
export async function run(argv: readonly string[]): Promise<number> {
  const { flags, args } = parseCommand("bench", argv, {
    ...COMMON_FLAGS,
    jobs: { takes: "text", short: "n" },
    concurrency: { takes: "text", short: "c" },
  });
  if (args.length > 0) throw new UsageError(`Superfluous: "${args[0]}"`);
  const jobs = Number(flags.jobs ?? 20_000);
  if (!Number.isInteger(jobs) || jobs < 1 || jobs > 10_000_000) {
    throw new UsageError(`--jobs is "${flags.jobs}"; wanted: a whole number from 1 to 10000000`);
  }
  const { settings } = await loadSettings(flags, { concurrency: flags.concurrency });
  const { concurrency } = settings;
  using work = new LongWork("Measuring");
  await using scratch = await openScratch(storeUrl(settings), {
    queue: QUEUE,
    // Only the embedded default's, which nobody can have mistyped.
    create: settings.store === undefined,
    say: (what) => printError(`jobs: ${blankControls(what)}`),
  });
  await using store = await openStore(scratch.url, storeOptions(settings));
  const client = new Client({ store });
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
    print(`${version}, ${measured.cores} cores, ${number(jobs)} jobs that do nothing, ${concurrency} at once\n`);
    printTable(["what", "jobs/s", "p50", "p99"], [
      ["push, one after the other", number(pushOne.perSecond), ms(pushOne.p50Ms), ms(pushOne.p99Ms)],
      ["push in bulk, 1,000 at a time", number(pushBulk.perSecond), "", ""],
      ["perform, in one process", number(perform.perSecond), "", ""],
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

/** The measurements, one after the other; each stops when it is asked to. */
class Bench {
  readonly #client: Client;
  readonly #work: LongWork;
  readonly #singles: number;
  #performed = 0;
  /** When the first one was performed. */
  #first = 0;
  #onPerformed = () => {};

  /** @param singles so many jobs are pushed one by one, before those in bulk and at the end */
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

  /** Waits until those, and so many pushed in bulk, are performed; the rate is that from the first on. */
  async allPerformed(bulk: number, server: Server): Promise<Rate> {
    const total = this.#singles + bulk;
    await this.#until(() => {
      this.#work.at({ done: this.#performed, total });
      return this.#performed >= total;
    }, server);
    return { perSecond: rate(total, systemClock.monotonic() - this.#first) };
  }

  /** Single jobs, each pushed when the last one has started, at no fixed step. */
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

  /** Resolves when it is so, looking at each job that is performed. */
  async #until(isSo: () => boolean, server?: Server): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#onPerformed = () => {
      if (isSo()) resolve();
    };
    this.#onPerformed();
    this.#work.signal.addEventListener("abort", () => resolve(), { once: true });
    await Promise.race([promise, ...(server ? [server.finished] : [])]);
    this.#onPerformed = () => {};
    this.#check();
  }

  #check(): void {
    if (this.#work.signal.aborted) throw new Interrupted("Stopped; what was made for it is away again");
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
