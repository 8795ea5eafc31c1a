/**
 * Runs seeds, and reports a failure with its shortest trace.
 *
 * @module
 */
import type { Ground } from "./ground.ts";
import type { Act, Plan } from "./plan.ts";
import { planOf } from "./planner.ts";
import { type Result, run } from "./run.ts";

/** The same seed must give the same trace: each tenth seed runs twice. */
const REPEAT_EVERY = 10;
/** The search for the shortest trace ends after this many runs. */
const MAX_RUNS = 400;
/** This many of the last events are reported. */
const EVENTS_SHOWN = 40;

/**
 * Runs a seed.
 *
 * @param brief a failure is one line, without its trace
 */
export async function simulate(
  ground: Ground,
  seed: number,
  brief = false,
): Promise<{ readonly events: number; readonly failure: string | undefined }> {
  const result = await run(ground, planOf(seed));
  const { events, failure, trace } = result;
  if (failure) return { events, failure: brief ? `seed ${seed}: ${failure.message}` : await report(ground, result) };
  const again = seed % REPEAT_EVERY === 0 ? await run(ground, planOf(seed)) : result;
  const differs = again.trace !== trace ? `Seed ${seed} has two traces: ${trace} and ${again.trace}` : undefined;
  return { events, failure: differs };
}

/** Returns the shortest trace of a failing run, with the command that repeats it. */
async function report(ground: Ground, failing: Result): Promise<string> {
  const { plan: { seed, acts: all }, failure } = failing;
  const shortest = await run(ground, await shrink(ground, failing), { log: true });
  const { acts, workers, concurrency, weather, cron } = shortest.plan;
  return [
    `Seed ${seed}: ${failure!.message}`,
    `The shortest trace (${acts.length} of ${all.length} acts): ${shortest.failure?.message}`,
    `  ${workers} workers with ${concurrency} processors, ${JSON.stringify({ weather, cron })}`,
    ...acts.map((act) => `  ${JSON.stringify(act)}`),
    "Its last events:",
    ...shortest.log.slice(-EVENTS_SHOWN),
    `Repeat it with: make simulate STORE=${ground.name} FIRST=${seed} SEEDS=1 LOG=1`,
  ].join("\n");
}

/** Returns the shortest plan found that breaks the same rule: leaves out acts, halves of them first, then makes the rest simpler. */
async function shrink(ground: Ground, { plan, failure }: Result): Promise<Plan> {
  let best = plan;
  let runs = 0;
  const keeps = async (change: Partial<Plan>): Promise<boolean> => {
    const shorter = { ...best, ...change };
    if (runs++ >= MAX_RUNS || (await run(ground, shorter)).failure?.rule !== failure!.rule) return false;
    best = shorter;
    return true;
  };
  for (let size = best.acts.length >> 1; size >= 1; size >>= 1) {
    for (let from = 0; from < best.acts.length;) {
      if (!await keeps({ acts: best.acts.toSpliced(from, size) })) from += size;
    }
  }
  const isOfFirst = (act: Act) => !("of" in act && typeof act.of === "number" && act.of > 0);
  await keeps({ cron: [] });
  await keeps({ workers: 1, acts: best.acts.filter(isOfFirst) });
  await keeps({ weather: { usualMs: 0.1, slow: 0, slowMs: 0 } });
  return best;
}
