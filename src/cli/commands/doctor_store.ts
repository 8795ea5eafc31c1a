/**
 * The checks of `jobs doctor` in the store: whether it opens, its health, and the alerts of the dashboard.
 *
 * @module
 */
import type { WorkerInfo } from "../../store/port/workers.ts";
import type { Store } from "../../store/admin/store.ts";
import { systemClock } from "../../clock.ts";
import type { LoadedConfig } from "../../config/load.ts";
import { formatDuration } from "../../job/duration.ts";
import type { Alert, Situation } from "../../operator/alerts/alert.ts";
import { alertsOf } from "../../operator/alerts/alerts.ts";
import { BEHIND_MS } from "../../operator/alerts/queue_alerts.ts";
import { MIN_SPAN_MS } from "../../operator/query/backlog.ts";
import { readSituation, sampleOf } from "../../operator/alerts/situation.ts";
import type { QueueInfo, Stats } from "../../store/admin/admin.ts";
import { ALL_QUEUES } from "../../store/port/paused_queues.ts";
import { StoreError, type StoreErrorCode } from "../../store/port/errors.ts";
import { hidePassword } from "../../store/port/hide_password.ts";
import { openStore } from "../../store/open.ts";
import { limitSet, limitUse } from "../../text/limits.ts";
import { checkCron } from "./doctor_cron.ts";
import { checkPace } from "./doctor_pace.ts";
import type { Finding } from "./doctor_finding.ts";
import { fullStoreCure } from "../../text/full_store.ts";
import { pausedSince, pauseText } from "../../text/queues.ts";
import { startAdvice } from "../../text/runtimes.ts";
import { shellWord } from "../../text/shell.ts";
import { storeOptions, storeUrl } from "../shared/store.ts";

/** A larger difference is reported: displayed times, and those of `--at`, are off by as much. */
const MAX_SKEW_MS = 2_000;
/** A failed write explains other findings, which wait for the first one for at most this long. */
const MAX_FIRST_WRITE_MS = 1_000;
/** Leases read at a time. */
const PAGE_SIZE = 1_000;

/** The findings about the store that are known at once. */
export interface StoreFindings {
  readonly findings: readonly Finding[];
  /** Whether an online worker has handlers; undefined if that isn't known, because the store can't be read. */
  readonly hasHandlers: boolean | undefined;
}

/** Options of {@linkcode checkStore}. */
export interface StoreCheck {
  /** Those with handlers on this machine. */
  readonly classes: readonly string[];
  /** How long to measure a store that has no stall; default: longer if a worker is online. */
  readonly measureMs: number | undefined;
  /** Receives what is known before the measurement has ended. */
  readonly known: (found: StoreFindings) => void;
  /** Receives the findings after that. */
  readonly report: (findings: readonly Finding[]) => void;
}

/** Checks the store. */
export async function checkStore({ settings }: LoadedConfig, check: StoreCheck): Promise<void> {
  const url = storeUrl(settings);
  let hasHandlers: boolean | undefined;
  let isKnown = false;
  try {
    await using store = await openStore(url, { ...storeOptions(settings), create: false });
    const { findings: health, isBlocked } = await checkHealth(store, settings.durability);
    if (isBlocked) return check.known({ findings: health, hasHandlers });
    const before = { stats: await store.admin.stats(), at: systemClock.now() };
    const online = (await store.workers.list()).filter(({ alive }) => alive);
    hasHandlers = online.some(({ classes }) => (classes?.length ?? 0) > 0);
    let failed: StoreError | undefined;
    const wrote = Promise.withResolvers<void>();
    const pace = checkPace(store, {
      isInUse: online.length > 0,
      minMs: check.measureMs,
      onWrite: (error) => {
        failed ??= error;
        wrote.resolve();
      },
    });
    // Another check may fail first.
    pace.catch(() => wrote.resolve());
    await Promise.race([wrote.promise, systemClock.sleep(MAX_FIRST_WRITE_MS)]);
    const findings = failed !== undefined && failed.code !== "locked"
      ? await checkFailing(store, health, failed)
      : [...health, ...await checkAlerts(store, { classes: check.classes, before }), ...await checkCron(store)];
    isKnown = true;
    check.known({ findings, hasHandlers });
    const measured = await pace;
    check.report(isReported(failed, findings) ? measured.filter(({ state }) => state !== "failed") : measured);
  } catch (error) {
    const failure = failureOf(error, url);
    if (error instanceof StoreError && error.code === "missing") hasHandlers = false;
    if (isKnown) check.report([failure]);
    else check.known({ findings: [failure], hasHandlers });
  }
}

/** Returns the findings while writes fail: that comes first, and its consequences are left out. */
async function checkFailing(
  store: Store,
  [shown, ...health]: readonly Finding[],
  error: StoreError,
): Promise<Finding[]> {
  const failedWrite = { error, url: store.url };
  const [cause, ...others] = alertsOf(
    await readSituation({ store, clock: systemClock, classes: [], failedWrite }),
  );
  return [
    { ...findingOf(cause!), state: "failed" },
    { ...shown!, state: "warning", message: `${shown!.message}: readable` },
    ...health,
    ...others.map(findingOf),
  ];
}

function isReported(failed: StoreError | undefined, findings: readonly Finding[]): boolean {
  return failed !== undefined &&
    findings.some(({ state, message }) => state === "failed" && message.includes(failed.message));
}

function failureOf(error: unknown, url: string): Finding {
  if (error instanceof StoreError && error.code === "missing") {
    return {
      check: "store",
      state: "warning",
      message: `no store at "${url}" yet`,
      cure: "jobs run and jobs push create it; --store or JOBS_STORE names another",
    };
  }
  return { check: "store", state: "failed", message: (error as Error).message, cure: cureOf(error, url) };
}

/** Returns what to do about a store that can't be used. */
function cureOf(error: unknown, url: string): string {
  const code = error instanceof StoreError ? error.code : "unavailable";
  if (code === "full") return fullStoreCure(url).command;
  if (/certificate|\bTLS\b/.test((error as Error).message)) {
    return "mend the certificate or the parameters for TLS (operate/postgres.md, operate/redis.md), not the network";
  }
  const cure = CURES[code] ??
    (url.startsWith("sqlite:")
      ? "give this user permission on the file and its folder"
      : "check that the server runs, answers (it may be frozen or overloaded), and is reachable from here");
  return `${cure}; --store or JOBS_STORE names another`;
}

/** By the code of the error. Others depend on the kind of store. */
const CURES: Readonly<Partial<Record<StoreErrorCode, string>>> = {
  newer: "install that version of jobs here",
  locked: "end the program that has locked it",
  held: "end the session that holds it",
  corrupt: "restore a backup: jobs restore",
  wrong: "check the address",
};

/** Returns the findings about the server, and whether it answers no reads of the store. */
async function checkHealth(
  store: Store,
  configured: "full" | "normal",
): Promise<{ readonly findings: readonly Finding[]; readonly isBlocked: boolean }> {
  const before = systemClock.now();
  const { version, durability, now, findings } = await store.admin.health();
  const skew = now - (before + systemClock.now()) / 2;
  const guarantee = durability !== undefined
    ? `, ${GUARANTEES[durability]}`
    : store.url.startsWith("sqlite:")
    ? ""
    : ", durability unknown: INFO or CONFIG GET is denied";
  const isBlocked = findings.some(({ blocksReads }) => blocksReads);
  const all: Finding[] = [
    {
      check: "store",
      state: durability === "none" ? "warning" : "ok",
      message: `${hidePassword(store.url)}, ${version}${guarantee}`,
    },
    ...durabilityFindings(store.url, durability, configured),
    ...findings.map(({ message, cure }): Finding => ({ check: "store", state: "warning", message, cure })),
    ...(Math.abs(skew) < MAX_SKEW_MS ? [] : [
      {
        check: "clock",
        state: "warning",
        message: `the store's clock is ${formatDuration(Math.abs(skew))} ${
          skew > 0 ? "ahead of" : "behind"
        } this machine's`,
        cure: "synchronize both clocks with NTP; due times follow the store's clock",
      } as const,
    ]),
  ];
  return { findings: all, isBlocked };
}

const GUARANTEES = {
  full: "a power cut loses no acknowledged job",
  normal: "a power cut may lose the latest jobs",
  none: "a crash may lose many jobs",
};

function durabilityFindings(
  url: string,
  actual: keyof typeof GUARANTEES | undefined,
  configured: "full" | "normal",
): Finding[] {
  if (url.startsWith("sqlite:")) {
    return actual === undefined || actual === configured || url.includes("durability=") ? [] : [{
      check: "store",
      state: "warning",
      message: `durability is "${actual}", but "${configured}" is configured`,
      cure: "use a file: a store in memory is lost when its process ends",
    }];
  }
  if (actual !== "none") return [];
  if (url.startsWith("postgres")) {
    return [{
      check: "store",
      state: "warning",
      message: "fsync or full_page_writes of PostgreSQL is off: a power cut may damage the database",
      cure: "set both to on in postgresql.conf (docs/operate/postgres.md)",
    }];
  }
  return [{
    check: "store",
    state: "warning",
    message: "Redis has no append-only file: a crash loses all jobs since its last snapshot",
    cure: "redis-cli CONFIG SET appendonly yes, and the same in redis.conf (docs/operate/redis.md)",
  }];
}

/** Reports the alerts of the dashboard, and how many workers are online. */
async function checkAlerts(
  store: Store,
  { classes, before }: {
    readonly classes: readonly string[];
    readonly before: { readonly stats: Stats; readonly at: number };
  },
): Promise<Finding[]> {
  // The rates of queues need some time in between.
  const isBehind = before.stats.queues.some(({ size, latencyMs }) => size > 0 && latencyMs >= BEHIND_MS);
  if (isBehind) await systemClock.sleep(before.at + MIN_SPAN_MS - systemClock.now());
  const samples = [sampleOf(before.stats, before.at)];
  const situation = await readSituation({ store, clock: systemClock, classes, samples });
  const { stats: { queues, enqueued }, workers, now } = situation;
  const online = workers.filter(({ alive }) => alive);
  const stuck = await stuckLeases(store, online);
  return [
    ...(online.length > 0
      ? [{ check: "workers", state: "ok", message: onlineText(online, now) } as const]
      : enqueued > 0
      ? []
      : [{ check: "workers", state: "warning", message: "none online", cure: startAdvice([]) } as const]),
    // The findings about the server are above.
    ...alertsOf({ ...situation, serverFindings: [] }).map(findingOf),
    ...(stuck === 0 ? [] : [
      {
        check: "jobs",
        state: "warning",
        message: `${stuck === 1 ? "1 job is" : `${stuck} jobs are`} held by offline workers`,
        cure: `an online worker rescues them within seconds; start one: ${startAdvice(workers)}`,
      } as const,
    ]),
    ...emptyPauses(situation),
    ...queues.flatMap((queue) => atItsLimit(queue, situation)),
  ];
}

function onlineText(online: readonly WorkerInfo[], now: number): string {
  const oldest = Math.min(...online.map(({ heartbeatAt }) => heartbeatAt));
  return `${online.length} online, as of ${formatDuration(Math.max(0, now - oldest))} ago`;
}

function findingOf({ about, title, detail, command }: Alert): Finding {
  const message = detail === undefined ? title : `${title}. ${detail}`;
  // The dashboard refers to doctor for the findings about the store, which are above this one.
  const cure = command === "jobs doctor" ? undefined : command;
  return { check: about, state: "warning", message, ...(cure !== undefined && { cure }) };
}

/** Reports pauses of queues without queued jobs: the dashboard reports a pause when jobs wait. */
function emptyPauses({ stats: { queues }, later, pauses, now }: Situation): Finding[] {
  return queues.filter(({ name, paused, size }) => paused && size === 0 && name !== ALL_QUEUES).map((queue) => {
    const { name } = queue;
    const isAwaited = later.has(name);
    const resume = `jobs resume ${shellWord(name)}`;
    return {
      check: "queues",
      state: "warning",
      message: `Queue "${name}" is ${pauseText(queue)}${pausedSince(pauses.get(name), now)}${
        isAwaited ? "; it is empty, but jobs of it are scheduled or retrying" : ", and empty"
      }`,
      cure: isAwaited ? `${resume}, once they are meant to run` : resume,
    };
  });
}

/** Counts the jobs held by offline workers. */
async function stuckLeases(store: Store, online: readonly WorkerInfo[]): Promise<number> {
  const alive = new Set(online.map(({ id }) => id));
  let stuck = 0;
  let cursor: string | undefined;
  do {
    const page = await store.admin.page({ in: "running" }, {
      limit: PAGE_SIZE,
      ...(cursor !== undefined && { cursor }),
    });
    stuck += page.entries.filter(({ worker }) => worker === undefined || !alive.has(worker)).length;
    cursor = page.next;
  } while (cursor !== undefined);
  return stuck;
}

/** Reports a queue at its limit. This isn't a fault: an operator set the limit. */
function atItsLimit({ name, size, latencyMs, limit }: QueueInfo, { limits, now }: Situation): Finding[] {
  if (size === 0 || limit === undefined || limit.freeInMs === 0 || latencyMs >= BEHIND_MS) return [];
  const age = `${size === 1 ? "" : "the oldest "}${formatDuration(latencyMs)} old`;
  const message = `queue "${name}" has ${jobsIn(size)}, ${age}, and is at its limit: ${limitUse(limit)}${
    limitSet(limit, limits.get(name), now)
  }`;
  return [{ check: "queues", state: "ok", message }];
}

function jobsIn(size: number): string {
  return `${size} ${size === 1 ? "job" : "jobs"}`;
}
