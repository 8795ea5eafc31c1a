/**
 * One run of the simulation, from a plan to its result.
 *
 * @module
 */
import type { Ground } from "./ground.ts";
import type { Plan } from "./plan.ts";
import { Random, seedRuntime } from "./random.ts";
import { SIGNALS } from "./signals.ts";
import { Simulation } from "./simulation.ts";
import { Failure, World } from "./world.ts";

const MEMORY = { rss: 100e6, heapTotal: 20e6, heapUsed: 10e6, external: 1e6 };

/** The result of a run. */
export interface Result {
  readonly plan: Plan;
  readonly failure: Failure | undefined;
  /** Differs if the events did, or their order. */
  readonly trace: string;
  readonly events: number;
  readonly log: readonly string[];
}

/** Runs a plan on an emptied store. */
export async function run(ground: Ground, plan: Plan, options: { readonly log?: boolean } = {}): Promise<Result> {
  const world = new World(new Random(plan.seed ^ 0x5eed), options);
  const restore = ownRuntime(world, plan);
  let failure: Failure | undefined;
  try {
    await ground.renew(world);
    await new Simulation({ ground, plan, world }).play();
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    failure = error;
  } finally {
    restore();
  }
  return { plan, failure, trace: world.trace, events: world.events, log: world.log ?? [] };
}

/**
 * Makes the runtime's globals those of the simulation: random numbers, the wall clock, unhandled errors. All simulated processes are
 * one process here, and each of their workers would listen for its errors. Returns a function that restores them.
 */
function ownRuntime(world: World, { seed }: Plan): () => void {
  const restore = seedRuntime(new Random(seed ^ 0xfade), () => world.now);
  const { addEventListener, removeEventListener } = globalThis;
  const { memoryUsage } = Deno;
  const { stackTraceLimit } = Error;
  // The stack of an error takes longer than the rest.
  Error.stackTraceLimit = 0;
  const onRejection = (event: PromiseRejectionEvent) => {
    event.preventDefault();
    world.fail("no error is unhandled", String(event.reason?.stack ?? event.reason));
  };
  addEventListener("unhandledrejection", onRejection);
  globalThis.addEventListener = () => {};
  const { AbortController, AbortSignal } = globalThis;
  Object.assign(globalThis, SIGNALS);
  // Each heartbeat reads it, and it takes as long as a transaction.
  Deno.memoryUsage = () => MEMORY;
  return () => {
    globalThis.addEventListener = addEventListener;
    Object.assign(globalThis, { AbortController, AbortSignal });
    removeEventListener("unhandledrejection", onRejection);
    Deno.memoryUsage = memoryUsage;
    Error.stackTraceLimit = stackTraceLimit;
    restore();
  };
}
