/**
 * The plan of a soak: which disturbance hits whom, when and for how long. The same seed gives the same plan.
 *
 * @module
 */
import type { Disturbance } from "./disturbance.ts";
import type { Random } from "./random.ts";

/** One disturbance to come. */
export interface Planned {
  readonly disturbance: Disturbance;
  /** When, in milliseconds from the start of the load. */
  readonly at: number;
  readonly forMs: number;
  /** Whom: the place of a program in the list of workers, or of all programs. */
  readonly target: number;
  /** For the choices that are made when its time has come. */
  readonly seed: number;
}

/** The subject of a plan. */
export interface PlanOptions {
  readonly durationMs: number;
  readonly disturbances: readonly Disturbance[];
  readonly workers: number;
  /** Those of the workers that are in other runtimes, the last ones. Their gateways follow them. */
  readonly remotes: number;
  readonly gateways: number;
  readonly pushers: number;
}

/** A disturbance begins at most once in this time, on average. */
const MEAN_GAP_MS = 500;
/** After a disturbance, its target is left alone for this long. */
const WORKER_REST_MS = 2_500;
const STORE_REST_MS = 1_500;
/** Nothing begins in the first moments of the load. */
const CALM_MS = 500;

/** Makes a plan. At least one worker is left alone at any time. */
export function plan(random: Random, options: PlanOptions): Planned[] {
  const { durationMs, disturbances, workers, remotes, gateways, pushers } = options;
  const programs = workers + gateways + pushers;
  const planned: Planned[] = [];
  /** Until when each program, the store and the queues are busy with a disturbance. */
  const busyUntil = new Array<number>(programs + 2).fill(0);
  const store = programs;
  const queue = store + 1;
  const isFree = (target: number, at: number) => {
    if (busyUntil[target]! > at) return false;
    const others = busyUntil.slice(0, workers).filter((until, i) => i !== target && until > at).length;
    return target >= workers || others < workers - 1;
  };
  for (let at = CALM_MS; at < durationMs; at += Math.round(2 * random.next() * MEAN_GAP_MS)) {
    const disturbance = random.pick(disturbances);
    const forMs = Math.round(random.between(...disturbance.forMs));
    const target = {
      worker: random.between(0, workers - 1),
      remote: random.between(workers - remotes, workers - 1),
      gateway: random.between(workers, workers + gateways - 1),
      pusher: random.between(workers + gateways, programs - 1),
      "any program": random.between(0, programs - 1),
      store,
      queue,
    }[disturbance.hits];
    if (!isFree(target, at) || at + forMs > durationMs) continue;
    planned.push({ disturbance, at, forMs, target, seed: random.between(0, 2 ** 31) });
    busyUntil[target] = at + forMs + (target === store ? STORE_REST_MS : WORKER_REST_MS);
  }
  return planned;
}
