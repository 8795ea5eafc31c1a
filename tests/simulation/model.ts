/**
 * The model: what was pushed, what ran and how it ended, and the rules that must hold between them. Rules about one moment are
 * checked at that moment, those about the outcome at the end (`judge`).
 *
 * A run that was hit by trouble may be repeated: its process was killed, frozen, cut off, or an operator acted at that time. A run
 * that wasn't hit is never repeated.
 *
 * @module
 */
import type { JobContext } from "../../src/handlers/context.ts";
import { GROUP_LIMIT, type JobPlan, NARROW, type StepPlan } from "./jobs.ts";
import type { Machine, World } from "./world.ts";

/** One call of a handler. */
export interface Run {
  readonly id: string;
  readonly jid: string;
  readonly attempt: number;
  readonly queue: string;
  readonly group: string | undefined;
  readonly machine: Machine;
  readonly start: number;
  end: number | undefined;
  /** `aborted`: its signal aborted, or it sleeps. */
  how: "returned" | "failed" | "snoozed" | "aborted" | undefined;
}

/** A push, and its reply. `unknown`: it failed, and may have stored the job. */
interface Push {
  readonly plan: JobPlan;
  state: "unknown" | "stored" | "refused" | "replaced";
  jid: string | undefined;
}

/** A batch or a flow. */
export interface Group {
  readonly id: string;
  readonly kind: "batch" | "flow";
  readonly members: readonly JobPlan[];
  /** Of a flow: the positions of the members before each. */
  readonly after?: readonly { readonly before: readonly number[]; readonly onDead: "stop" | "continue" }[];
  /** Whether it was closed: its callbacks are promised. */
  isClosed: boolean;
}

/** After trouble, its effects last for this long: a heartbeat must lapse, a rescue must come, clocks must agree again. */
const AFTERMATH_MS = 45_000;

/** An outcome is stored this soon, unless there is trouble. */
const SETTLE_MS = 10_000;

export class Model {
  readonly pushes = new Map<string, Push>();
  readonly groups = new Map<string, Group>();
  readonly sagas = new Map<string, { readonly steps: readonly StepPlan[]; isStored: boolean }>();
  /** Jobs that an operator has changed: only that they end is known. */
  readonly touched = new Set<string>();
  readonly #world: World;
  readonly #runs = new Map<string, Run[]>();
  readonly #running = new Set<Run>();
  /** Times of trouble, of one machine or of all. */
  readonly #hits: { readonly machine: Machine | undefined; readonly from: number; readonly to: number }[] = [];
  readonly #remembered = new Set<string>();
  readonly #signals = new Map<number, string>();
  readonly #occurrences = new Map<string, string>();

  constructor(world: World) {
    this.#world = world;
  }

  /** Notes trouble from now on; of all machines without one. */
  hit(machine: Machine | undefined, forMs = 0): void {
    this.#hits.push({ machine, from: this.#world.time, to: this.#world.time + forMs + AFTERMATH_MS });
  }

  /** Whether trouble may have touched a machine between two times. */
  wasHit(machine: Machine, from: number, to: number): boolean {
    return this.#hits.some((hit) => (hit.machine ?? machine) === machine && hit.from <= to && hit.to >= from);
  }

  runsOf(id: string): readonly Run[] {
    return this.#runs.get(id) ?? [];
  }

  begin(id: string, { jid, attempt, queue, payload }: JobContext, machine: Machine): Run {
    const world = this.#world;
    const group = payload["group"] as string | undefined;
    const run: Run = { id, jid, attempt, queue, group, machine, start: world.time, end: undefined, how: undefined };
    const healthy = [...this.#running].filter((other) => !this.wasHit(other.machine, other.start, world.time));
    world.note(`${machine.name} begins ${id} (attempt ${attempt}, ${jid})`);
    const twin = healthy.find((other) => other.jid === jid);
    if (twin) {
      world.fail(
        "a job runs once at a time",
        `${id} begins on ${machine.name}, and still runs on ${twin.machine.name}`,
      );
    }
    if (queue === "narrow" && healthy.filter((other) => other.queue === "narrow").length >= NARROW) {
      world.fail("limits hold", `${id} begins while ${NARROW} jobs of its queue run`);
    }
    if (queue === "grouped" && group !== undefined) {
      const others = healthy.filter((other) => other.queue === queue && other.group === group);
      if (others.length >= GROUP_LIMIT) {
        world.fail("limits hold", `${id} begins while ${others[0]!.id} of its group runs`);
      }
    }
    this.#checkOrder(run);
    const runs = this.#runs.get(id);
    if (runs) runs.push(run);
    else this.#runs.set(id, [run]);
    this.#running.add(run);
    return run;
  }

  end(run: Run, how: Run["how"]): void {
    run.end = this.#world.time;
    run.how = how;
    this.#running.delete(run);
    this.#world.note(`${run.machine.name} ends ${run.id}: ${how}`);
  }

  /** Notes that an operator changes a job: of it, and of all that may depend on it, only that they end is known. */
  touchJob(jid: string): void {
    for (const [id, push] of this.pushes) if (push.jid === jid || push.jid === undefined) this.touched.add(id);
    this.touchGroups();
  }

  /** Notes that an operator changes a batch, a flow, or a job that may be of one. */
  touchGroups(): void {
    this.hit(undefined);
    for (const [id, { members }] of this.groups) {
      for (const one of [id, ...members.map(({ id }) => id)]) this.touched.add(one);
    }
    for (const [id, { steps }] of this.sagas) {
      this.touched.add(id);
      for (const step of steps) if (step.kind === "child") this.touched.add(step.job.id);
    }
  }

  /** Notes that a machine was killed: its runs never end. */
  killed(machine: Machine): void {
    for (const run of this.#running) if (run.machine === machine) this.#running.delete(run);
  }

  /** A step's function runs. */
  step(id: string, name: string, run: Run): void {
    const key = `${run.jid} ${name}`;
    if (this.#remembered.has(key) && !this.touched.has(id)) {
      this.#world.fail("a stored step doesn't run again", `${name} of ${id}`);
    }
  }

  /** A step's result is stored. */
  remembered(id: string, name: string, run: Run): void {
    if (!this.touched.has(id)) this.#remembered.add(`${run.jid} ${name}`);
  }

  /** A wait has ended, with a signal or without. */
  received(signal: unknown, by: string): void {
    if (typeof signal !== "number") return;
    const other = this.#signals.get(signal);
    if (other !== undefined && other !== by) {
      this.#world.fail("a signal ends one wait", `signal ${signal} ended ${other} and ${by}`);
    }
    this.#signals.set(signal, by);
  }

  occurrence(id: string, jid: string): void {
    const other = this.#occurrences.get(id);
    if (other !== undefined && other !== jid) {
      this.#world.fail("a cron run has one job", `${id} has ${other} and ${jid}`);
    }
    this.#occurrences.set(id, jid);
  }

  /** Checks a callback against its batch, and a node against those before it. */
  #checkOrder({ id, machine }: Run): void {
    const world = this.#world;
    const [name, what] = id.split(" ");
    const group = this.groups.get(name!);
    if (group !== undefined && (what === "success" || what === "complete")) {
      const early = group.members.find((member) => {
        const runs = this.runsOf(member.id);
        return runs.some((run) => this.#running.has(run) && !this.wasHit(run.machine, run.start, world.time)) ||
          what === "success" && this.pushes.get(member.id)?.state === "stored" && !this.touched.has(member.id) &&
            !runs.some(({ how }) => how === "returned");
      });
      if (early) world.fail("callbacks come last", `${id} begins on ${machine.name} before ${early.id} has ended`);
    }
    for (const flow of this.groups.values()) {
      const position = flow.after === undefined ? -1 : flow.members.findIndex((member) => member.id === id);
      if (position === -1) continue;
      for (const before of flow.after![position]!.before) {
        const first = flow.members[before]!;
        const hasRun = this.runsOf(first.id).some(({ how }) => how === "returned");
        const mayFail = flow.after![before]!.onDead === "continue" || this.touched.has(first.id);
        if (!hasRun && !mayFail) world.fail("nodes follow each other", `${id} begins before ${first.id} has succeeded`);
      }
    }
  }

  /** Judges the whole run, after all has ended. `dead` has the jids in the dead set. */
  judge(dead: ReadonlySet<string>): void {
    const world = this.#world;
    for (const [id, runs] of this.#runs) this.#judgeRepeats(id, runs);
    const kills = this.#hits.length;
    for (const [id, { plan, state, jid }] of this.pushes) {
      if (state !== "stored" || this.touched.has(id)) continue;
      const runs = this.runsOf(id);
      const { expires_in, debounce, on_duplicate } = plan.options;
      if (expires_in !== undefined || debounce !== undefined || on_duplicate !== undefined) continue;
      const expected = this.#expected(plan);
      const has = (how: Run["how"]) => runs.some((run) => run.how === how);
      const isDead = dead.has(jid!);
      // Its workers may have been killed too often.
      if (expected === "succeed" && !has("returned") && !(isDead && kills >= 3)) {
        world.fail(
          "a stored job runs to its end",
          `${id} (${jid}) never succeeded, in ${runs.length} runs${isDead ? "; it is dead" : ""}`,
        );
      }
      if (expected === "succeed" && isDead && has("returned") && kills === 0) {
        world.fail("a job that succeeds isn't dead", `${id} (${jid})`);
      }
      if ((expected === "die" || expected === "kill") && !isDead) {
        world.fail("a failed job is kept", `${id} (${jid}) failed in ${runs.length} runs, and isn't dead`);
      }
    }
    for (const [id, { isStored }] of this.sagas) {
      if (!isStored || this.touched.has(id)) continue;
      if (!this.runsOf(id).some(({ how }) => how === "returned") && kills < 3) {
        world.fail("a stored job runs to its end", `${id} never ended its steps`);
      }
    }
    for (const group of this.groups.values()) this.#judgeGroup(group);
    this.#judgeKeys();
  }

  /** Returns how a job ends, by its plan. */
  #expected({ spec, options }: JobPlan): "succeed" | "die" | "kill" | "discard" {
    const fails = options["timeout"] !== undefined && spec.ms >= 1_000 ? Infinity : spec.fails ?? 0;
    if (fails > Number(options["retry"])) return "die";
    return spec.end === "discard" || spec.end === "kill" ? spec.end : "succeed";
  }

  #judgeRepeats(id: string, runs: readonly Run[]): void {
    if (this.touched.has(id)) return;
    const ended = runs.filter(({ how }) => how === "returned" || how === "failed");
    for (const [i, run] of ended.entries()) {
      const again = ended.slice(i + 1).find(({ attempt, jid }) => jid === run.jid && attempt === run.attempt);
      const isDone = run.how === "returned" ? ended.slice(i + 1).find(({ jid }) => jid === run.jid) : undefined;
      const repeat = again ?? isDone;
      if (repeat && !this.wasHit(run.machine, run.start, run.end! + SETTLE_MS)) {
        this.#world.fail(
          "a job whose worker is well runs once",
          `${id} ${run.how} on ${run.machine.name} at ${run.end}, and began again on ${repeat.machine.name} at ${repeat.start}`,
        );
      }
    }
  }

  #judgeGroup({ id, kind, members, isClosed }: Group): void {
    const isTouched = this.touched.has(id) || members.some((member) => this.touched.has(member.id));
    if (!isClosed || isTouched) return;
    for (const what of ["success", "complete"]) {
      const runs = this.runsOf(`${id} ${what}`);
      if (new Set(runs.map(({ jid }) => jid)).size > 1) {
        this.#world.fail("callbacks come once", `${what} of ${kind} ${id}`);
      }
      // A node that is dead holds those after it, and so the end of its flow.
      if (kind === "flow" && members.some((member) => this.#expected(member) !== "succeed")) continue;
      if (what === "complete" && !runs.some(({ how }) => how === "returned") && this.#hits.length < 3) {
        this.#world.fail("callbacks come", `${what} of ${kind} ${id} never ran`);
      }
    }
  }

  /** Of the jobs with one key, one runs at a time, or only one at all. */
  #judgeKeys(): void {
    const byKey = Map.groupBy(
      [...this.pushes.values()].filter(({ plan }) => plan.options["id"] !== undefined),
      ({ plan }) => String(plan.options["id"]),
    );
    for (const [key, pushes] of byKey) {
      const ran = new Set(pushes.flatMap(({ plan }) => this.runsOf(plan.id).map(({ jid }) => jid)));
      if (ran.size > 1) this.#world.fail("an id stores one job", `${key} has ${[...ran].join(" and ")}`);
    }
  }
}
