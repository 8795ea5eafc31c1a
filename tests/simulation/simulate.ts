/**
 * Runs many seeds, one after the other, and reports each failure with its shortest trace.
 *
 * @module
 */
import type { Ground } from "./ground.ts";
import { type Plan, planOf } from "./plan.ts";
import { run } from "./run.ts";
import { shrink } from "./shrink.ts";

/** The same seed must give the same trace: each tenth seed runs twice. */
const REPEAT_EVERY = 10;

/** The result of many runs. */
export interface Tally {
  runs: number;
  events: number;
  /** One text for each failure. */
  readonly failures: string[];
}

/**
 * @param seeds the seeds to run
 * @param isOver ends it early
 */
export async function simulate(ground: Ground, seeds: Iterable<number>, isOver: () => boolean): Promise<Tally> {
  const tally: Tally = { runs: 0, events: 0, failures: [] };
  for (const seed of seeds) {
    if (isOver()) break;
    const result = await run(ground, planOf(seed));
    tally.runs++;
    tally.events += result.events;
    if (result.failure) {
      tally.failures.push(await report(ground, seed));
      continue;
    }
    if (seed % REPEAT_EVERY !== 0) continue;
    const again = await run(ground, planOf(seed));
    if (again.trace !== result.trace) {
      tally.failures.push(`Seed ${seed} has two traces: ${result.trace} and ${again.trace}`);
    }
  }
  return tally;
}

/** Returns the shortest trace of a failing seed, with the command that repeats it. */
export async function report(ground: Ground, seed: number): Promise<string> {
  const failing = await run(ground, planOf(seed));
  if (!failing.failure) return `Seed ${seed} failed once, and not again`;
  const { plan } = await shrink(ground, failing);
  const { failure, log } = await run(ground, plan, { log: true });
  return [
    `Seed ${seed}: ${failing.failure.message}`,
    `The shortest trace (${plan.acts.length} of ${failing.plan.acts.length} acts): ${failure?.message}`,
    ...describe(plan),
    "Its last events:",
    ...log.slice(-40),
    `Repeat it with: make simulate STORE=${ground.name} FIRST=${seed} SEEDS=1 LOG=1`,
  ].join("\n");
}

function describe({ acts, workers, concurrency, weather, cron }: Plan): string[] {
  return [
    `  ${workers} workers with ${concurrency} processors, ${JSON.stringify({ weather, cron })}`,
    ...acts.map((act) => `  ${JSON.stringify(act)}`),
  ];
}
