/**
 * Groups of limit 1 while workers are killed and frozen: no two jobs of a group run at once between living workers, and no
 * group is forgotten. Real processes on a real store.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import { systemClock } from "../../src/clock.ts";
import { openStore } from "../../src/store/open.ts";
import { job } from "../store_contract/jobs.ts";
import { Child } from "../support/child.ts";
import { temporaryFolder } from "../support/process.ts";
import { until } from "../support/eventually.ts";
import { startRedis } from "../support/redis.ts";

const GROUPS = 1_000;
const JOBS = 1_500;
const KILLS = 12;
/** Long enough that a busy machine doesn't make a live worker late. */
const TTL_MS = 3_000;

/** One run of a job, by the clock of the machine. */
interface Run {
  readonly jid: string;
  readonly group: string;
  readonly start: number;
  /** When the run ended, or its worker died or was frozen. */
  readonly end: number;
}

/** A worker, and its runs. */
class Worker {
  readonly #child: Child;
  readonly #open = new Map<string, Omit<Run, "end">>();
  readonly runs: Run[] = [];
  readonly done = new Set<string>();
  /** When it was killed or frozen. Lines that it wrote later are those of an offline worker. */
  #stoppedAt = Infinity;
  readonly #read: Promise<void>;

  constructor(url: string, id: string) {
    this.#child = new Child("group_child.ts", [url, id, `${TTL_MS}`]);
    this.#read = this.#readLines();
  }

  get isWorking(): boolean {
    return this.#open.size > 0;
  }

  async kill(): Promise<void> {
    try {
      Deno.kill(this.#child.pid, "SIGKILL");
    } catch {
      // The process has ended.
    }
    this.#stoppedAt = Math.min(this.#stoppedAt, systemClock.now());
    // All lines from before its death are read.
    await this.#read;
    await this.#child[Symbol.asyncDispose]();
    for (const run of this.#open.values()) this.runs.push({ ...run, end: this.#stoppedAt });
    this.#open.clear();
  }

  freeze(): void {
    Deno.kill(this.#child.pid, "SIGSTOP");
    this.#stoppedAt = systemClock.now();
  }

  wake(): void {
    Deno.kill(this.#child.pid, "SIGCONT");
  }

  async #readLines(): Promise<void> {
    for (;;) {
      const line = await this.#child.line();
      if (line === undefined) return;
      const [what, jid, group, time] = line.split(" ") as [string, string, string, string];
      if (what === "start") this.#open.set(jid, { jid, group, start: Number(time) });
      else {
        const run = this.#open.get(jid)!;
        this.#open.delete(jid);
        this.runs.push({ ...run, end: Math.min(Number(time), this.#stoppedAt) });
        this.done.add(jid);
      }
    }
  }
}

/** Returns the runs of the same group that overlap. */
function overlaps(runs: readonly Run[]): [Run, Run][] {
  const found: [Run, Run][] = [];
  for (const some of Map.groupBy(runs, ({ group }) => group).values()) {
    const sorted = some.toSorted((a, b) => a.start - b.start);
    for (let i = 1; i < sorted.length; i++) {
      if (sorted[i]!.start < sorted[i - 1]!.end) found.push([sorted[i - 1]!, sorted[i]!]);
    }
  }
  return found;
}

for (const kind of ["SQLite", "Redis"] as const) {
  Deno.test(`runs one job of each of 1,000 groups at a time while workers are killed and frozen (${kind})`, async () => {
    await using folder = await temporaryFolder();
    await using redis = kind === "Redis" ? await startRedis() : undefined;
    const url = redis?.url ?? `sqlite:${folder.path}/jobs.db`;
    await using store = await openStore(url);
    await store.admin.limitGroup("default", undefined, { running: 1 });
    const all = Array.from({ length: JOBS }, (_, n) => {
      // Half of the jobs belong to ten groups, so that many groups are at their limit.
      const group = n % 2 === 0 ? `busy${(n / 2) % 10}` : `g${n % GROUPS}`;
      const one = job(n);
      return { ...one, group, payload: one.payload.replace(/}$/, `,"group":"${group}"}`) };
    });
    await store.jobs.enqueue(all);
    const isDrained = async () => {
      const { enqueued, leased } = await store.admin.stats();
      return enqueued === 0 && leased === 0;
    };
    let named = 0;
    const start = () => new Worker(url, `host:${++named}:aaaaaaaaaaaa`);
    const workers = [start(), start(), start()];
    const ended: Worker[] = [];
    for (let kills = 0; kills < KILLS; kills++) {
      const at = kills % workers.length;
      const worker = workers[at]!;
      await until(async () => worker.isWorking || await isDrained(), "the worker runs a job");
      if (!worker.isWorking) break;
      if (kills === 2) {
        worker.freeze();
        // Until another worker has rescued its jobs.
        await until(async () => !(await store.workers.list()).some(({ alive }) => !alive), "it is rescued", 60_000);
        worker.wake();
      } else {
        await worker.kill();
      }
      ended.push(worker);
      workers[at] = start();
    }
    await until(isDrained, "each group is served", 120_000);
    for (const worker of [...workers, ...ended]) await worker.kill();
    const runs = [...workers, ...ended].flatMap((worker) => worker.runs);
    assertEquals(overlaps(runs), []);
    const done = new Set(runs.map(({ jid }) => jid));
    assertEquals(all.filter(({ jid }) => !done.has(jid)), []);
    assert(ended.length >= 4 && runs.length > JOBS, `${ended.length} workers ended, ${runs.length} runs`);
    assertEquals((await store.admin.groups("default")).groups, []);
  });
}
