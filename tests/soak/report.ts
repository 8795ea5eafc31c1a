/**
 * The output of a soak: a report for people, and one line of JSON.
 *
 * @module
 */
import type { Finding } from "./account.ts";
import type { SoakResult } from "./soak.ts";

/** At most this many findings of a kind are printed. The folder has the others. */
const SHOWN = 5;

/** Whether a soak found nothing. */
export function isClean(result: SoakResult): boolean {
  return Object.values(problemsOf(result)).every((findings) => findings.length === 0);
}

/** Returns everything that should be empty, by name. */
function problemsOf({ account, failures, leftovers }: SoakResult): Record<string, readonly string[]> {
  const lines = (findings: readonly Finding[]) => findings.map(({ jid, what }) => `${jid} ${what}`);
  return {
    lost: lines(account.lost),
    stuck: lines(account.stuck),
    unexplained: lines(account.unexplained),
    notStarted: lines(account.notStarted),
    wronglyDead: lines(account.wronglyDead),
    notUnique: lines(account.notUnique),
    overLimit: lines(account.overLimit),
    cronTwice: account.cronTwice,
    cronMissed: account.cronMissed,
    failures,
    leftovers,
  };
}

const TITLES: Readonly<Record<string, string>> = {
  lost: "acknowledged jobs lost",
  stuck: "jobs stuck after the drain",
  unexplained: "extra executions without a cause",
  notStarted: "extra executions of jobs that had not started",
  wronglyDead: "jobs in dead without a cause",
  notUnique: "unique jobs that were not unique",
  overLimit: "jobs that ran over their queue's limit",
  cronTwice: "cron occurrences enqueued twice",
  cronMissed: "cron occurrences missed",
  failures: "workers or pushers that failed",
  leftovers: "leases, locks, workers or processes left",
};

/** Returns the report for people. */
export function report(result: SoakResult): string {
  const { options, account, disturbances, leftOut, drain } = result;
  const extra = Object.entries(account.extra).map(([cause, count]) => `${count} ${cause}`).join(", ");
  const rows: [string, string | number][] = [
    ["store, seed", `${options.store}, ${options.seed}`],
    ["load", seconds(options.durationMs)],
    ["drain", `${drain.jobs} jobs in ${seconds(drain.ms)}`],
    ["jobs acknowledged", account.acknowledged],
    ["pushes refused by a unique lock", account.refused],
    ["jobs cancelled", account.cancelled],
    ["jobs that ran without an acknowledgement", account.unacknowledged],
    ["executions", account.executions],
    ["extra executions, explained", extra || 0],
    ["cron occurrences", account.occurrences],
    ["disturbances", Object.values(disturbances).reduce((sum, count) => sum + count, 0)],
    ...Object.entries(disturbances).sort().map(([name, count]): [string, number] => [`  ${name}`, count]),
    ...leftOut.map((what): [string, string] => ["left out", what]),
    ...Object.entries(problemsOf(result)).map(([name, { length }]): [string, number] => [TITLES[name]!, length]),
  ];
  const found = Object.entries(problemsOf(result)).flatMap(([name, findings]) =>
    findings.slice(0, SHOWN).map((finding) => `  ${name}: ${finding}`)
  );
  const width = Math.max(...rows.map(([name]) => name.length));
  const table = rows.map(([name, value]) => `${name.padEnd(width)}  ${value}`);
  const verdict = isClean(result) ? "Nothing lost, nothing stuck" : `Found something; evidence in ${options.folder}`;
  return [...table, ...found, verdict].join("\n");
}

/** Returns the same as one line of JSON. */
export function reportLine(result: SoakResult): string {
  const { options: { only, folder, signal: _, ...options }, account, disturbances, leftOut, drain } = result;
  const counts = Object.entries(problemsOf(result)).map(([name, { length }]) => [name, length]);
  const { acknowledged, refused, cancelled, unacknowledged, executions, extra, occurrences } = account;
  return JSON.stringify({
    ...options,
    ...(only && { only }),
    ok: isClean(result),
    ...{ acknowledged, refused, cancelled, unacknowledged, executions, extra, occurrences },
    ...Object.fromEntries(counts),
    drainJobs: drain.jobs,
    drainMs: drain.ms,
    disturbances,
    leftOut,
    folder,
  });
}

function seconds(ms: number): string {
  return `${Math.round(ms / 100) / 10} s`;
}
