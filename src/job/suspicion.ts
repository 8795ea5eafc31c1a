/**
 * Decides which job to blame when a worker dies. These are the rules of `Store.rescue`.
 *
 *  1. A dead worker leaves many leases, and one of these jobs may have killed it. Which one is unknown, because jobs start
 *     without a write to the store. Each of them becomes a suspect: `suspected` in its payload. No death is counted yet.
 *  2. A worker reports a suspect to the store before it starts it, and starts no other job in between. If the worker dies
 *     while it runs a single suspect, and no job has started since, that job is to blame: `rescues` grows.
 *  3. If the worker dies while it runs several suspects, or if other jobs have started since, any of them may be to blame:
 *     `suspected` grows. From then on, such a job doesn't run next to other suspects. Nor does a job that was blamed before.
 *  4. A job is doomed when it was to blame `maxRescues` times, or was running in twice as many deaths. All other jobs run
 *     again.
 *
 * @module
 */
import { getField, setFields } from "./raw.ts";

/** How a worker must treat a job: 0 as any other, 1 as a suspect, 2 as a suspect that runs next to no other suspect. */
export type SuspicionLevel = 0 | 1 | 2;

/** The suspects that a worker runs. */
export interface RunningSuspects {
  /** The tokens of their leases. */
  readonly tokens: readonly string[];
  /** Whether no other job has started since the last of them. */
  readonly alone: boolean;
}

/** The decision about a job of a dead worker. */
export type Fate =
  /** The job runs again, with this payload. */
  | { readonly kind: "back"; readonly payload: string }
  /**
   * The job doesn't run again: it probably killed its workers, was cancelled, or its payload is unreadable: then the payload is
   * unchanged. For the last two, `deaths` is 0.
   */
  | { readonly kind: "doomed"; readonly payload: string; readonly deaths: number; readonly cancelled?: true };

/** Returns how a worker must treat a job. Doesn't parse the payload of a job that isn't a suspect. */
export function suspicionLevel(payload: string): SuspicionLevel {
  if (!payload.includes('"suspected"')) return 0;
  const suspected = countIn(payload, "suspected");
  if (suspected === 0) return 0;
  return suspected > 1 || countIn(payload, "rescues") > 0 ? 2 : 1;
}

/**
 * Decides about a job whose worker has died.
 *
 * @param token the token of its lease
 * @param running the suspects that the worker was running and that still have leases
 */
export function afterDeath(payload: string, token: string, running: RunningSuspects, maxRescues: number): Fate {
  let rescues = countIn(payload, "rescues");
  let suspected = countIn(payload, "suspected");
  const wasRunning = running.tokens.includes(token);
  if (wasRunning && running.tokens.length === 1 && running.alone) rescues++;
  else if (wasRunning) suspected++;
  suspected = Math.max(1, suspected);
  try {
    const counts = { suspected: `${suspected}`, ...(rescues > 0 && { rescues: `${rescues}` }) };
    const counted = setFields(payload, counts);
    // The first suspicion doesn't count: the job may not have started.
    const deaths = rescues + Math.max(0, suspected - 1);
    const isDoomed = wasRunning && (rescues >= maxRescues || deaths >= 2 * maxRescues);
    return isDoomed ? { kind: "doomed", payload: counted, deaths } : { kind: "back", payload: counted };
  } catch {
    return { kind: "doomed", payload, deaths: 0 };
  }
}

/** Returns the fate of a job that was cancelled before its worker died. */
export function afterCancel(payload: string): Fate {
  // Marked as after a death: its worker may have written steps, which end with it.
  const marked = afterDeath(payload, "", { tokens: [], alone: false }, Infinity).payload;
  return { kind: "doomed", payload: marked, deaths: 0, cancelled: true };
}

/** Returns a count; 0 if it is invalid, as any client may have written it. A job with invalid counts is doomed in the end, too. */
function countIn(payload: string, field: "rescues" | "suspected"): number {
  const count = getField(payload, field);
  return typeof count === "number" && Number.isSafeInteger(count) && count > 0 ? count : 0;
}
