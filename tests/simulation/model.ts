/**
 * The model: what was pushed, what ran and how it ended, and the rules that must hold between them. Rules about one moment are
 * checked at that moment, those about the outcome at the end (`judge`).
 *
 * A run that was hit by trouble may be repeated: its process was killed, frozen, cut off, or an operator acted at that time. A run
 * that wasn't hit is never repeated.
 *
 * @module
 */
import type { PushResult } from "../../src/client/bulk.ts";
import type { JobContext } from "../../src/handlers/context.ts";
import type { RescueResult } from "../../src/store/port/jobs.ts";
import { CronRules } from "./cron_rules.ts";
import { GroupRules } from "./group_rules.ts";
import { expected, GROUP_LIMIT, type JobPlan, NARROW, type StepPlan } from "./jobs.ts";
import { HookRules } from "./hook_rules.ts";
import { KeyRules, type Push } from "./key_rules.ts";
import type { Plan } from "./plan.ts";
import { CALM, type Weather } from "./link.ts";
import { StartRules } from "./start_rules.ts";
import { StepRules } from "./step_rules.ts";
import { StreamRules } from "./stream_rules.ts";
import type { Machine, World } from "./world.ts";

/** One call of a handler. */
export interface Run {
  readonly id: string;
  readonly jid: string;
  readonly attempt: number;
  readonly queue: string;
  readonly group: string | undefined;
  readonly machine: Machine;
  /** Where its handler runs: in an isolated process, or there. */
  readonly process: Machine;
  readonly start: number;
  readonly signal: AbortSignal;
  /** It may have begun without a lease: programs begin what they have received, without another look. */
  readonly isUnsure: boolean;
  end: number | undefined;
  /** `aborted`: its signal aborted, or it sleeps. */
  how: "returned" | "failed" | "snoozed" | "aborted" | undefined;
}

/** A job whose workers died this often is dead. */
const MAX_RESCUES = 3;

/** After trouble, its effects last for this long: a heartbeat must lapse, a rescue must come, clocks must agree again. */
const AFTERMATH_MS = 45_000;

/** A late call and its reply are under way for this long at most. */
const LATE_MS = 40_000;
/** Jobs that were taken before a limit have begun by then. */
const LIMIT_MS = 20_000;
/** A program receives commands with heartbeats. */
const COMMAND_MS = 6_000;
/** A thread looks for commands this long after its start. */
const THREAD_MS = 600;
/** An outcome is stored this soon, unless there is trouble. */
const SETTLE_MS = 10_000;

export class Model {
  readonly pushes = new Map<string, Push>();
  readonly sagas = new Map<
    string,
    { readonly steps: readonly StepPlan[]; readonly expires: boolean; isStored: boolean }
  >();
  /** The limits that operators have set, and since when. */
  readonly limits = new Map<string, { readonly running: number; readonly since: number }>();
  /** The machines of the workers, by the end of their IDs. */
  readonly machines = new Map<string, Machine>();
  /** Those whose jobs come over HTTP: another process has their leases, and ends jobs that don't obey. */
  readonly programs = new Set<Machine>();
  /** The machines that lost commands. */
  readonly deaf = new Set<Machine>();
  /** Those whose event loop was blocked. */
  readonly blocked = new Set<Machine>();
  /** Jobs that an operator has changed: only that they end is known. */
  readonly touched = new Set<string>();
  /** Whether a wall clock was set. */
  clocksJumped = false;
  /** Whether workers have used the target of a migration before limits, locks and the jobs of cron entries were there. */
  isSplit = false;
  /** When the store last lost what it had acknowledged: keys, signals and runs of cron may come twice. */
  undoneAt = -Infinity;
  readonly keys: KeyRules;
  readonly groups: GroupRules;
  readonly steps: StepRules;
  readonly starts: StartRules;
  /** Undefined if the plan has no webhook. */
  readonly hooks: HookRules | undefined;
  readonly streams: StreamRules;
  readonly cron: CronRules;
  readonly #world: World;
  readonly #runs = new Map<string, Run[]>();
  readonly #running = new Set<Run>();
  /** Times of trouble, of one machine or of all. */
  readonly #hits: { readonly machine: Machine | undefined; readonly from: number; readonly to: number }[] = [];
  readonly #touchedJids = new Set<string>();
  /** Jobs of which an operator was told that they are cancelled. */
  readonly #cancelled = new Map<string, number>();
  readonly weather: Weather;
  readonly #holder: (jid: string) => Promise<string | undefined>;
  #rescuedAt = -Infinity;
  /** How long a few calls take at most. */
  readonly callsMs: number;

  /** @param holder returns the worker that has a job in the store */
  constructor(
    world: World,
    { cron, weather, acts, hooked }: Pick<Plan, "cron" | "weather" | "acts" | "hooked">,
    holder: (jid: string) => Promise<string | undefined>,
  ) {
    this.#world = world;
    this.weather = weather;
    const slowest = 10 * Math.max(CALM.usualMs, weather.slow > 0 ? weather.slowMs : weather.usualMs);
    this.callsMs = acts.some((act) => act.do === "call") ? LATE_MS : slowest;
    this.#holder = holder;
    this.keys = new KeyRules(world, this);
    this.groups = new GroupRules(world, this);
    this.steps = new StepRules(world, this);
    this.starts = new StartRules(world);
    this.hooks = hooked ? new HookRules(world, this) : undefined;
    this.streams = new StreamRules(world, this);
    this.cron = new CronRules(world, this, cron[0]);
  }

  get isUndone(): boolean {
    return this.undoneAt >= 0;
  }

  /** How often there was trouble. */
  get hits(): number {
    return this.#hits.length;
  }

  sent(plan: JobPlan): void {
    const { time } = this.#world;
    this.pushes.set(plan.id, { plan, sent: time, state: "unknown", jid: undefined, answered: undefined });
  }

  answered({ id }: JobPlan, { kind, jid }: Pick<PushResult, "kind" | "jid">): void {
    const push = this.pushes.get(id)!;
    // The reply of a push that was undone may still be under way.
    if (push.sent <= this.undoneAt) return;
    push.state = kind === "stored" || kind === "replaced" || kind === "existed" ? kind : "refused";
    push.jid = jid;
    push.answered = this.#world.time;
    this.#world.note(`${id} is ${push.state} ${jid ?? ""}`);
    this.keys.answered(push);
  }

  *allRuns(): Generator<Run> {
    for (const runs of this.#runs.values()) yield* runs;
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

  /** A rescue was executed: an outage of the store, or a jump of its clock, takes no worker offline. */
  rescued({ rescued, offline }: RescueResult): void {
    if (rescued > 0) this.#rescuedAt = this.#world.time;
    for (const worker of offline) {
      const machine = this.machines.get(worker.slice(-12));
      const isUp = machine?.state === "running" || machine?.state === "blocked";
      if (machine === undefined || !isUp || this.weather.slow > 0) continue;
      if (this.#hits.some((hit) => hit.machine === machine)) continue;
      this.#world.fail("an outage takes no worker offline", `${machine.name} is rescued and runs`);
    }
  }

  /** A worker's outcomes were stored, but for some whose leases it had lost. */
  settled(machine: Machine, lost: readonly string[]): void {
    if (lost.length === 0 || this.wasHit(machine, this.#world.time, this.#world.time)) return;
    this.#world.fail("a worker that is well keeps its leases", `${machine.name} has lost ${lost.join(", ")}`);
  }

  /** Returns the worker that has the job of a run in the store. A look is an event: nothing else happens until it has ended. */
  holder({ jid, process }: Run): Promise<string | undefined> {
    const { time } = this.#world;
    return new Promise((resolve) => void this.#world.at(time, process, async () => resolve(await this.#holder(jid))));
  }

  /** @param holder the worker that has the job in the store */
  #checkLease({ id, jid, machine }: Run, holder: string | undefined): void {
    if (holder !== undefined && this.machines.get(holder.slice(-12)) === machine) return;
    // Some calls are made between the worker's last look at its leases and the beginning.
    const isRecent = this.#world.time - this.#rescuedAt < this.callsMs ||
      this.#world.time - this.undoneAt < AFTERMATH_MS;
    if (isRecent || this.isTouchedJob(jid) || this.touched.has(id)) return;
    this.#world.fail(
      "a job begins under its lease",
      `${id} begins on ${machine.name}, and ${holder ?? "no worker"} has it`,
    );
  }

  /** @param process where the handler runs: in an isolated process of the worker on `machine`, or there */
  async begin(id: string, context: JobContext, machine: Machine, process: Machine): Promise<Run> {
    const { jid, attempt, queue, payload, occurrence, signal } = context;
    const world = this.#world;
    const { time: start } = world;
    const group = payload["group"] as string | undefined;
    const isUnsure = this.programs.has(machine) && this.wasHit(machine, start, start);
    const run: Run = {
      id,
      jid,
      attempt,
      queue,
      group,
      machine,
      process,
      start,
      signal,
      isUnsure,
      end: undefined,
      how: undefined,
    };
    world.note(`${machine.name} begins ${id} (attempt ${attempt}, ${jid})`);
    // The server waits only for a few seconds for a program that it has told to end a job.
    const isGivenUp = (other: Run) => this.programs.has(other.machine) && other.signal.aborted;
    const healthy = isUnsure
      ? []
      : [...this.#running].filter((other) => !isGivenUp(other) && !this.wasHit(other.machine, other.start, start));
    const twin = healthy.find((other) => other.jid === jid);
    if (twin) {
      world.fail(
        "a job runs once at a time",
        `${id} begins on ${machine.name}, and still runs on ${twin.machine.name}`,
      );
    }
    this.#checkLimits(run, healthy);
    if (!isUnsure) this.#checkLease(run, await this.holder(run));
    // A worker whose take is under way finds the job in it, and aborts it. One that lost the command may begin what it has taken.
    const cancelledAt = this.#cancelled.get(jid) ?? Infinity;
    const isFirst = !this.runsOf(id).some((other) => other.jid === jid && other.machine === machine);
    // It may have lost the command while the isolated process started.
    const mayBegin = (isFirst || process !== machine) && this.deaf.has(machine);
    const learnsMs = this.callsMs + (this.programs.has(machine) ? COMMAND_MS : 0) + (machine.thread ? THREAD_MS : 0);
    if (world.time - Math.max(cancelledAt, machine.deafUntil) > learnsMs && !mayBegin) {
      world.fail(
        "a cancelled job doesn't run again",
        `${id} (${jid}), cancelled at ${Math.round(cancelledAt)}, begins`,
      );
    }
    if (!isUnsure) this.groups.begins(run, healthy);
    this.keys.begins(run, healthy);
    if (occurrence) this.cron.begins(Date.parse(occurrence.scheduledAt), run, healthy);
    this.#runs.getOrInsertComputed(id, () => []).push(run);
    this.#running.add(run);
    return run;
  }

  #checkLimits({ id, queue, group, start }: Run, others: readonly Run[]): void {
    if (this.isSplit) return;
    const same = others.filter((other) => other.queue === queue);
    const given = this.limits.get(queue);
    // Jobs that were taken before don't count.
    const isNew = (time: number) => time > (given?.since ?? Infinity) + LIMIT_MS;
    const fails = queue === "narrow"
      ? same.length >= NARROW
      : queue === "grouped"
      ? group !== undefined && same.filter((other) => other.group === group).length >= GROUP_LIMIT
      : given !== undefined && isNew(start) && same.filter((other) => isNew(other.start)).length >= given.running;
    if (fails) this.#world.fail("limits hold", `${id} begins while ${same.map((other) => other.id)} run, of ${queue}`);
  }

  end(run: Run, how: Run["how"]): void {
    run.end = this.#world.time;
    run.how = how;
    this.#running.delete(run);
    this.#world.note(`${run.machine.name} ends ${run.id}: ${how}`);
  }

  /** Notes that an operator changes a job: of it, and of all that may depend on it, only that they end is known. */
  touchJob(jid: string): void {
    this.#touchedJids.add(jid);
    // A job that was cancelled when it died may be retried.
    this.#cancelled.delete(jid);
    for (const [id, push] of this.pushes) if (push.jid === jid || push.jid === undefined) this.touched.add(id);
    this.touchGroups();
  }

  /** Notes that an operator changes a batch, a flow, or a job that may be of one. */
  touchGroups(): void {
    this.hit(undefined);
    for (const [id, { members }] of this.groups.groups) {
      for (const one of [id, ...members.map(({ id }) => id)]) this.touched.add(one);
    }
    for (const id of this.sagas.keys()) this.touchSteps(id);
  }

  /** Notes that an operator retries the dead jobs of a batch or a flow: also those that were cancelled when they died. */
  retriedGroup(): void {
    this.#cancelled.clear();
  }

  /** Notes that an operator changes the steps of a job. */
  touchSteps(id: string): void {
    this.touched.add(id);
    this.steps.touched(id);
    for (const step of this.sagas.get(id)!.steps) {
      const child = step.kind === "child" ? step.job : step.kind === "both" ? step.child : undefined;
      if (child) this.touched.add(child.id);
    }
  }

  /** Notes that a machine was killed: its runs never end. */
  killed(machine: Machine): void {
    for (const run of this.#running) if (run.machine === machine) this.#running.delete(run);
  }

  /** Notes that an isolated process has ended: of a run in it, it isn't known how far it came. */
  lostHorse(process: Machine): void {
    for (const run of this.#running) if (run.process === process) this.end(run, "aborted");
  }

  /**
   * Everything acknowledged since a time may be lost: a replica has taken its place. Of a job that was stored or ran since
   * then, only that it ends is known. Everything before holds.
   */
  undone(from: number): void {
    this.undoneAt = this.#world.time;
    for (const push of this.pushes.values()) if ((push.answered ?? Infinity) >= from) push.state = "unknown";
    for (const [id, runs] of this.#runs) {
      const last = runs.at(-1)!;
      if ((last.end ?? Infinity) < from - SETTLE_MS) continue;
      this.touched.add(id);
      this.#touchedJids.add(last.jid);
    }
    for (const [jid, at] of this.#cancelled) if (at >= from - SETTLE_MS) this.#cancelled.delete(jid);
    this.touchGroups();
    this.steps.signalsStay();
    this.starts.lost();
  }

  /** An operator was told that a job is cancelled. */
  cancelled(jid: string): void {
    this.#cancelled.set(jid, this.#world.time);
  }

  isTouchedJob(jid: string): boolean {
    return this.#touchedJids.has(jid);
  }

  /** Judges the whole run, after all has ended. `dead` has the jids in the dead set. */
  judge(dead: ReadonlySet<string>): void {
    const world = this.#world;
    for (const [id, runs] of this.#runs) this.#judgeRepeats(id, runs);
    for (const [id, { plan, state, jid }] of this.pushes) {
      if (state !== "stored" || this.touched.has(id)) continue;
      const runs = this.runsOf(id);
      const { expires_in, debounce, on_duplicate, timeout } = plan.options;
      if (debounce !== undefined || on_duplicate !== undefined) continue;
      // The timeout continues while another handler blocks the event loop.
      if (timeout !== undefined && runs.some(({ machine }) => this.blocked.has(machine))) continue;
      // A job that has begun doesn't expire, but after the death of its worker that isn't known.
      const hasSurelyBegun = runs.length > 0 && runs.every(({ how }) => how !== undefined) &&
        this.#rescuedAt === -Infinity && this.programs.size === 0;
      if (expires_in !== undefined && !hasSurelyBegun) continue;
      const end = expected(plan);
      const has = (how: Run["how"]) => runs.some((run) => run.how === how);
      const isDead = dead.has(jid!);
      // A program doesn't learn of each job that its worker has begun.
      const mayDie = this.#cutOff(id) >= MAX_RESCUES || this.programs.size > 0;
      if (end === "succeed" && !has("returned") && !(isDead && mayDie)) {
        world.fail(
          "a stored job runs to its end",
          `${id} (${jid}) never succeeded, in ${runs.length} runs${isDead ? "; it is dead" : ""}`,
        );
      }
      if (end === "succeed" && isDead && has("returned") && this.hits === 0) {
        world.fail("a job that succeeds isn't dead", `${id} (${jid})`);
      }
      // A program that learned late of its timeout has ended its job before.
      const wasLate = runs.some(({ how, machine, start, end }) =>
        (how === "returned" || how === "failed" && plan.spec.end === "discard") && this.programs.has(machine) &&
        this.wasHit(machine, start, end! + SETTLE_MS)
      );
      if (["die", "kill", "crash"].includes(end) && !isDead && !wasLate) {
        world.fail("a failed job is kept", `${id} (${jid}) failed in ${runs.length} runs, and isn't dead`);
      }
    }
    for (const [id, { isStored, expires }] of this.sagas) {
      if (!isStored || this.touched.has(id) || expires && this.runsOf(id).length === 0) continue;
      if (!this.runsOf(id).some(({ how }) => how === "returned") && this.#cutOff(id) < MAX_RESCUES) {
        world.fail("a stored job runs to its end", `${id} never ended its steps`);
      }
    }
    this.groups.judge();
    this.keys.judge();
    this.hooks?.judge(dead);
  }

  /** Returns in how many runs of a job its worker may have died. */
  #cutOff(id: string): number {
    return this.runsOf(id).filter((run) => run.how === undefined || this.wasHit(run.machine, run.start, run.end!))
      .length;
  }

  #judgeRepeats(id: string, runs: readonly Run[]): void {
    if (this.touched.has(id)) return;
    const { spec, options = {} } = this.pushes.get(id)?.plan ?? {};
    const { debounce, on_duplicate, timeout } = options;
    // A migration that died may have stored a version that has ended since: it can't know whether a push has replaced that.
    if (this.isSplit && (debounce ?? on_duplicate) !== undefined) return;
    // In an isolated process the timeout also ends when the stream is stored.
    const mayTimeOut = timeout !== undefined && spec?.chunks !== undefined;
    const ended = runs.filter(({ how, isUnsure, process, machine }) =>
      !isUnsure && (how === "returned" || how === "failed") && !(mayTimeOut && process !== machine)
    );
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
}
