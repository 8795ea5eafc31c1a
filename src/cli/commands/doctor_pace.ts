/**
 * The check of `jobs doctor` on the store's pace: whether it stalls now and then.
 *
 * @module
 */
import { systemClock } from "../../clock.ts";
import { formatDuration } from "../../job/duration.ts";
import type { StoreError } from "../../store/port/errors.ts";
import type { HealthFinding } from "../../store/admin/health.ts";
import type { Store } from "../../store/admin/store.ts";
import { measurePace, medianOf, type Pace, STALL_MS, stallsIn } from "../../store/ops/pace.ts";
import { fullStoreCure } from "../../text/full_store.ts";
import type { Finding } from "./doctor_finding.ts";

/** How long a store is measured that has no stall: with workers, each of them waits for it all the time. */
const MIN_MS = 5_000;
const MIN_IDLE_MS = 2_000;

/** Measures the store, and reports how long it stalled. */
export async function checkPace(
  store: Store,
  { isInUse, minMs = isInUse ? MIN_MS : MIN_IDLE_MS, onWrite }: {
    readonly isInUse: boolean;
    readonly minMs: number | undefined;
    /** Called after each write, with its error if it failed. */
    readonly onWrite: (error: StoreError | undefined) => void;
  },
): Promise<Finding[]> {
  let failures = 0;
  let cause: Promise<HealthFinding | undefined> = Promise.resolve(undefined);
  const pace = await measurePace(store, {
    clock: systemClock,
    minMs,
    onWrite: (error) => {
      if (error !== undefined) failures++;
      onWrite(error);
    },
    // The program that locks a file is known only while it does.
    onStall: () => {
      cause = Promise.all([cause, causeOf(store)]).then(([first, next]) => first ?? next);
    },
  });
  return [
    // Writes that all failed have no pace.
    ...failures === pace.times.length
      ? []
      : [paceFinding(pace, { url: store.url, cause: stallsIn(pace).length === 0 ? undefined : await cause })],
    ...(pace.failure === undefined ? [] : [
      {
        check: "store",
        state: "failed",
        message: `a write failed: ${pace.failure.message}`,
        ...(pace.failure.code === "full" && { cure: fullStoreCure(store.url).command }),
      } as const,
    ]),
  ];
}

async function causeOf({ admin }: Store): Promise<HealthFinding | undefined> {
  const { findings } = await admin.health().catch(() => ({ findings: [] }));
  return findings.find(({ isStall }) => isStall);
}

/** Returns the pace as a finding. */
export function paceFinding(
  pace: Pace,
  { url, cause }: { readonly url: string; readonly cause: HealthFinding | undefined },
): Finding {
  const { measuredMs, calls, times } = pace;
  const stalls = stallsIn(pace);
  const one = calls === "writes" ? "write" : "read";
  const median = medianOf(pace);
  const within = formatDuration(Math.ceil(measuredMs / 1_000) * 1_000);
  const cure = cause?.cure ?? cureOf(url);
  if (median >= STALL_MS) {
    const message = `each ${one} takes ${rounded(median)} (median of ${times.length}): pushes, takes and ` +
      "acknowledgements wait as long";
    return { check: "store", state: "warning", message, cure };
  }
  if (stalls.length > 0) {
    const often = stalls.length === 1 ? "once" : `${stalls.length} times`;
    const lengths = stalls.length === 1 ? `for ${rounded(stalls[0]!)}` : `for up to ${rounded(stalls[0]!)}`;
    const why = cause === undefined ? "" : `; ${cause.message}`;
    const message = `it stalled ${often} in ${within}, ${lengths}, and else takes ${rounded(median)} for a ${one}: ` +
      `pushes, takes and acknowledgements wait as long${why}`;
    return { check: "store", state: "warning", message, cure };
  }
  const slowest = rounded(Math.max(...times));
  return {
    check: "store",
    state: "ok",
    message: `${times.length} ${times.length === 1 ? one : calls} in ${within}: ${
      rounded(median)
    } each, the slowest ${slowest}`,
  };
}

/** Returns a time to two digits. */
function rounded(ms: number): string {
  return ms < 1 ? "under 1ms" : formatDuration(Number(ms.toPrecision(2)));
}

/** Returns what shows the cause of stalls that have passed. */
function cureOf(url: string): string {
  if (url.startsWith("sqlite:")) {
    return "iostat -x 1 shows whether its disk stalls; programs that lock the file: " +
      `fuser -v ${url.slice("sqlite:".length).replace(/[?].*/, "")}-shm`;
  }
  if (url.startsWith("postgres")) {
    return `psql -c "SELECT pid, now() - xact_start AS open, wait_event, query FROM pg_stat_activity WHERE state <> 'idle'"; ` +
      "iostat -x 1 shows whether its disk stalls";
  }
  return "redis-cli slowlog get 10; if it is empty, redis-cli --latency-history and the server's disk, swap and network";
}
