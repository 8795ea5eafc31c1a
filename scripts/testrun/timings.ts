/**
 * The time of each test file: stored by each run, read by the next one's plan, and compared with the budget in `budget.json`.
 *
 * @module
 */
import { dirname, join } from "node:path";

/** The time of a file, or of a check. */
export interface Timing {
  readonly seconds: number;
  /** Seconds of a processor, those of the processes included that it waited for. */
  readonly cpu: number;
}

/** By the path of a file, or by the name of a check. */
export type Timings = Readonly<Record<string, Timing>>;

/** The stored budget. `make budget` writes it after a whole run on a quiet machine. */
export interface Budget {
  /** Seconds of {@linkcode calibrate} on the machine that it was measured on. */
  readonly calibration: number;
  readonly files: Timings;
}

const BUDGET = "scripts/testrun/budget.json";
const LATEST = ".deno/timings.json";

/** A run may exceed its budget by this share. */
const TOLERANCE = 0.1;
/** With more processor time taken by others, figures tell about them, too. */
const MAX_FOREIGN_SHARE = 0.1;
/** A task that took this many times, and seconds more than, its stored processor time is an outlier. */
const OUTLIER = { times: 1.5, seconds: 3 };

/** Reads the stored budget. */
export async function readBudget(root: string): Promise<Budget> {
  return await readJson(join(root, BUDGET)) as Budget | undefined ?? { calibration: 1, files: {} };
}

/** Reads the timings of the latest runs on this machine, over those of the budget. */
export async function readTimings(root: string): Promise<Timings> {
  return { ...(await readBudget(root)).files, ...await readJson(join(root, LATEST)) as Timings | undefined };
}

/** Stores the timings of a run, over those of earlier runs. Ignores a folder that can't be written. */
export async function storeTimings(root: string, timings: Timings): Promise<void> {
  const path = join(root, LATEST);
  const all = { ...await readJson(path) as Timings | undefined, ...timings };
  await Deno.mkdir(dirname(path), { recursive: true }).catch(() => {});
  await writeJson(path, all).catch(() => {});
}

/** Stores a budget from the timings of whole runs. */
export async function storeBudget(root: string, calibration: number, timings: Timings): Promise<void> {
  const files = { ...(await readBudget(root)).files, ...timings };
  const exists = (name: string) => !name.includes("/") || Deno.stat(join(root, name)).then(() => true, () => false);
  const kept = await Promise.all(
    Object.entries(files).map(async ([name, one]) => await exists(name) ? [[name, one]] : []),
  );
  await writeJson(join(root, BUDGET), { calibration, files: Object.fromEntries(kept.flat()) });
}

/** Returns how many seconds of a processor a fixed computation takes now: the least of forty, about 10 ms each. */
export function calibrate(): number {
  const once = () => {
    const start = performance.now();
    const words = new Map<string, number>();
    for (let i = 0; i < 60_000; i++) words.set(`${i % 5_000}:${i & 7}`, i);
    return (performance.now() - start) / 1000;
  };
  return Math.min(...Array.from({ length: 40 }, once));
}

/** The figures of a whole run. */
export interface Measured {
  readonly timings: Timings;
  readonly calibration: number;
  /** Processor time of other programs, as a share of all, from 0 to 1; undefined where it is unknown. */
  readonly foreign: number | undefined;
}

/** The judgement of a run: lines to print, and whether it took more than the budget allows. */
export interface Judgement {
  readonly exceeded: boolean;
  readonly lines: readonly string[];
}

/**
 * Compares a run with its budget. A run on a busy machine isn't judged: its processors are shared, and each second of them does less. A slower
 * machine has a larger budget, in proportion to the calibration.
 */
export function judge({ timings, calibration, foreign }: Measured, budget: Budget): Judgement {
  const known = Object.entries(timings).filter(([name]) => name in budget.files);
  const speed = Math.max(1, calibration / budget.calibration);
  const allowed = known.reduce((sum, [name]) => sum + budget.files[name]!.cpu, 0) * speed;
  const fresh = Object.keys(timings).filter((name) => !(name in budget.files));
  const total = Object.values(timings).reduce((sum, { cpu }) => sum + cpu, 0);
  const ofBudget = `${total.toFixed(0)} s of a processor; the budget is ${allowed.toFixed(0)} s`;
  if (allowed === 0) return { exceeded: false, lines: [] };
  const grown = Object.entries(timings).map(([name, { cpu }]) =>
    [name, cpu - (budget.files[name]?.cpu ?? 0) * speed] as const
  )
    .filter(([, more]) => more > 1).toSorted(([, a], [, b]) => b - a).slice(0, 10)
    .map(([name, more]) => `  ${name}: ${more.toFixed(1)} s more${fresh.includes(name) ? " (new)" : ""}`);
  if (total <= allowed * (1 + TOLERANCE)) return { exceeded: false, lines: [ofBudget] };
  if (foreign === undefined || foreign > MAX_FOREIGN_SHARE) {
    const others = foreign === undefined ? "an unknown share" : `${Math.round(foreign * 100)} %`;
    return {
      exceeded: false,
      lines: [`${ofBudget}, not judged: other programs took ${others} of the processors`, ...grown],
    };
  }
  const cure =
    "Make them cheaper, or move what is long by nature to `make test-long`; `make budget` stores a new budget";
  return { exceeded: true, lines: [`Over budget: ${ofBudget}. These grew:`, ...grown, cure] };
}

/** Returns a line for each file that took much more processor time than stored. */
export function outliers(timings: Timings, stored: Timings): string[] {
  return Object.entries(timings).flatMap(([name, { cpu }]) => {
    const before = stored[name]?.cpu;
    if (before === undefined || cpu < before * OUTLIER.times || cpu < before + OUTLIER.seconds) return [];
    return [`  ${name}: ${cpu.toFixed(1)} s of a processor, usually ${before.toFixed(1)} s`];
  });
}

async function readJson(path: string): Promise<unknown> {
  try {
    return JSON.parse(await Deno.readTextFile(path));
  } catch {
    return undefined;
  }
}

async function writeJson(path: string, value: unknown): Promise<void> {
  const temporary = `${path}.${Deno.pid}`;
  await Deno.writeTextFile(temporary, `${JSON.stringify(value, undefined, 2)}\n`);
  await Deno.rename(temporary, path);
}
