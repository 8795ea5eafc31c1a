/**
 * Performs a plan: each disturbance at its time, several at once where the plan says so.
 *
 * @module
 */
import type { Scene } from "./disturbance.ts";
import type { Planned } from "./plan.ts";
import { Random } from "./random.ts";
import { pause } from "./uptime.ts";

/** The services of disturbances, except for the fields of the plan. */
export interface Stage extends Omit<Scene, "target" | "forMs" | "random"> {
  /** The workers, then the pushers. */
  readonly targets: readonly Scene["target"][];
}

/** Resolves when `durationMs` are over and everything is undone. */
export async function perform(planned: readonly Planned[], stage: Stage, durationMs: number): Promise<void> {
  const start = performance.now();
  const untilAt = (at: number) => pause(start + at - performance.now());
  /** The last disturbance of each target. One that takes longer than planned delays the next. */
  const last = new Map<number, Promise<void>>();
  const performOne = async ({ disturbance, at, forMs, target: place, seed }: Planned, previous?: Promise<void>) => {
    await untilAt(at);
    await previous;
    // A disturbance of the store has no program as its target.
    const target = stage.targets[place] ?? stage.targets[0]!;
    const whom = disturbance.hits === "store" || disturbance.hits === "queue" ? "" : ` ${target.program.name}`;
    stage.incidents.count(disturbance.name, `${forMs} ms${whom}`);
    await disturbance.run({ ...stage, target, forMs, random: new Random(seed) });
  };
  const running = planned.map((one) => {
    const performed = performOne(one, last.get(one.target));
    last.set(one.target, performed);
    return performed;
  });
  await Promise.all([...running, untilAt(durationMs)]);
}
