/**
 * Cron entries by the thousand while workers are killed, frozen past the time of a claim and woken, with wrong clocks, and while
 * entries are removed, edited and paused. Nothing performs the jobs: the queues show each run that was enqueued. `cron_soak.ts`
 * does the same with 100,000 entries for minutes.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import { Crontab } from "../../src/client/crontab.ts";
import { systemClock } from "../../src/clock.ts";
import type { CronEntryInput } from "../../src/cron/entry.ts";
import { CLAIM_MS } from "../../src/store/port/cron.ts";
import { Random } from "../soak/random.ts";
import { ShiftedClock } from "../soak/shifted_clock.ts";
import { Bench } from "../support/bench.ts";
import { type JobsProcess, MORTAL } from "../support/process.ts";
import { Expected, runsIn } from "./cron_expected.ts";

/** The size of a run. */
export interface CronChaosOptions {
  /** Absent: SQLite. */
  readonly url?: string | undefined;
  readonly entries: number;
  /** Entries that are due in the same second, `rounds` times. */
  readonly due: number;
  readonly rounds: number;
  readonly everyMs: number;
  readonly workers: number;
  /** After the rounds, no worker runs for this long, while as many entries are due. */
  readonly outageMs?: number;
  /** Another worker's clock is wrong by this. Not on SQLite, where its clock is the store's. */
  readonly clockAheadSeconds?: number;
  readonly seed: number;
}

/** The counts of a run. */
export interface CronChaosReport {
  readonly runs: number;
  readonly killed: number;
  readonly frozen: number;
  /** Removals, edits and pauses. */
  readonly changes: number;
  /** How late the last run of each round was, without those of the outage. */
  readonly lateMs: readonly number[];
}

/** How an entry changes around the time of its run. The others run. */
const CHANGES = ["removed", "edited", "removed late", "edited after", "paused"] as const;
const KINDS = 20;
const OFTEN = 5;
/** Not ended by the end of a claim. */
const FROZEN_MS = CLAIM_MS + 1_000;
const QUEUE = "due";

/** Runs it. Throws if a run is missing, is there twice, or follows from a rule that was removed. */
export async function cronChaos(options: CronChaosOptions): Promise<CronChaosReport> {
  await using bench = await Bench.open(options.url);
  await using stack = new AsyncDisposableStack();
  const random = new Random(options.seed);
  const crontab = new Crontab({ store: bench.store, client: bench.client });
  const expected = new Expected();
  const { rounds, everyMs, due, outageMs = 0 } = options;
  const counts = { killed: 0, frozen: 0, changes: 0 };

  const entry = (name: string, at: number, more: Partial<CronEntryInput> = {}): CronEntryInput => {
    const time = new Date(at);
    const rule = `${time.getUTCSeconds()} ${time.getUTCMinutes()} ${time.getUTCHours()} * * *`;
    return { name, rule, class: "Noop", queue: QUEUE, tags: ["chaos"], ...more };
  };
  await crontab.addMany(
    Array.from({ length: options.entries }, (_, i) => entry(`idle:${i}`, systemClock.now() + 12 * 3_600_000)),
  );
  const often = { every: "1s", class: "Noop" } as const;
  await crontab.addMany(
    Array.from({ length: OFTEN }, (_, i) => [
      ...(["skip", "queue-one", "replace"] as const).map((overlap) => ({
        ...{ ...often, name: `${overlap}:${i}`, overlap, queue: `${overlap}-${i}` },
      })),
      { ...often, name: `all:${i}`, catchUp: "all" as const, queue: "all" },
    ]).flat(),
  );
  const begun = await consideredOf(crontab);

  const shifted = options.url === undefined || !options.clockAheadSeconds
    ? undefined
    : await ShiftedClock.make(bench.folder);
  shifted?.jump(options.clockAheadSeconds!);
  const start = async (isAhead = false) =>
    stack.use(await bench.server(["-q", "unused"], { ...MORTAL, ...(isAhead && shifted?.env) }));
  const workers: (JobsProcess | undefined)[] = await Promise.all(
    Array.from({ length: options.workers }, (_, i) => start(i === 0)),
  );

  const pending: Promise<unknown>[] = [];
  const replace = async (at: number) => {
    const worker = workers[at];
    workers[at] = undefined;
    worker?.kill("SIGKILL");
    counts.killed++;
    workers[at] = await start();
  };
  const freeze = async (at: number) => {
    const worker = workers[at];
    if (worker === undefined) return;
    workers[at] = undefined;
    counts.frozen++;
    await bench.freeze(worker);
    await systemClock.sleep(FROZEN_MS);
    worker.kill("SIGCONT");
    workers[at] = worker;
  };

  // The entries of an attempt at round 0 that were added too late have names that no other round has.
  let attempt = 0;
  const label = (round: number) => `${attempt}r${round}`;
  // The entries of a round are added while the earlier rounds are due.
  const addRound = async (round: number, at: number, more: (i: number) => Partial<CronEntryInput> = () => ({})) => {
    await crontab.addMany(Array.from({ length: due }, (_, i) => entry(`${label(round)}:${i}`, at, more(i))), {
      replace: true,
    });
    return systemClock.now() < at - 500;
  };
  const change = async (name: string, at: number, kind: typeof CHANGES[number], moved: number) => {
    const from = systemClock.now();
    if (kind === "paused") await crontab.pause(name);
    else if (kind.startsWith("removed")) await crontab.remove(name);
    else await crontab.add(entry(name, moved), { replace: true });
    counts.changes++;
    const to = systemClock.now();
    expected.change(name, at, { from, to, keeps: kind.startsWith("edited") });
    // Too late: its next run is tomorrow.
    if (kind.startsWith("edited")) expected.run(name, moved, to < moved ? 1 : 0);
  };
  const second = (at: number) => Math.ceil(at / 1_000) * 1_000;
  let first = 0;
  // A busy machine takes longer. Until then no entry is due.
  for (let leadMs = everyMs; first === 0 || !await addRound(0, first); leadMs *= 2) {
    attempt++;
    first = second(systemClock.now()) + leadMs;
  }
  const moved = first + rounds * everyMs;
  for (let round = 0; round < rounds; round++) {
    const at = first + round * everyMs;
    const next = round + 1 < rounds ? addRound(round + 1, at + everyMs) : undefined;
    const names = (kind: typeof CHANGES[number]) =>
      Array.from({ length: due }, (_, i) => i).filter((i) => i % KINDS === CHANGES.indexOf(kind))
        .map((i) => `${label(round)}:${i}`);
    for (let i = 0; i < due; i++) expected.run(`${label(round)}:${i}`, at);
    const changeAll = (kind: typeof CHANGES[number]) =>
      Promise.all(names(kind).map((name) => change(name, at, kind, moved)));
    await systemClock.sleep(Math.max(0, at - 1_500 - systemClock.now()));
    pending.push(changeAll("removed"), changeAll("edited"), changeAll("paused"));
    await systemClock.sleep(Math.max(0, at - 30 - systemClock.now()));
    pending.push(changeAll("removed late"));
    await systemClock.sleep(Math.max(0, at + random.between(0, 300) - systemClock.now()));
    const victim = round % workers.length;
    pending.push(replace(victim), freeze((victim + 1) % workers.length), changeAll("edited after"));
    if (await next === false) throw new Error(`Adding ${due} entries took too long: raise everyMs`);
  }
  await Promise.all(pending);
  await systemClock.sleep(Math.max(0, moved - systemClock.now()));

  const settled = () =>
    bench.until(async () => {
      const { now, entries: [next] } = await bench.store.cron.page({ sort: "next", limit: 1 });
      return next?.next === undefined || next.next > now + CLAIM_MS + 1_000;
    }, "all that was due is decided");
  if (outageMs > 0) {
    for (const worker of workers) worker?.kill("SIGKILL");
    const at = second(systemClock.now()) + 10_000;
    const policies = ["all", "last", "none"] as const;
    await addRound(rounds, at, (i) => ({ catchUp: policies[i % 3]! }));
    for (let i = 0; i < due; i++) if (i % 3 < 2) expected.run(`${label(rounds)}:${i}`, at);
    await systemClock.sleep(at + outageMs - systemClock.now());
    await start();
  }
  await crontab.pauseMany({ prefix: "all:" });
  for (const overlap of ["skip", "queue-one", "replace"]) await crontab.pauseMany({ prefix: `${overlap}:` });
  await settled();

  const { runs, lateMs } = await runsIn(bench.store, QUEUE);
  expected.check(new Map([...runs].filter(([run]) => run.startsWith(`${attempt}r`))));
  const { runs: all } = await runsIn(bench.store, "all");
  for (const [name, until] of await consideredOf(crontab)) {
    const from = begun.get(name)!;
    const times = Array.from(
      { length: Math.floor(until / 1_000) - Math.floor(from / 1_000) },
      (_, i) => (Math.floor(from / 1_000) + 1 + i) * 1_000,
    );
    const actual = [...all].flatMap(([key, count]) => key.startsWith(`${name} `) ? Array(count).fill(key) : []);
    assertEquals(actual.sort(), times.map((time) => `${name} ${time}`).sort(), "each second once");
  }
  for (let i = 0; i < OFTEN; i++) {
    for (const overlap of ["skip", "queue-one", "replace"]) {
      const { runs } = await runsIn(bench.store, `${overlap}-${i}`);
      const count = runs.values().reduce((sum, one) => sum + one, 0);
      assert(overlap === "replace" ? count <= 1 : count === 1, `${count} jobs of ${overlap}:${i}`);
    }
  }
  const late = Array.from({ length: rounds }, (_, round) => lateMs.get(first + round * everyMs) ?? 0);
  return { runs: runs.values().reduce((sum, one) => sum + one, 0), ...counts, lateMs: late };
}

/** Returns the times up to which the entries that run each second are decided. */
async function consideredOf(crontab: Crontab): Promise<Map<string, number>> {
  const { entries } = await crontab.page({ prefix: "all:" });
  return new Map(entries.map(({ name, state }) => [name, state!.considered]));
}
