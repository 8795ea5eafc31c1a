/**
 * The plan of one run: what is pushed, what goes wrong, and what operators do, at which time. It follows from the seed, and any
 * part of it can be left out: so a failing run can be made shorter.
 *
 * @module
 */
import type { CallFault, Weather } from "./link.ts";
import type { JobPlan, StepPlan } from "./jobs.ts";
import type { BatchEdit, Edit, StepsEdit } from "./operator.ts";
import type { RemoteTrouble } from "./remote.ts";

/** Until then jobs are pushed, and things go wrong. */
export const TROUBLE_MS = 12_000;

/** A store forgets after two minutes which calls it has performed: a late one is performed twice if the clock is set further. */
export const MAX_JUMP_MS = 30_000;

/** One node of a flow: its job, and the positions of the nodes before it. */
export interface NodePlan {
  readonly job: JobPlan;
  readonly after: readonly number[];
  readonly onDead: "stop" | "continue";
}

export type Act = { readonly at: number } & Deed;

export type Deed =
  | { readonly do: "push"; readonly job: JobPlan }
  | { readonly do: "bulk"; readonly jobs: readonly JobPlan[] }
  | { readonly do: "batch"; readonly id: string; readonly jobs: readonly JobPlan[]; readonly inner: readonly JobPlan[] }
  | { readonly do: "flow"; readonly id: string; readonly nodes: readonly NodePlan[] }
  | { readonly do: "steps"; readonly id: string; readonly steps: readonly StepPlan[]; readonly expires: boolean }
  | { readonly do: "signal"; readonly key: string }
  /** Things that go wrong. `of` is the number of a place for a worker; what runs there at that time is hit. */
  | { readonly do: "kill"; readonly of: number; readonly downMs: number }
  /** `inTake`: once the store has given it jobs that it hasn't received. */
  | { readonly do: "freeze"; readonly of: number; readonly forMs: number; readonly inTake: boolean }
  /** A handler keeps the event loop; `ahead`: soon after the next take. Only of workers with threads. */
  | { readonly do: "block"; readonly of: number; readonly forMs: number; readonly ahead: boolean }
  | { readonly do: "call"; readonly of: number | "client" | "operator" | "program"; readonly fault: CallFault }
  | { readonly do: "cut"; readonly of: number; readonly forMs: number }
  | { readonly do: "outage"; readonly forMs: number }
  | { readonly do: "jump"; readonly of: number | "store" | "all"; readonly byMs: number }
  | { readonly do: "remote"; readonly how: RemoteTrouble; readonly forMs: number }
  /** `serves`: workers use the target before everything is there. */
  | { readonly do: "migrate"; readonly serves: boolean }
  /** The store's machine fails. `lagMs`: its replica, which takes its place, lacks what was stored within this time. */
  | { readonly do: "crash"; readonly lagMs: number; readonly downMs: number }
  /** Operators. */
  | { readonly do: "restart"; readonly of: number }
  | { readonly do: "quiet"; readonly of: number; readonly forMs: number }
  | { readonly do: "edit"; readonly how: Edit; readonly nth: number; readonly mishap?: Mishap }
  | { readonly do: "pause"; readonly queue: string; readonly forMs: number }
  | { readonly do: "limit"; readonly queue: string; readonly running: number | undefined; readonly starts?: string }
  | { readonly do: "edit batch"; readonly how: BatchEdit; readonly nth: number }
  | { readonly do: "edit steps"; readonly how: StepsEdit; readonly nth: number };

/** A mishap of the worker of a cancelled job: it loses its command, and stops or dies before the job has ended. */
export type Mishap = "none" | "lost" | "stop" | "lost, stop" | "kill";

/** A cron entry. */
export interface CronPlan {
  readonly name: string;
  readonly class: string;
  readonly every: "5s" | "20s";
  readonly args: readonly number[];
  readonly overlap: "allow" | "skip" | "queue-one" | "replace";
  readonly catchUp: "none" | "last" | "all";
}

export interface Plan {
  readonly seed: number;
  /** Places for workers. */
  readonly workers: number;
  readonly concurrency: number;
  /** Whether one more worker is a program that speaks HTTP. */
  readonly remote: boolean;
  /** Whether the worker at each place has the name of the place: the next one can't start before the store has freed it. */
  readonly named: boolean;
  /** Whether workers send their heartbeats from a thread. */
  readonly threads: boolean;
  /** Whether jobs run in isolated processes. */
  readonly isolated: boolean;
  /** Whether a webhook gets all events. */
  readonly hooked: boolean;
  readonly weather: Weather;
  readonly cron: readonly CronPlan[];
  readonly acts: readonly Act[];
}

/** Whether an act may make a job run twice, or end otherwise than its handler says. */
export function isTrouble(act: Act): boolean {
  return !["push", "bulk", "batch", "flow", "steps", "signal"].includes(act.do);
}

/** Returns how long all handlers of some acts run, one after the other. */
export function workMs(acts: readonly Act[]): number {
  let sum = 0;
  JSON.stringify(acts, (_, value) => {
    if (typeof value?.ms === "number") sum += value.ms * (1 + (value.fails ?? 0));
    return value;
  });
  return sum;
}
