/**
 * The account of a soak: the outcome of each acknowledged job, and the reason of each extra execution.
 *
 * An execution is extra when a run of the same attempt of the same job came before. It is explained when that run was hit:
 * its worker was killed, stopped, frozen or cut off while the job was running, or before its outcome could be stored.
 *
 * @module
 */
import { NARROW, UNIQUE_FOR_MINUTES } from "./kinds.ts";
import type { Incident, Jump, Outage, Push, Run } from "./records.ts";

/** The input of the account. */
export interface Evidence {
  readonly runs: readonly Run[];
  readonly pushes: readonly Push[];
  readonly incidents: readonly Incident[];
  readonly outages: readonly Outage[];
  readonly jumps: readonly Jump[];
  /** The jids that are in the store at the end: in `dead`, and anywhere else. */
  readonly dead: readonly string[];
  readonly left: readonly string[];
  /** A worker without a heartbeat for this long is offline. */
  readonly heartbeatTimeoutMs: number;
  /** How long a stopping worker waits for its jobs. */
  readonly shutdownTimeoutMs: number;
  /** A job whose worker went offline this often goes to `dead`. */
  readonly maxRescues: number;
}

/** A job with a problem. */
export interface Finding {
  readonly jid: string;
  readonly what: string;
}

/** The account. */
export interface Account {
  /** Pushes with the reply "stored". */
  readonly acknowledged: number;
  /** Pushes with the reply "another job holds the lock". */
  readonly refused: number;
  /** Jobs that were cancelled. */
  readonly cancelled: number;
  /** Jobs that ran although their push was not acknowledged: it failed or was cut off, and had stored them. */
  readonly unacknowledged: number;
  readonly executions: number;
  /** Acknowledged jobs that neither ended well, nor are in the store. */
  readonly lost: readonly Finding[];
  /** Jobs that are still queued, scheduled, retrying or running after the drain. */
  readonly stuck: readonly Finding[];
  /** Extra executions by the disturbance of the earlier run: `killed`, `frozen`, … */
  readonly extra: Readonly<Record<string, number>>;
  /** Extra executions without an explanation. */
  readonly unexplained: readonly Finding[];
  /** Extra executions by a worker that had been frozen or cut off before, and that had not started the job by then. */
  readonly notStarted: readonly Finding[];
  /** Jobs that are dead without a reason. */
  readonly wronglyDead: readonly Finding[];
  /** Unique jobs that were stored while another held their lock, and rejected ones that ran. */
  readonly notUnique: readonly Finding[];
  /** Jobs of a limited queue that ran together with too many others. */
  readonly overLimit: readonly Finding[];
  /** Cron runs, those with two jobs, and those without a job. */
  readonly occurrences: number;
  readonly cronTwice: readonly string[];
  readonly cronMissed: readonly string[];
}

/** An outcome is stored this soon after the end of its run, unless its worker, or the store, is disturbed. */
const SETTLE_MS = 3_000;
const UNIQUE_FOR_MS = UNIQUE_FOR_MINUTES * 60_000;
/** `uptime.ts` counts in steps of 10 ms. */
const STEP_MS = 20;
/**
 * A freeze may fall between the moment in which a worker is sure of a lease and the first line of the handler, which then runs this
 * soon after it. One processor at most is at that point. The jobs that the others start then run nowhere else.
 */
const THAWED_MS = 80;
/** A heartbeat that was due just before a freeze may be missing. */
const BEAT_SLACK_MS = 600;

/** A worker notices within this time that the supervisor that started it was killed, and then stops. */
const NOTICED_MS = 2_000;

const ENDS_DEAD = new Set(["Doomed", "Poison"]);

/** Returns the account. */
export function account(evidence: Evidence): Account {
  const { runs, pushes, dead, left } = evidence;
  const stored = pushes.filter(({ answer }) => answer === "stored");
  const byJid = Map.groupBy(runs, ({ jid }) => jid);
  const isDead = new Set(dead);
  const isLeft = new Set(left);
  const hits = new Hits(evidence);
  const extra: Record<string, number> = {};
  const unexplained: Finding[] = [];
  const notStarted: Finding[] = [];
  const acts = Map.groupBy(
    pushes.filter(({ answer }) => answer !== "stored" && answer !== "refused"),
    ({ jid }) => jid,
  );
  const isActedOn = (jid: string, ...answers: Push["answer"][]) =>
    acts.get(jid)?.some(({ answer }) => answer === "tried" || answers.includes(answer)) ?? false;
  const isForeign = new Set(pushes.filter(({ class: name }) => name === "Foreign").map(({ jid }) => jid));
  for (const [jid, all] of byJid) {
    const requeues = acts.get(jid)?.filter(({ answer }) => answer === "requeued" || answer === "tried").length ?? 0;
    for (const one of extrasOf(all, hits, requeues)) {
      if (one.cause !== undefined) extra[one.cause] = (extra[one.cause] ?? 0) + 1;
      else (hits.wasAwayBefore(one.run) ? notStarted : unexplained).push({ jid, what: describe(all) });
    }
  }
  const cancelled = new Map(
    pushes.filter(({ answer }) => answer === "removed" || answer === "aborted").map((one) => [one.jid, one]),
  );
  for (const { jid, t, answer } of cancelled.values()) {
    const all = byJid.get(jid) ?? [];
    if (answer === "removed" && all.some(({ start }) => start > t + STEP_MS)) {
      unexplained.push({ jid, what: `ran after it was cancelled at ${t}: ${describe(all)}` });
    }
  }
  for (const { jid, t, answer } of [...acts.values()].flat()) {
    const all = byJid.get(jid) ?? [];
    if (answer === "killed" && !isActedOn(jid, "requeued") && all.some(({ start }) => start > t + STEP_MS)) {
      unexplained.push({ jid, what: `ran after it was killed at ${t}: ${describe(all)}` });
    }
  }
  const acknowledgedJids = new Set(stored.map(({ jid }) => jid));
  const refused = pushes.filter(({ answer }) => answer === "refused");
  const isCron = (run: Run) => run.occurrence !== undefined;
  return {
    acknowledged: stored.length,
    refused: refused.length,
    cancelled: cancelled.size,
    unacknowledged: [...byJid].filter(([jid, [run]]) => !acknowledgedJids.has(jid) && !isCron(run!)).length,
    executions: runs.length,
    lost: stored.filter(({ jid, class: name }) => {
      const isDone = ENDS_DEAD.has(name) ? isDead.has(jid) : byJid.get(jid)?.some(({ why }) => why === "done");
      return !isDone && !isDead.has(jid) && !isLeft.has(jid) && !cancelled.has(jid) && !isActedOn(jid);
    }).map(({ jid, class: name }) => ({ jid, what: `${name}: ${describe(byJid.get(jid))}` })),
    stuck: left.map((jid) => ({ jid, what: describe(byJid.get(jid)) })),
    extra,
    unexplained,
    notStarted,
    wronglyDead: dead.filter((jid) => {
      const all = byJid.get(jid) ?? [];
      if (isForeign.has(jid) || isActedOn(jid, "killed")) return false;
      return !ENDS_DEAD.has(all[0]?.class ?? "") && all.filter((run) => hits.of(run)).length < evidence.maxRescues;
    }).map((jid) => ({ jid, what: describe(byJid.get(jid)) })),
    notUnique: notUnique(stored.filter(({ jid }) => !acts.has(jid)), refused, byJid, isLeft, evidence.jumps),
    overLimit: overLimit(runs.filter((run) => run.queue === "narrow" && run.end !== undefined && !hits.of(run))),
    ...cronOf(runs),
  };
}

/** The disturbances of runs. */
class Hits {
  readonly #evidence: Evidence;
  readonly #byPid: ReadonlyMap<number, readonly Incident[]>;

  constructor(evidence: Evidence) {
    this.#evidence = evidence;
    // A poisonous job kills its worker: no other incident tells of that where a parent starts the worker again.
    const poisoned = evidence.runs.filter((run) => run.class === "Poison" && run.end === undefined)
      .map(({ pid, start }): Incident => ({ kind: "poisoned", pid, from: start, to: start, effect: "gone" }));
    this.#byPid = Map.groupBy([...poisoned, ...evidence.incidents], ({ pid }) => pid);
  }

  /** Returns the kind of the incident that hit a run; undefined if none did. */
  of(run: Run): string | undefined {
    return this.#incidents(run).find((incident) => this.#isHit(run, incident))?.kind;
  }

  /** Whether the worker had been frozen or cut off past its timeout shortly before the run began. */
  wasAwayBefore(run: Run): boolean {
    const { heartbeatTimeoutMs } = this.#evidence;
    return this.#incidents(run).some(({ effect, from, to }) =>
      effect === "away" && this.#isPastTimeout(from, to) && from < run.start && run.start < to + 2 * heartbeatTimeoutMs
    );
  }

  #incidents({ pid, ppid }: Run): Incident[] {
    return [...this.#byPid.get(pid) ?? [], ...this.#byPid.get(ppid) ?? []];
  }

  #isHit(run: Run, { kind, effect, pid, from, to }: Incident): boolean {
    const { shutdownTimeoutMs, heartbeatTimeoutMs } = this.#evidence;
    const { start, end = Infinity, why } = run;
    if (effect === "gone") {
      return start <= from + (pid === run.ppid ? NOTICED_MS : STEP_MS) && from <= this.#settledBy(run, SETTLE_MS);
    }
    if (effect === "away") {
      // A worker that was offline must confirm its leases before it starts a job.
      const isStartedInTime = start < Math.min(to, from + heartbeatTimeoutMs + STEP_MS) ||
        kind === "frozen" && this.#isResumed(run, to);
      return this.#isPastTimeout(from, to) && isStartedInTime && from <= this.#settledBy(run, SETTLE_MS);
    }
    if (effect === "slow") {
      // A new connection takes several round trips: a slow line keeps its worker away for longer than the outage that cut it.
      return this.#evidence.outages.some((outage) =>
        outage.from <= to && from <= outage.to &&
        this.#isHit(run, { kind, pid, effect: "away", from: Math.min(from, outage.from), to: Math.max(to, outage.to) })
      );
    }
    if (start > to || end < from) return this.#settledBy(run, 0) > to && start <= to;
    const isCutShort = end === Infinity || !["done", "failed", "snoozed"].includes(why ?? "");
    return isCutShort || end >= from + shutdownTimeoutMs - STEP_MS || this.#settledBy(run, 0) > to;
  }

  /** Whether a run is the only one of a job with several that its worker began right after a freeze. */
  #isResumed({ pid, start }: Run, to: number): boolean {
    const isSoon = (at: number) => to <= at && at < to + THAWED_MS;
    if (!isSoon(start)) return false;
    const begun = this.#evidence.runs.filter((one) => one.pid === pid && isSoon(one.start));
    const isRepeated = ({ jid, attempt }: Run) =>
      this.#evidence.runs.filter((other) => other.jid === jid && other.attempt === attempt).length > 1;
    return begun.filter(isRepeated).length === 1;
  }

  #isPastTimeout(from: number, to: number): boolean {
    return to - from >= this.#evidence.heartbeatTimeoutMs - BEAT_SLACK_MS;
  }

  /**
   * The time until which the outcome of a run may be missing in the store: this long after its end, or longer if the store or worker was
   * down at that time.
   */
  #settledBy(run: Run, withinMs: number): number {
    if (run.end === undefined) return Infinity;
    const away = this.#incidents(run).filter(({ effect }) => effect === "away");
    const blocks = [...this.#evidence.outages, ...away].sort((a, b) => a.from - b.from);
    let by = run.end + withinMs;
    for (const { from, to } of blocks) {
      if (from <= Math.max(by, run.end + SETTLE_MS) && to > run.end) by = Math.max(by, to + SETTLE_MS);
    }
    return by;
  }
}

/** An execution that should not have been needed. */
interface Extra {
  readonly run: Run;
  readonly cause: string | undefined;
}

/** Returns the extra executions of one job. */
function extrasOf(runs: readonly Run[], hits: Hits, requeues: number): Extra[] {
  const extras: Extra[] = [];
  const requeued = new Array<string>(requeues).fill("requeued");
  for (const same of Map.groupBy(runs, ({ attempt }) => attempt).values()) {
    const snoozed = same.filter(({ why }) => why === "snoozed").length;
    const causes = same.flatMap((run) => hits.of(run) ?? []);
    for (const run of same.slice(1 + snoozed)) extras.push({ run, cause: causes.shift() ?? requeued.shift() });
  }
  const done = runs.find((run) => run.why === "done" && !hits.of(run));
  if (done) { for (const run of runs) if (run.attempt > done.attempt) extras.push({ run, cause: undefined }); }
  return extras;
}

function notUnique(
  stored: readonly Push[],
  refused: readonly Push[],
  byJid: ReadonlyMap<string, readonly Run[]>,
  isLeft: ReadonlySet<string>,
  jumps: readonly Jump[],
): Finding[] {
  const storeMs = (from: number, to: number) =>
    jumps.filter(({ t }) => from <= t && t <= to).reduce((sum, { ms }) => sum + ms, to - from);
  const findings = refused.filter(({ jid }) => byJid.has(jid) || isLeft.has(jid))
    .map(({ jid }) => ({ jid, what: `refused, and ${describe(byJid.get(jid))}` }));
  for (const same of Map.groupBy(stored.filter(({ key }) => key), ({ key }) => key).values()) {
    for (const [i, push] of same.entries()) {
      // The lock was held by the job of an earlier push that had not started when this push was answered.
      const holder = same.slice(0, i).find(({ jid, from, t }) =>
        t < push.from && (byJid.get(jid)?.[0]?.start ?? 0) > push.t && storeMs(from, push.t) < UNIQUE_FOR_MS
      );
      if (holder) findings.push({ jid: push.jid, what: `stored while ${holder.jid} held the lock` });
    }
  }
  return findings;
}

/** Returns the runs that began while the maximum number was running. */
function overLimit(runs: readonly Run[]): Finding[] {
  return runs.filter((run) =>
    runs.filter(({ start, end }) => start <= run.start && end! > run.start + STEP_MS).length > NARROW
  ).map((run) => ({ jid: run.jid, what: describe([run]) }));
}

/** Returns the runs of entries that are due each second. */
function cronOf(runs: readonly Run[]): Pick<Account, "occurrences" | "cronTwice" | "cronMissed"> {
  const jobs = new Map<string, Set<string>>();
  for (const { occurrence, jid } of runs) {
    if (occurrence !== undefined) jobs.set(occurrence, (jobs.get(occurrence) ?? new Set()).add(jid));
  }
  const cronMissed: string[] = [];
  const names = Map.groupBy(jobs.keys(), (occurrence) => occurrence.split(" ")[0]!);
  for (const [name, occurrences] of names) {
    const moments = occurrences.map((occurrence) => Date.parse(occurrence.split(" ")[1]!)).sort((a, b) => a - b);
    for (let moment = moments[0]!; moment < moments.at(-1)!; moment += 1_000) {
      const occurrence = `${name} ${new Date(moment).toISOString()}`;
      if (!jobs.has(occurrence)) cronMissed.push(occurrence);
    }
  }
  return {
    occurrences: jobs.size,
    cronTwice: [...jobs].filter(([, jids]) => jids.size > 1).map(([occurrence, jids]) => `${occurrence}: ${[...jids]}`),
    cronMissed,
  };
}

/** Returns the runs of one job in a line. */
function describe(runs: readonly Run[] = []): string {
  if (runs.length === 0) return "never ran";
  return runs.map(({ class: name, attempt, pid, start, end, why }) =>
    `${name} attempt ${attempt} by ${pid} ${start}-${end ?? ""} ${why ?? "not ended"}`
  ).join("; ");
}
