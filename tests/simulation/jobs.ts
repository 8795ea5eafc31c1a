/**
 * The jobs of a simulation: what they are pushed with, and what their handlers do.
 *
 * @module
 */
import type { JobContext } from "../../src/handlers/context.ts";
import { Registry } from "../../src/handlers/registry.ts";
import { Discard, Kill, Snooze } from "../../src/job/errors.ts";
import { Asleep, Released } from "../../src/steps/errors.ts";
import { type Notice, WEBHOOK_CLASS } from "../../src/job/webhook.ts";
import { HOOK } from "./hook_rules.ts";
import type { Model, Run } from "./model.ts";
import type { Random } from "./random.ts";
import type { Machine } from "./world.ts";

/** The queues of all workers. */
export const QUEUES = ["high", "default", "narrow", "grouped", "low"] as const;
/** How many jobs of queue `narrow` may run at the same time, and of each group of `grouped`. */
export const NARROW = 2;
export const GROUP_LIMIT = 1;

/** The behaviour of a job's handler. */
export interface WorkSpec {
  /** How long it takes. */
  readonly ms: number;
  /** It doesn't look at its signal. */
  readonly deaf?: boolean;
  /** Its first attempts fail, this many. */
  readonly fails?: number;
  readonly end?: "discard" | "kill" | "snooze" | "crash";
  /** It writes this many chunks to its stream, over that time. */
  readonly chunks?: number;
  /** Another client writes it, see `foreign.ts`. */
  readonly foreign?: true;
}

/** A job to push. */
export interface JobPlan {
  /** Unique in its run; the first argument. */
  readonly id: string;
  readonly spec: WorkSpec;
  readonly options: Readonly<Record<string, unknown>>;
}

/** One step of a job with durable steps. */
export type StepPlan =
  | { readonly kind: "step"; readonly ms: number; readonly fails: number }
  | { readonly kind: "sleep"; readonly ms: number }
  | { readonly kind: "wait"; readonly key: string; readonly ms: number }
  | { readonly kind: "child"; readonly job: JobPlan }
  | { readonly kind: "both"; readonly ms: number; readonly child?: JobPlan }
  /** A step that fails for good, and the one that makes up for it. */
  | { readonly kind: "undo"; readonly ms: number }
  /** An iteration over items. */
  | { readonly kind: "each"; readonly ms: number; readonly items: number };

const RETRY = { backoff: { type: "fixed", base: 1 } } as const;

const TRAITS = ["deaf", "fails", "end", "priority", "in", "timeout", "result"] as const;
const KEYS = ["unique", "replace", "once", "debounce", "throttle", "expires"] as const;
const STEPS = ["step", "sleep", "wait", "child", "both"] as const;

/** The options and behaviours that the jobs of one run may have. */
export interface Traits {
  readonly traits: readonly typeof TRAITS[number][];
  readonly keys: readonly typeof KEYS[number][];
  readonly steps: readonly typeof STEPS[number][];
  readonly queues: readonly typeof QUEUES[number][];
  readonly durations: readonly number[];
}

export function randomTraits(random: Random): Traits {
  return {
    traits: TRAITS.filter(() => random.chance(0.3)),
    keys: KEYS.filter(() => random.chance(0.2)),
    steps: random.some(STEPS, 0.5),
    queues: random.some(QUEUES, 0.4),
    durations: random.some([0, 5, 100, 200, 1_200, 2_000, 5_000], 0.4),
  };
}

export function randomJob(
  random: Random,
  id: string,
  { traits, keys, queues, durations }: Traits,
  { member = false } = {},
): JobPlan {
  const has = (trait: typeof TRAITS[number]) => traits.includes(trait) && random.chance(0.4);
  const spec = {
    ms: random.pick(durations),
    ...(has("deaf") && { deaf: true }),
    ...(has("fails") && { fails: random.between(1, 3) }),
    ...(has("end") && { end: random.pick(["discard", "kill", "snooze", "crash"] as const) }),
  };
  const key = !member && random.chance(0.7) && keys.length > 0 ? random.pick(keys) : undefined;
  const queue = key === undefined || key === "expires" ? random.pick(queues) : "default";
  const options: Record<string, unknown> = { ...RETRY, queue, retry: random.pick([0, 2, 4]) };
  if (queue === "grouped") options["group"] = `g${random.between(0, 1)}`;
  if (queue === "default" && has("priority")) options["priority"] = random.pick(["high", "low"]);
  if (key !== "debounce" && has("in")) options["in"] = random.between(1, 8);
  if (has("timeout")) options["timeout"] = 1;
  if (has("result")) options["result_ttl"] = 3_600;
  switch (key) {
    case "unique":
      Object.assign(options, { unique_for: "1h", unique_key: `u${random.between(0, 1)}` });
      if (random.chance(0.3)) options["unique_until"] = "start";
      break;
    case "replace":
      Object.assign(options, { unique_for: "1h", unique_key: "r", on_duplicate: "replace" });
      break;
    case "once":
      options["id"] = `once${random.between(0, 1)}`;
      break;
    case "debounce":
      Object.assign(options, { debounce: 3, debounce_key: "d" });
      break;
    case "throttle":
      Object.assign(options, { throttle: "1/10s", throttle_key: "t" });
      break;
    case "expires":
      options["expires_in"] = 2;
      break;
  }
  return { id, spec, options };
}

export function randomSteps(random: Random, id: string, traits: Traits): StepPlan[] {
  return Array.from({ length: random.between(1, 3) }, (_, i): StepPlan => {
    switch (random.pick(traits.steps)) {
      case "step":
        return { kind: "step", ms: random.pick([0, 300, 4_000, 4_000]), fails: random.pick([0, 0, 1]) };
      case "sleep":
        return { kind: "sleep", ms: random.pick([1, 2, 5]) * 1_000 };
      case "wait":
        return { kind: "wait", key: `key${random.between(0, 1)}`, ms: random.pick([2_000, 10_000]) };
      case "child":
        return { kind: "child", job: randomJob(random, `${id}c${i}`, traits, { member: true }) };
      case "both":
        return { kind: "both", ms: random.pick([0, 500]) };
    }
  });
}

/** Returns a step that few jobs have. */
export function rareStep(random: Random): StepPlan {
  const ms = random.pick([0, 1_000, 8_000]);
  return random.chance(0.5) ? { kind: "undo", ms } : { kind: "each", ms, items: random.between(1, 5) };
}

/** Returns whether it depends on other pushes whether a job is stored. */
export function hasKey({ options }: JobPlan): boolean {
  return Object.keys(options).some((name) => name.endsWith("_key") || name === "id");
}

/** Returns how a job ends, by its plan. */
export function expected({ spec, options }: JobPlan): "succeed" | "die" | "kill" | "discard" | "crash" {
  const fails = options["timeout"] !== undefined && spec.ms >= 1_000 ? Infinity : spec.fails ?? 0;
  if (fails > Number(options["retry"])) return "die";
  return spec.end === "discard" || spec.end === "kill" || spec.end === "crash" ? spec.end : "succeed";
}

/** Returns how a run ended that threw. A job that sleeps, or waits for the next attempt of a step, has not failed. */
function how(error: unknown, { aborted }: AbortSignal): Run["how"] {
  if (aborted || error instanceof Released || error instanceof Asleep) return "aborted";
  return error instanceof Snooze ? "snoozed" : "failed";
}

/** The module that isolated processes load. */
const MODULE = "handlers.ts";
/** The classes that may be isolated. */
export const ISOLATED = ["Work", "Saga"];

/**
 * Returns the handlers of a process.
 *
 * @param worker where its worker is: on that machine, unless the process is an isolated one
 */
export function handlersOn(machine: Machine, model: Model, worker = machine): Registry {
  /** Runs a handler's code, which the model watches. */
  const watched = (id: string, run: (ctx: JobContext, noted: Run) => Promise<unknown>) => async (ctx: JobContext) => {
    const noted = await model.begin(id, ctx, worker, machine);
    try {
      const result = await run(ctx, noted);
      // An attempt that outlives its timeout has failed, whatever it returns. One that outlives a stop has not.
      const { aborted, reason } = ctx.signal;
      model.end(noted, aborted && reason.name !== "Shutdown" ? "aborted" : "returned");
      return result;
    } catch (error) {
      model.end(noted, how(error, ctx.signal));
      throw error;
    }
  };
  const nap = async (ctx: JobContext, { ms, deaf }: Pick<WorkSpec, "ms" | "deaf">) => {
    await machine.clock.sleep(ms, deaf ? undefined : ctx.signal);
    if (!deaf) ctx.throwIfAborted();
  };
  const work = (ctx: JobContext, id: string, spec: WorkSpec) =>
    watched(id, async (ctx, run) => {
      const { chunks = 0 } = spec;
      for (let i = 0; i < chunks; i++) {
        await ctx.stream(model.streams.chunk(run));
        await nap(ctx, { ...spec, ms: spec.ms / chunks });
      }
      if (chunks === 0) await nap(ctx, spec);
      if (spec.end === "crash") {
        model.hit(worker);
        machine.onCrash();
        await new Promise(() => {});
      }
      if (spec.end === "snooze" && model.runsOf(id).every(({ how }) => how !== "snoozed")) throw new Snooze(2);
      if (run.attempt <= (spec.fails ?? 0)) throw new Error(`attempt ${run.attempt} of ${id} fails`);
      if (spec.end === "discard") throw new Discard("as planned");
      if (spec.end === "kill") throw new Kill("as planned");
      return `${id} ${ctx.jid}`;
    })(ctx);

  const registry = new Registry();
  if (model.hooks) {
    registry.addInternal(
      WEBHOOK_CLASS + HOOK.name,
      (_ctx, notice: Notice) => model.hooks?.delivered(notice),
      {},
      "configuration",
    );
  }
  return registry
    .add("Work", work, {}, MODULE)
    .add("Callback", (ctx, id: string) => watched(id, (ctx) => nap(ctx, { ms: 5 }))(ctx))
    .add("Tick", (ctx, ms: number) => {
      const occurrence = ctx.occurrence?.scheduledAt;
      const id = `tick ${occurrence}`;
      return watched(id, (ctx) => nap(ctx, { ms }))(ctx);
    }, { retry: 0, queue: "low", dead: false })
    .add(
      "Saga",
      (ctx, id: string, steps: readonly StepPlan[]) =>
        watched(id, async (ctx, run) => {
          const once = (name: string, body: (attempt: number) => Promise<unknown>, retry = 0) =>
            ctx.step(name, async ({ attempt }) => {
              await model.steps.runs(id, name, run);
              await body(attempt);
              return `${name} at ${machine.world.time}`;
            }, retry > 0 ? { retry, backoff: 1 } : {}).then((value) => model.steps.returned(id, name, run, value));
          const child = async (name: string, job: JobPlan) => {
            model.steps.waits(name, run);
            const value = await ctx.run(name, "Work", [job.id, job.spec], job.options).catch((error: Error) => {
              if (error.name !== "ChildFailed") throw error;
            });
            model.steps.childEnded(id, run, name, job, model.steps.returned(id, name, run, value));
          };
          const sleep = async (name: string, ms: number) => {
            model.steps.waits(name, run);
            await ctx.sleep(name, ms / 1_000);
            model.steps.timedOut(id, name, run, ms);
          };
          for (const [i, step] of steps.entries()) {
            const name = `${step.kind}${i}`;
            switch (step.kind) {
              case "step":
                await once(name, async (attempt) => {
                  await nap(ctx, step);
                  if (attempt <= step.fails) throw new Error(`attempt ${attempt} of ${name} fails`);
                }, step.fails + 1);
                break;
              case "sleep":
                await sleep(name, step.ms);
                break;
              case "wait": {
                model.steps.waits(name, run);
                const signal = await ctx.waitFor(name, { key: step.key, timeout: step.ms / 1_000 });
                model.steps.returned(id, name, run, signal);
                if (typeof signal === "number") model.steps.received(signal, `${id} ${name}`);
                else model.steps.timedOut(id, name, run, step.ms);
                break;
              }
              case "child":
                await child(name, step.job);
                break;
              case "undo": {
                const failing = once(name, () => Promise.reject(new Error(`${name} fails`)), 2);
                const reason = await failing.catch((error: Error) => {
                  if (error.name !== "StepFailed") throw error;
                  return error.message;
                });
                model.steps.returned(id, name, run, reason);
                await once(`${name} undone`, () => nap(ctx, step));
                break;
              }
              case "each": {
                const items = (after = 0) => Array.from({ length: step.items - after }, (_, item) => after + item + 1);
                const done = await ctx.each(name, items, async (item) => {
                  model.steps.item(id, name, run, item);
                  await nap(ctx, { ms: step.ms / step.items });
                  model.steps.itemDone(name, run, item);
                }, { cursor: (item) => item });
                model.steps.item(id, name, run, step.items + 1);
                model.steps.returned(id, name, run, done);
                break;
              }
              case "both":
                await Promise.all([
                  once(`${name}a`, () => nap(ctx, step)),
                  sleep(`${name}b`, 1_000),
                  once(`${name}c`, () => nap(ctx, { ms: 100 })),
                  ...(step.child ? [child(`child of ${name}`, step.child)] : []),
                ]);
            }
          }
          return id;
        })(ctx),
      { retry: 5, ...RETRY, queue: "default" },
      MODULE,
    );
}
