/**
 * Draws the plan of a run from its seed.
 *
 * @module
 */
import {
  GROUP_LIMIT,
  hasKey,
  type JobPlan,
  randomJob,
  randomSteps,
  randomTraits,
  rareStep,
  type StepPlan,
  type Traits,
} from "./jobs.ts";
import { type Act, type CronPlan, type Deed, MAX_JUMP_MS, type NodePlan, type Plan, TROUBLE_MS } from "./plan.ts";
import { Random } from "./random.ts";

/** Most acts begin by then. */
const ACTS_MS = 8_000;

const PUSHES = ["push", "push", "bulk", "batch", "flow", "steps", "steps", "signal"] as const;
const TROUBLES = [
  ...["kill", "freeze", "call", "cut", "outage", "jump", "restart", "quiet", "edit", "pause", "limit"],
  ...["edit batch", "edit steps", "migrate", "crash"],
] as const;
/** How many runs have a trouble. */
const SHARES: { readonly [trouble in typeof TROUBLES[number]]?: number } = {
  ...{ edit: 0.3, "edit steps": 0.5, "edit batch": 0.3, migrate: 0.05, crash: 0.08 },
};

export function planOf(seed: number): Plan {
  return new Planner(seed).plan();
}

/**
 * Draws a plan with a few jobs of a few kinds, and a few troubles: a random part of all of them. Such a run is short, and its parts
 * meet more often than those of a run that has everything. Over the seeds every kind meets every trouble.
 */
class Planner {
  readonly #seed: number;
  readonly #random: Random;
  /** Draws what few plans have, so that the others stay as they are. */
  readonly #rare: Random;
  readonly #traits: Traits;
  readonly #workers: number;
  readonly #pushes: readonly typeof PUSHES[number][];
  readonly #acts: Act[] = [];

  constructor(seed: number) {
    this.#seed = seed;
    const random = this.#random = new Random(seed);
    this.#rare = new Random(seed ^ 0x4a4e);
    this.#traits = randomTraits(random);
    this.#workers = random.pick([1, 2, 2, 3]);
    this.#pushes = random.some(PUSHES, 0.35);
  }

  plan(): Plan {
    const random = this.#random;
    const seed = this.#seed;
    for (let i = random.pick([1, 2, 4]); i > 0; i--) this.#push(`j${i}`);
    for (const trouble of TROUBLES) {
      if (!random.chance(SHARES[trouble] ?? 0.15) || !this.#meets(trouble)) continue;
      for (let n = random.between(1, 3); n > 0; n--) {
        this.#trouble(trouble, Math.min(this.#soon, TROUBLE_MS));
        if (trouble === "migrate" || trouble === "crash") break;
      }
    }
    const remote = random.chance(0.1);
    for (let n = remote ? random.between(0, 3) : 0; n > 0; n--) this.#remoteTrouble();
    // Over a slow line a program learns too late of a timeout for its job to be judged.
    const slow = remote ? 0 : random.pick([0, 0, 0.02, 0.2]);
    if (this.#rare.chance(0.1)) this.#startLimit();
    const streamed = this.#rare.chance(0.1) ? this.#acts.map((act) => this.#streaming(act)) : this.#acts;
    const [named, hooked, foreign, threads] = [0.1, 0.1, 0.1, 0.2].map((share) => this.#rare.chance(share));
    const isolated = new Random(seed ^ 0x150).chance(0.15);
    const acts = threads ? [...streamed, ...this.#blocks()] : streamed;
    return {
      ...{ seed, workers: this.#workers, remote, named: named!, threads: threads!, isolated, hooked: hooked! },
      concurrency: random.pick([1, 2, 5]),
      weather: { usualMs: random.pick([0.1, 2, 20]), slow, slowMs: random.pick([300, 3_000]) },
      cron: random.chance(0.15) ? [cronEntry(random)] : [],
      acts: (foreign ? acts.map(asForeign) : acts).sort((a, b) => a.at - b.at),
    };
  }

  /** Whether there is something that a trouble may meet. */
  #meets(trouble: typeof TROUBLES[number]): boolean {
    const has = (kind: Act["do"]) => this.#acts.some((act) => act.do === kind);
    return trouble === "edit steps" ? has("steps") : trouble !== "edit batch" || has("batch") || has("flow");
  }

  /** Returns a time. Half of all are early: what is pushed together meets in the queues. */
  get #when(): number {
    return this.#random.chance(0.5) ? this.#random.next() * 2_000 : this.#random.next() * ACTS_MS;
  }

  /** Returns a time, half of the time soon after another act: then jobs are on their way. */
  get #soon(): number {
    const random = this.#random;
    return random.chance(0.5) ? random.pick(this.#acts).at + random.next() * 1_000 : random.next() * ACTS_MS;
  }

  #add(at: number, deed: Deed): void {
    this.#acts.push({ at: Math.max(0, at), ...deed });
  }

  #jobs(id: string, count: number, { member = true } = {}): JobPlan[] {
    return Array.from({ length: count }, (_, i) => randomJob(this.#random, `${id}${i}`, this.#traits, { member }));
  }

  /** Adds a push, perhaps with another one that has the same key, or the cancel of its batch. */
  #push(id: string): void {
    const random = this.#random;
    const at = this.#when;
    const soon = at + random.next() * 2_000;
    const kind = random.pick(this.#pushes);
    switch (kind) {
      case "push": {
        const [job] = this.#jobs(id, 1, { member: false });
        this.#add(at, { do: "push", job: job! });
        if (hasKey(job!) && random.chance(0.7)) this.#add(soon, { do: "push", job: { ...job!, id: `${id}k` } });
        return;
      }
      case "bulk":
        return this.#add(at, { do: "bulk", jobs: this.#jobs(`${id}b`, random.between(2, 6), { member: false }) });
      case "steps": {
        const rare = this.#rare.chance(0.15) ? [rareStep(this.#rare)] : [];
        const steps = [...rare, ...randomSteps(random, id, this.#traits)];
        return this.#add(at, { do: "steps", id, steps, expires: random.chance(0.25) });
      }
      case "signal":
        return this.#add(at, { do: "signal", key: `key${random.between(0, 1)}` });
      case "batch": {
        const inner = random.chance(0.3) ? this.#jobs(`${id}n`, random.between(1, 2)) : [];
        this.#add(at, { do: "batch", id, jobs: this.#jobs(`${id}m`, random.between(1, 3)), inner });
        break;
      }
      case "flow":
        this.#add(at, { do: "flow", id, nodes: this.#flow(id) });
    }
    if (!random.chance(0.4)) return;
    this.#add(soon, { do: "edit batch", how: "cancel", nth: -1 });
    // A cancel that is interrupted.
    if (random.chance(0.3)) this.#add(soon + random.next() * 20, { do: "call", of: "operator", fault: "lost before" });
  }

  #flow(id: string): NodePlan[] {
    const random = this.#random;
    return this.#jobs(`${id}f`, random.between(2, 4)).map((job, i) => ({
      job,
      after: Array.from({ length: i }, (_, before) => before).filter(() => random.chance(0.5)),
      onDead: random.pick(["stop", "continue"] as const),
    }));
  }

  #trouble(trouble: typeof TROUBLES[number], at: number): void {
    const random = this.#random;
    const of = random.between(0, this.#workers - 1);
    const nth = random.between(0, 20);
    switch (trouble) {
      case "kill":
        return this.#add(at, { do: "kill", of, downMs: random.pick([10, 1_000, 12_000]) });
      case "freeze": {
        const inTake = random.chance(0.3);
        if (inTake) this.#add(at + random.next() * 500, { do: "bulk", jobs: this.#jobs(`y${random.word()}`, 3) });
        return this.#add(at, { do: "freeze", of, forMs: random.pick([500, 3_000, 8_000, 16_000, 16_000]), inTake });
      }
      case "call":
        return random.chance(0.1) ? this.#lateTake(at, of) : this.#callFaults(at);
      case "cut":
        return this.#add(at, { do: "cut", of, forMs: random.pick([500, 5_000, 12_000]) });
      case "outage":
        return this.#add(at, { do: "outage", forMs: random.pick([500, 5_000, 15_000]) });
      case "jump": {
        const byMs = random.pick([-MAX_JUMP_MS, -3_000, 3_000, MAX_JUMP_MS]);
        return this.#add(at, { do: "jump", of: random.pick([of, "store", "all"]), byMs });
      }
      case "restart":
        if (random.chance(0.5)) this.#pushLong(at - 200);
        return this.#add(at, { do: "restart", of });
      case "quiet":
        return this.#add(at, { do: "quiet", of, forMs: random.between(500, 10_000) });
      case "edit":
        return this.#edit(at, nth);
      case "pause": {
        const queue = random.pick(["default", "narrow"]);
        return this.#add(at, { do: "pause", queue, forMs: random.between(500, 8_000) });
      }
      case "limit": {
        const running = random.pick([1, 2, undefined]);
        return this.#add(at, { do: "limit", queue: random.pick(["default", "low"]), running });
      }
      case "edit batch":
        return this.#add(at, { do: trouble, nth, how: random.pick(["cancel", "retry", "check"] as const) });
      case "edit steps":
        return this.#add(at, { do: trouble, nth, how: random.pick(["clear", "rerun", "wake", "kill"] as const) });
      case "migrate":
        return this.#migration(this.#when + 500);
      case "crash": {
        const crash = { lagMs: random.pick([0, 0, 200, 3_000]), downMs: random.pick([100, 3_000, 8_000]) };
        return this.#add(this.#when, { do: "crash", ...crash });
      }
    }
  }

  #edit(at: number, nth: number): void {
    const random = this.#random;
    const how = random.pick(["retry", "kill", "cancel", "cancel", "delete", "move"] as const);
    if (how !== "cancel") return this.#add(at, { do: "edit", how, nth });
    const mishap = random.pick(["none", "lost", "stop", "lost, stop", "kill"] as const);
    this.#add(at, { do: "edit", how, nth, mishap });
    if (mishap !== "none" && mishap !== "lost") this.#pushLong(at - 200);
  }

  /** Pushes a job that outlasts the stop of its worker. */
  #pushLong(at: number): void {
    const options = { queue: "high", retry: 2, ...(this.#random.chance(0.5) && { expires_in: 2 }) };
    this.#add(at, { do: "push", job: { id: `x${this.#random.word()}`, spec: { ms: 5_000 }, options } });
  }

  #callFaults(at: number): void {
    const random = this.#random;
    const places = Array.from({ length: this.#workers }, (_, i) => i);
    const fault = random.pick(["lost before", "lost after", "lost after", "late"] as const);
    for (let n = random.pick([1, 1, 5]); n > 0; n--) {
      this.#add(at, { do: "call", of: random.pick(["client", "operator", ...places, ...places]), fault });
    }
  }

  /** Adds a take that is late, while jobs wait for it. */
  #lateTake(at: number, of: number): void {
    const spec = { ms: 5_000 };
    const id = `l${this.#random.word()}`;
    const jobs = Array.from({ length: 20 }, (_, i) => ({ id: `${id}b${i}`, spec, options: { queue: "high" } }));
    this.#add(at, { do: "call", of, fault: "late take" });
    this.#add(at + this.#random.next() * 1_000, { do: "bulk", jobs });
  }

  /** Adds a migration, perhaps of a job that is cancelled just before, and whose worker doesn't learn of it, and of one that waits for its child. */
  #migration(at: number): void {
    const random = this.#random;
    if (random.chance(0.5)) {
      this.#add(at - 100, { do: "edit", how: "cancel", nth: random.between(0, 20), mishap: "lost" });
    }
    if (random.chance(0.5)) {
      const [child] = this.#jobs("mc", 1);
      // Half of the time the parent still runs, and its child is to come: then the child is migrated first.
      const step: StepPlan = random.chance(0.5)
        ? { kind: "child", job: child! }
        : { kind: "both", ms: 5_000, child: { ...child!, options: { ...child!.options, in: 3 } } };
      this.#add(at - 1_500, { do: "steps", id: "m", steps: [step], expires: false });
    }
    this.#add(at, { do: "migrate", serves: random.chance(0.5) });
  }

  /** Limits the starts of a queue, or of each group, for the time of the trouble. */
  #startLimit(): void {
    const random = this.#rare;
    const queue = random.pick(["default", "low", "grouped"]);
    const running = queue === "grouped" ? GROUP_LIMIT : undefined;
    const starts = `${random.between(1, 2)}/${random.pick([1, 3])}s`;
    this.#add(random.next() * 2_000, { do: "limit", queue, running, starts });
    this.#add(TROUBLE_MS - 2_000, { do: "limit", queue, running });
  }

  /** Returns acts by which handlers block event loops: soon after other acts, and amid jobs so short that some are taken ahead. */
  #blocks(): Act[] {
    const random = this.#rare;
    const block = (at: number, ahead = false): Act => {
      const forMs = random.pick([300, 1_500, 3_000, 8_000, 16_000]);
      return { at, do: "block", of: random.between(0, this.#workers - 1), forMs, ahead };
    };
    const soon = () => random.pick(this.#acts).at + random.next() * 1_500;
    const blocks = Array.from({ length: random.between(1, 3) }, () => block(soon()));
    if (random.chance(0.5)) return blocks;
    const at = soon();
    const jobs = Array.from({ length: 80 }, (_, i): JobPlan => ({ id: `s${i}`, spec: { ms: 1 }, options: {} }));
    return [...blocks, { at, do: "bulk", jobs }, ...[20, 40, 80].map((ms) => block(at + ms, true))];
  }

  /** Returns a push with jobs that write to their streams, which stay with their records. */
  #streaming(act: Act): Act {
    const streaming = (job: JobPlan): JobPlan =>
      hasKey(job) ? job : {
        ...job,
        spec: { ...job.spec, chunks: this.#rare.between(1, 5) },
        options: { ...job.options, result_ttl: 3_600 },
      };
    if (act.do === "push") return { ...act, job: streaming(act.job) };
    return act.do === "bulk" ? { ...act, jobs: act.jobs.map(streaming) } : act;
  }

  #remoteTrouble(): void {
    const random = this.#random;
    if (random.chance(0.3)) {
      const fault = random.pick(["lost before", "lost after", "late"] as const);
      return this.#add(this.#when, { do: "call", of: "program", fault });
    }
    const how = random.pick(
      ["kill program", "kill server", "freeze program", "freeze server", "stop program"] as const,
    );
    this.#add(this.#when, { do: "remote", how, forMs: random.pick([10, 1_000, 5_000, 15_000]) });
  }
}

/** Returns an act whose jobs another client writes. */
function asForeign(act: Act): Act {
  const write = (job: JobPlan): JobPlan => ({ ...job, spec: { ...job.spec, foreign: true } });
  switch (act.do) {
    case "push":
      return { ...act, job: write(act.job) };
    case "bulk":
      return { ...act, jobs: act.jobs.map(write) };
    case "batch":
      return { ...act, jobs: act.jobs.map(write), inner: act.inner.map(write) };
    default:
      return act;
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
