/**
 * Suspicion: which job to blame when a worker dies. Pure; the rules of `Store.rescue`.
 *
 *  1. A dead worker leaves many leases, and one of these jobs may have killed it. Which one is not known: jobs start without
 *     a word to the store. So each of them becomes a suspect: `suspected` in its payload. No death is counted yet.
 *  2. A worker names a suspect to the store before it starts it, and starts nothing else at that moment. If the worker dies
 *     while it runs a single suspect, and nothing has started since, that job is to blame: `rescues` grows.
 *  3. If it dies while it runs several suspects, or other jobs have started meanwhile, any of these may be to blame:
 *     `suspected` grows. Such a job, and one that was blamed before, no longer runs beside other suspects.
 *  4. A job is doomed when it was to blame `maxRescues` times, or ran in twice as many deaths. All others run again.
 *
 * @module
 */
import { getField, setFields } from "./raw.ts";

/** How a worker has to treat a job: 0 as any other, 1 as a suspect, 2 as a suspect that runs beside no other suspect. */
export type SuspicionLevel = 0 | 1 | 2;

/** The suspects that a worker runs. */
export interface RunningSuspects {
  /** The tokens of their leases. */
  readonly tokens: readonly string[];
  /** No other job has started since the last of them. */
  readonly alone: boolean;
}

/** What becomes of a dead worker's job. */
export type Fate =
  /** Runs again, with this payload. */
  | { readonly kind: "back"; readonly payload: string }
  /** Killed its workers, in all likelihood, or is unreadable (`deaths` is 0 then, and the payload as it was). */
  | { readonly kind: "doomed"; readonly payload: string; readonly deaths: number };

/** Reads how a worker has to treat a job. Costs next to nothing for jobs that are no suspects. */
export function suspicionLevel(payload: string): SuspicionLevel {
  if (!payload.includes('"suspected"')) return 0;
  const suspected = countIn(payload, "suspected");
  if (suspected === 0) return 0;
  return suspected > 1 || countIn(payload, "rescues") > 0 ? 2 : 1;
}

/**
 * Decides about a job whose worker has died.
 *
 * @param token of its lease
 * @param running the suspects that the worker was running, as far as they still have leases
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
    // The first time, nothing says that it ran at all.
    const deaths = rescues + Math.max(0, suspected - 1);
    const isDoomed = wasRunning && (rescues >= maxRescues || deaths >= 2 * maxRescues);
    return isDoomed ? { kind: "doomed", payload: counted, deaths } : { kind: "back", payload: counted };
  } catch {
    return { kind: "doomed", payload, deaths: 0 };
  }
}

/** A count in a payload that anyone may have written: what is no count is 0, so that there is an end. */
function countIn(payload: string, field: "rescues" | "suspected"): number {
  const count = getField(payload, field);
  return typeof count === "number" && Number.isSafeInteger(count) && count > 0 ? count : 0;
}
