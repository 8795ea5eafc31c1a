/**
 * The plan of one run: what is pushed, what goes wrong, and what operators do, at which time. It follows from the seed, and any
 * part of it can be left out: so a failing run can be made shorter.
 *
 * @module
 */
import type { CallFault, Weather } from "./link.ts";
import { hasKey, type JobPlan, randomJob, randomSteps, type StepPlan } from "./jobs.ts";
import type { BatchEdit, Edit, StepsEdit } from "./operator.ts";
import { Random } from "./random.ts";
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
  | { readonly do: "limit"; readonly queue: string; readonly running: number | undefined }
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
  readonly weather: Weather;
  readonly cron: readonly CronPlan[];
  readonly acts: readonly Act[];
}

/** The kinds of trouble of one run: most runs have few, so that each is also tried alone. */
const TROUBLES = ["kill", "freeze", "call", "cut", "outage", "jump", "operator"] as const;

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

export function planOf(seed: number): Plan {
  const random = new Random(seed);
  const workers = random.pick([1, 2, 2, 3]);
  const acts: Act[] = [];
  const count = random.pick([2, 4, 9]);
  for (let i = 0; i < count; i++) acts.push(...pushes(random, `j${i}`));
  const troubles = TROUBLES.filter(() => random.chance(0.3));
  for (const trouble of troubles) {
    for (let n = random.between(1, trouble === "operator" ? 8 : 4); n > 0; n--) {
      // Half of it comes soon after a push: then jobs are on their way.
      const at = random.chance(0.5) ? random.pick(acts).at + random.next() * 1_000 : random.next() * TROUBLE_MS;
      acts.push(...troubleOf(random, trouble, Math.min(at, TROUBLE_MS), workers));
    }
  }
  if (random.chance(0.05)) acts.push(...migration(random));
  if (random.chance(0.1)) {
    const crash = { lagMs: random.pick([0, 0, 200, 3_000]), downMs: random.pick([100, 3_000, 8_000]) };
    acts.push({ at: when(random), do: "crash", ...crash });
  }
  const remote = random.chance(0.12);
  if (remote) {
    for (let n = random.between(0, 4); n > 0; n--) {
      acts.push({ at: when(random), ...remoteTrouble(random) });
    }
  }
  // Over a slow line a program learns too late of a timeout for its job to be judged.
  const slow = remote ? 0 : random.pick([0, 0, 0.02, 0.2]);
  return {
    ...{ seed, workers, remote },
    concurrency: random.pick([1, 2, 5]),
    weather: { usualMs: random.pick([0.1, 2, 20]), slow, slowMs: random.pick([300, 3_000]) },
    cron: random.chance(0.3) ? [cronEntry(random)] : [],
    acts: acts.sort((a, b) => a.at - b.at),
  };
}

function when(random: Random): number {
  // Half of all come at once: what is pushed together meets in the queues.
  return random.chance(0.5) ? random.next() * 2_000 : random.next() * TROUBLE_MS * 0.7;
}

/** Returns a push, perhaps with another one that has the same key, or the cancel of its batch. */
function pushes(random: Random, id: string): Act[] {
  const at = when(random);
  const first: Act = { at, ...push(random, id) };
  const soon = at + random.next() * 2_000;
  if (first.do === "push" && hasKey(first.job) && random.chance(0.7)) {
    return [first, { at: soon, do: "push", job: { ...first.job, id: `${id}k` } }];
  }
  const isGroup = first.do === "batch" || first.do === "flow";
  if (!isGroup || !random.chance(0.2)) return [first];
  const cancel: Act = { at: soon, do: "edit batch", how: "cancel", nth: -1 };
  // A cancel that is interrupted.
  const fault: Act = { at: soon + random.next() * 20, do: "call", of: "operator", fault: "lost before" };
  return [first, cancel, ...(random.chance(0.3) ? [fault] : [])];
}

/** Returns a migration, perhaps of a job that is cancelled just before, and whose worker doesn't learn of it, and of one that waits for its child. */
function migration(random: Random): Act[] {
  const at = when(random) + 500;
  const cancel: Act = { at: at - 100, do: "edit", how: "cancel", nth: random.between(0, 20), mishap: "lost" };
  const child = randomJob(random, "mc0", { member: true });
  // Half of the time the parent still runs, and its child is to come: then the child is migrated first.
  const step: StepPlan = random.chance(0.5)
    ? { kind: "child", job: child }
    : { kind: "both", ms: 5_000, child: { ...child, options: { ...child.options, in: 3 } } };
  const parent: Act = { at: Math.max(0, at - 1_500), do: "steps", id: "m", steps: [step], expires: false };
  const before = [cancel, parent].filter(() => random.chance(0.5));
  return [...before, { at, do: "migrate", serves: random.chance(0.5) }];
}

function push(random: Random, id: string): Deed {
  const jobs = (most: number, name: string) =>
    Array.from({ length: random.between(1, most) }, (_, i) => randomJob(random, `${id}${name}${i}`, { member: true }));
  switch (random.weighted({ push: 11, bulk: 1, batch: 2, flow: 2, steps: 3, signal: 2 })) {
    case "push":
      return { do: "push", job: randomJob(random, id) };
    case "bulk":
      return {
        do: "bulk",
        jobs: Array.from({ length: random.between(2, 10) }, (_, i) => randomJob(random, `${id}b${i}`)),
      };
    case "batch":
      return { do: "batch", id, jobs: jobs(4, "m"), inner: random.chance(0.3) ? jobs(3, "n") : [] };
    case "flow":
      return { do: "flow", id, nodes: flowOf(random, id) };
    case "steps":
      return { do: "steps", id, steps: randomSteps(random, id), expires: random.chance(0.25) };
    case "signal":
      return { do: "signal", key: `key${random.between(0, 2)}` };
  }
}

function flowOf(random: Random, id: string): NodePlan[] {
  return Array.from({ length: random.between(2, 5) }, (_, i) => ({
    job: randomJob(random, `${id}f${i}`, { member: true }),
    after: Array.from({ length: i }, (_, before) => before).filter(() => random.chance(0.5)),
    onDead: random.pick(["stop", "continue"] as const),
  }));
}

function troubleOf(random: Random, trouble: typeof TROUBLES[number], at: number, workers: number): Act[] {
  const of = random.between(0, workers - 1);
  switch (trouble) {
    case "kill":
      return [{ at, do: "kill", of, downMs: random.pick([10, 1_000, 12_000]) }];
    case "freeze":
      return [{ at, do: "freeze", of, forMs: random.pick([500, 3_000, 8_000, 16_000]), inTake: random.chance(0.3) }];
    case "call": {
      const places = Array.from({ length: workers }, (_, i) => i);
      if (random.chance(0.1)) return lateTake(random, at, of);
      const fault = random.pick(["lost before", "lost after", "lost after", "late"] as const);
      return Array.from(
        { length: random.pick([1, 1, 5]) },
        () => ({ at, do: "call", of: random.pick(["client", "operator", ...places, ...places]), fault }),
      );
    }
    case "cut":
      return [{ at, do: "cut", of, forMs: random.pick([500, 5_000, 12_000]) }];
    case "outage":
      return [{ at, do: "outage", forMs: random.pick([500, 5_000, 15_000]) }];
    case "jump":
      return [{
        at,
        do: "jump",
        of: random.pick([of, "store", "all"]),
        byMs: random.pick([-MAX_JUMP_MS, -3_000, 3_000, MAX_JUMP_MS]),
      }];
    case "operator": {
      const deed = operatorAct(random, of);
      if (deed.do !== "edit" || !deed.mishap?.includes("stop")) return [{ at, ...deed }];
      // A job that outlasts the stop of its worker.
      const job: JobPlan = { id: `x${random.word()}`, spec: { ms: 5_000 }, options: { queue: "high", retry: 2 } };
      return [{ at: at - 200, do: "push", job }, { at, ...deed }];
    }
  }
}

/** Returns a take that is late, while jobs wait for it. */
function lateTake(random: Random, at: number, of: number): Act[] {
  const id = `l${random.word()}`;
  const jobs = Array.from(
    { length: 20 },
    (_, i) => ({ id: `${id}b${i}`, spec: { ms: 5_000 }, options: { queue: "high" } }),
  );
  return [{ at, do: "call", of, fault: "late take" }, { at: at + random.next() * 1_000, do: "bulk", jobs }];
}

function remoteTrouble(random: Random): Deed {
  if (random.chance(0.3)) {
    return { do: "call", of: "program", fault: random.pick(["lost before", "lost after", "late"] as const) };
  }
  const how = random.pick(
    ["kill program", "kill server", "freeze program", "freeze server", "stop program"] as const,
  );
  return { do: "remote", how, forMs: random.pick([10, 1_000, 5_000, 15_000]) };
}

function operatorAct(random: Random, of: number): Deed {
  const nth = random.between(0, 20);
  switch (random.weighted({ restart: 2, quiet: 1, edit: 5, pause: 1, limit: 1, batch: 2, steps: 5 })) {
    case "restart":
      return { do: "restart", of };
    case "quiet":
      return { do: "quiet", of, forMs: random.between(500, 10_000) };
    case "edit": {
      const how = random.pick(["retry", "kill", "cancel", "cancel", "delete", "move"] as const);
      const mishap = random.pick(["none", "lost", "stop", "lost, stop", "kill"] as const);
      return { do: "edit", how, nth, ...(how === "cancel" && { mishap }) };
    }
    case "pause":
      return { do: "pause", queue: random.pick(["default", "narrow"]), forMs: random.between(500, 8_000) };
    case "limit":
      return { do: "limit", queue: random.pick(["default", "low"]), running: random.pick([1, 2, undefined]) };
    case "batch":
      return { do: "edit batch", nth, how: random.pick(["cancel", "retry", "check"] as const) };
    case "steps":
      return { do: "edit steps", nth, how: random.pick(["clear", "rerun", "wake", "kill"] as const) };
  }
}

function cronEntry(random: Random): CronPlan {
  return {
    name: "tick",
    class: "Tick",
    every: random.pick(["5s", "20s"]),
    args: [random.pick([10, 2_000])],
    overlap: random.pick(["allow", "skip", "queue-one", "replace"]),
    catchUp: random.pick(["none", "last", "all"]),
  };
}
