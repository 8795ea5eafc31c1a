/**
 * The rules of keys: unique jobs, replaced ones, idempotent pushes, debounce and throttle.
 *
 * @module
 */
import type { JobPlan } from "./jobs.ts";
import type { Model, Run } from "./model.ts";
import type { World } from "./world.ts";

/** The window of the throttled pushes, in milliseconds. */
export const THROTTLE_MS = 10_000;
/** A lock ends within this time after its job. */
const SETTLE_MS = 10_000;

/** A push, and its reply. `unknown`: it failed, and may have stored the job. */
export interface Push {
  readonly plan: JobPlan;
  readonly sent: number;
  state: "unknown" | "stored" | "refused" | "replaced" | "existed";
  jid: string | undefined;
  answered: number | undefined;
}

export class KeyRules {
  readonly #world: World;
  readonly #model: Model;

  constructor(world: World, model: Model) {
    this.#world = world;
    this.#model = model;
  }

  /** Checks a run against the others that are surely running, and against the pushes that replaced it. */
  begins(run: Run, running: readonly Run[]): void {
    const own = this.#pushOf(run.id);
    const key = own && keyOf(own);
    if (own === undefined || key === undefined) return;
    const twin = running.map((other) => this.#pushOf(other.id)).find((other) =>
      other !== undefined && other.jid !== own.jid && locks(own) && locks(other) && keyOf(other) === key &&
      !this.#isTouched(other)
    );
    if (twin && !this.#isTouched(own) && !this.#model.isSplit) {
      this.#world.fail("of a unique key one job runs", `${run.id} begins while ${twin.plan.id} runs`);
    }
    const later = this.#model.pushes.values().find((other) =>
      other.state === "replaced" && other.jid === own.jid && keyOf(other) === key && isBefore(own, other)
    );
    if (later && own.jid === run.jid && !this.#model.wasHit(run.machine, own.sent, run.start)) {
      this.#world.fail("a replaced push doesn't run", `${run.id} begins, and ${later.plan.id} has replaced it`);
    }
  }

  /** Checks a reply against the pushes before it. */
  answered(own: Push): void {
    const key = keyOf(own);
    if (key === undefined || this.#model.clocksJumped || this.#model.isUndone) return;
    const others = [...this.#model.pushes.values()].filter((other) => other !== own && keyOf(other) === key);
    const { throttle } = own.plan.options;
    const since = throttle === undefined ? own.sent - SETTLE_MS : own.sent - THROTTLE_MS;
    if (own.state === "refused") {
      const hasReason = others.some((other) =>
        other.state !== "refused" &&
        (throttle === undefined ? !this.#isOver(other, since) : (other.answered ?? Infinity) >= since)
      );
      if (!hasReason) this.#world.fail("a refused push has a reason", `${own.plan.id} is refused (${key})`);
    } else if (throttle !== undefined) {
      const early = others.find((other) => other.state === "stored" && other.sent > own.answered! - THROTTLE_MS);
      if (early) this.#world.fail("a throttle holds", `${own.plan.id} is stored as soon after ${early.plan.id}`);
    }
  }

  judge(): void {
    if (this.#model.isUndone) return;
    const byKey = Map.groupBy(this.#model.pushes.values().filter((push) => keyOf(push) !== undefined), keyOf);
    for (const [key, pushes] of byKey) {
      if (key!.startsWith("id ")) this.#judgeOnce(key!, pushes);
      else this.#judgeLast(key!, pushes);
    }
  }

  #judgeOnce(key: string, pushes: readonly Push[]): void {
    const ran = new Set(pushes.flatMap(({ plan }) => this.#model.runsOf(plan.id).map(({ jid }) => jid)));
    if (ran.size > 1) this.#world.fail("an id stores one job", `${key} has ${[...ran].join(" and ")}`);
  }

  /** Of the pushes that replace each other, the last one runs. */
  #judgeLast(key: string, pushes: readonly Push[]): void {
    for (const push of pushes) {
      const { debounce, on_duplicate } = push.plan.options;
      if (debounce === undefined && on_duplicate === undefined) continue;
      if (push.state !== "stored" && push.state !== "replaced" || this.#isTouched(push)) continue;
      const mayBeReplaced = pushes.some((other) =>
        other !== push && (other.state === "replaced" && other.jid === push.jid || other.state === "unknown") &&
        (other.answered ?? Infinity) > push.sent
      );
      if (!mayBeReplaced && this.#model.runsOf(push.plan.id).length === 0) {
        this.#world.fail("the last push runs", `${push.plan.id} (${push.jid}, ${key}) never ran`);
      }
    }
  }

  /** Whether a job has surely ended by some time, or has given its lock back. */
  #isOver({ plan, jid, state }: Push, by: number): boolean {
    // A key of an idempotent push outlives its job.
    if (state === "unknown" || plan.options["id"] !== undefined) return false;
    const runs = this.#model.runsOf(plan.id).filter((run) => run.jid === jid);
    return runs.some((run) => {
      const end = plan.options["unique_until"] === "start" ? run.start : run.how === "returned" ? run.end! : Infinity;
      return end < by && !this.#model.wasHit(run.machine, run.start, end + SETTLE_MS);
    });
  }

  #pushOf(id: string): Push | undefined {
    return this.#model.pushes.get(id);
  }

  /** Whether an operator has changed its job, perhaps by a call that was sent before the push replaced it. */
  #isTouched({ plan, jid }: Push): boolean {
    return this.#model.touched.has(plan.id) || jid !== undefined && this.#model.isTouchedJob(jid);
  }
}

/** Returns the key that a push shares with others. */
function keyOf({ plan: { options } }: Push): string | undefined {
  const { unique_key, debounce_key, throttle_key, id } = options;
  return unique_key !== undefined
    ? `unique ${unique_key}`
    : debounce_key !== undefined
    ? `debounce ${debounce_key}`
    : throttle_key !== undefined
    ? `throttle ${throttle_key}`
    : id === undefined
    ? undefined
    : `id ${id}`;
}

/** Whether its job holds the lock until it ends. */
function locks({ plan: { options } }: Push): boolean {
  return options["unique_key"] !== undefined && options["unique_until"] === undefined;
}

/** Whether one push was answered before another was sent. */
function isBefore(one: Push, other: Push): boolean {
  return one.answered !== undefined && one.answered < other.sent;
}
