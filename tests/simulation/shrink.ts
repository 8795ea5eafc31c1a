/**
 * Makes a failing plan shorter: leaves out acts as long as the run still breaks the same rule.
 *
 * @module
 */
import type { Ground } from "./ground.ts";
import type { Plan } from "./plan.ts";
import { type Result, run } from "./run.ts";

/** Maximum number of runs. */
const MAX_RUNS = 400;

/** Returns the shortest failing run that it finds. */
export async function shrink(ground: Ground, failing: Result): Promise<Result> {
  let best = failing;
  let runs = 0;
  const fails = async (plan: Plan): Promise<boolean> => {
    if (runs++ >= MAX_RUNS) return false;
    const result = await run(ground, plan);
    if (result.failure?.rule !== failing.failure!.rule) return false;
    best = result;
    return true;
  };
  // Halves first, then quarters, down to single acts.
  for (let size = best.plan.acts.length >> 1; size >= 1; size = size === 1 ? 0 : size >> 1) {
    for (let from = 0; from < best.plan.acts.length;) {
      const { acts } = best.plan;
      const isSmaller = await fails({ ...best.plan, acts: [...acts.slice(0, from), ...acts.slice(from + size)] });
      if (!isSmaller) from += size;
    }
  }
  const ofFirst = best.plan.acts.filter((act) => !("of" in act && typeof act.of === "number" && act.of > 0));
  for (
    const simpler of [{ cron: [] }, { workers: 1, acts: ofFirst }, { weather: { usualMs: 0.1, slow: 0, slowMs: 0 } }]
  ) {
    await fails({ ...best.plan, ...simpler });
  }
  return best;
}
