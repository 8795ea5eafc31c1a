/**
 * `make bench-guard`: compares what a job costs in this tree and in another commit. Ends with 1 when a case is dearer.
 *
 *     deno run -A tests/bench/guard/main.ts [--against COMMIT] [--minutes 10] [--bound 3] [--only REGEXP] [--rooms] [--short]
 *
 * A round starts a process of each tree on an empty store, and lets both perform each case in many short steps: A B B A, B A A B. The
 * first ones also take the counts, which hardly vary. Rounds continue until the time of each case is decided, or the minutes have passed.
 */
import { parseArgs } from "@std/cli/parse-args";
import { describeMachine, ROOT, spreadOf } from "../measure.ts";
import { CASES } from "./cases.ts";
import { Comparison, MIN_ROUNDS, printComparisons, type Side, SIDES } from "./comparison.ts";
import type { Figures } from "./meters.ts";
import { undisturbed } from "./estimate.ts";
import { checkOut, defaultCommit, git, STORES, type Stores, Subject } from "./sides.ts";

/** Processor time of a step, and the number of steps: short and many, so that some are undisturbed on a busy machine. */
const STEPS = { micros: 2_000, quads: 60 };
/** A drain also resumes the worker, which takes some 2 ms. */
const DRAIN_STEPS = { micros: 5_000, quads: 30 };
const WARM_UPS = 12;
const MIN_JOBS = 20;
const MAX_JOBS = 5_000;
const COUNTED_JOBS = 1_000;
const PROFILED_STEPS = 30;
/** The cases of a comparison in two minutes. */
const SHORT = "push$|take and settle$|drain$";

type Pair = Readonly<Record<Side, Subject>>;

const flags = parseArgs(Deno.args, {
  string: ["against", "minutes", "bound", "only"],
  boolean: ["rooms", "short"],
}) as unknown as Readonly<Record<string, string | undefined>> & { readonly rooms: boolean; readonly short: boolean };
const percent = Number(flags["bound"] || 3);
const deadline = Date.now() + Number(flags["minutes"] || (flags.short ? 2 : 10)) * 60_000;
const only = new RegExp(flags["only"] || (flags.short ? SHORT : ""));
const isOver = () => Date.now() >= deadline;
const commit = await git("rev-parse", `${flags["against"] || await defaultCommit()}^{commit}`);
const folder = await Deno.makeTempDir({ prefix: "jobs-guard-" });
const trees = { before: `${folder}/tree`, after: ROOT.replace(/\/$/, "") };
const comparisons = Object.keys(STORES).flatMap((store) =>
  CASES.map((name) => new Comparison(store, name, percent / 100))
).filter(({ title }) => only.test(title));

try {
  console.log(`${await describeMachine()}. Against ${await git("show", "-s", "--format=%h %s", commit)}.\n`);
  await using stack = new AsyncDisposableStack();
  stack.use(await checkOut(commit, trees.before));
  const stores = new Map<string, Stores>();
  for (const store of new Set(comparisons.map(({ store }) => store))) {
    stores.set(store, stack.use(await STORES[store]!(folder)));
  }
  for (let round = 0; !isOver() && comparisons.some(({ needsRound }) => needsRound); round++) {
    for (const [name, store] of stores) {
      const open = comparisons.filter((one) => one.store === name && one.needsRound);
      if (open.length > 0 && !isOver()) await measureRound(open, store, round);
    }
  }
} finally {
  await Deno.remove(folder, { recursive: true });
}
printComparisons(comparisons);
let dearer = 0;
for (const one of comparisons.filter(({ isMeasured }) => isMeasured)) {
  const figures = one.dearer();
  if (figures.length > 0) {
    dearer++;
    console.log(`Dearer than ${commit.slice(0, 8)} by more than ${percent} %: ${one.title}: ${figures.join(", ")}`);
  } else if (flags.rooms) console.log(one.title);
  if (figures.length > 0 || flags.rooms) { for (const line of one.differences()) console.log(`  ${line}`); }
}
const open = comparisons.filter(({ isOpen }) => isOpen).length;
console.log(
  `${dearer} of ${comparisons.length} cases are dearer by more than ${percent} %. ` +
    `The machine was too busy to tell ${open} to that.`,
);
Deno.exitCode = dearer > 0 ? 1 : 0;

/** Measures cases on one store with two new processes. */
async function measureRound(open: readonly Comparison[], store: Stores, round: number): Promise<void> {
  await using after = await Subject.start(trees.after, await store.empty("after"));
  const subject = await Subject.start(trees.before, await store.empty("before")).catch((error: Error) => error);
  if (subject instanceof Error) {
    for (const one of open) {
      one.problem = `${commit.slice(0, 8)} doesn't open it`;
    }
    return;
  }
  await using before = subject;
  for (const one of open) {
    if (isOver()) return;
    if (before.cases.includes(one.name)) await measure(one, { before, after }, round);
    else one.problem = `${commit.slice(0, 8)} doesn't have it`;
  }
}

/** Measures one case in one round. */
async function measure(one: Comparison, pair: Pair, round: number): Promise<void> {
  const step = (side: Side, jobs: number, meter = "time") => pair[side].measure({ name: one.name, jobs, meter });
  const { micros: stepMicros, quads } = one.name.startsWith("drain") ? DRAIN_STEPS : STEPS;
  let jobs = MIN_JOBS;
  for (let i = 0; i < WARM_UPS; i++) {
    const { time } = await step("before", jobs);
    await step("after", jobs);
    jobs = Math.round(Math.max(MIN_JOBS, Math.min(MAX_JOBS, 4 * jobs, jobs * stepMicros / time!)));
  }
  const costs: Record<Side, number[]> = { before: [], after: [] };
  for (let quad = 0; quad < quads; quad++) {
    const [outer, inner] = inTurn(quad + round);
    for (const side of [outer, inner, inner, outer]) costs[side].push((await step(side, jobs)).time! / jobs);
  }
  for (const side of SIDES) one.micros[side].push(undisturbed(costs[side]));
  one.ratios.push(one.micros.after.at(-1)! / one.micros.before.at(-1)!);
  // The inspector discards compiled code: it comes last.
  for (const side of round < MIN_ROUNDS ? inTurn(round) : []) {
    const counts = perJob(await step(side, COUNTED_JOBS, "counts"), COUNTED_JOBS);
    const rooms = perJob(await step(side, COUNTED_JOBS, "calls"), COUNTED_JOBS);
    const calls = Object.values(rooms).reduce((sum, value) => sum + value, 0);
    one.counts[side].push({ ...counts, calls });
    one.calls[side] = rooms;
  }
  const isDecided = !one.needsRound && one.isSlower;
  if (!isDecided && !(flags.rooms && round === MIN_ROUNDS - 1)) return;
  const micros = { before: {} as Record<string, number>, after: {} as Record<string, number> };
  for (let i = 0; i < PROFILED_STEPS; i++) {
    for (const side of inTurn(i)) {
      for (const [room, share] of Object.entries(await step(side, jobs, "profile"))) {
        const part = share * spreadOf(one.micros[side]).median / PROFILED_STEPS;
        micros[side][room] = (micros[side][room] ?? 0) + part;
      }
    }
  }
  one.rooms = micros;
}

function inTurn(turn: number): readonly [Side, Side] {
  return turn % 2 === 0 ? SIDES : [SIDES[1], SIDES[0]];
}

function perJob(figures: Figures, jobs: number): Figures {
  return Object.fromEntries(Object.entries(figures).map(([name, value]) => [name, value / jobs]));
}
