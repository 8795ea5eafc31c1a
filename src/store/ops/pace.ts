/**
 * Measures how fast a store replies over some seconds: a single look misses a store that stalls now and then.
 *
 * @module
 */
import type { Clock } from "../../clock.ts";
import { StoreError } from "../port/errors.ts";
import type { WorkerStore } from "../port/workers.ts";

/** A write that takes longer is a stall. */
export const STALL_MS = 500;
/** A slower write, though not a stall yet, is a reason to measure for longer. */
const SLOW_MS = 250;
/** The pause between two writes. */
const PAUSE_MS = 100;
/** The measurement ends at the latest after this time. */
export const MAX_PACE_MS = 20_000;
/** It ends earlier after this many stalls, or a stall of this length: more of them say nothing new. */
const ENOUGH_STALLS = 3;
const LONG_STALL_MS = 5_000;
/** Waits are counted in ticks. A longer one is a freeze of this process, not of the store. */
const TICK_MS = 25;
const MAX_TICK_MS = 10 * TICK_MS;
/** The name that is claimed and released, and who claims it: no worker has either. */
const NAME = "jobs doctor";
const CLAIM_MS = 1_000;

/** The pace of a store. */
export interface Pace {
  /** The length of the measurement, in milliseconds. */
  readonly measuredMs: number;
  /** Reads are measured if this user may not write. */
  readonly calls: "writes" | "reads";
  /** How long each call took, in milliseconds, in their order. The last one may still wait for its reply. */
  readonly times: readonly number[];
  /** Why the last call that failed did so: the store is full, or down for a moment. */
  readonly failure?: StoreError;
}

/** Options of {@linkcode measurePace}. */
export interface PaceOptions {
  readonly clock: Clock;
  /** How long to measure a store that has no stall. */
  readonly minMs: number;
  /** Called once a call has become a stall: now its cause may be visible. */
  readonly onStall?: (() => void) | undefined;
  /** Called after each write, with its error if it failed. */
  readonly onWrite?: ((error: StoreError | undefined) => void) | undefined;
}

/**
 * Writes a name again and again, waits for each reply, and removes it. Measures for longer, up to {@linkcode MAX_PACE_MS}, once a
 * call was slow, because the next stall tells how often they occur.
 *
 * @throws {StoreError} if neither a write nor a read is possible, other than for a moment
 */
export async function measurePace(
  { workers }: { readonly workers: Pick<WorkerStore, "claim" | "list"> },
  { clock, minMs, onStall, onWrite }: PaceOptions,
): Promise<Pace> {
  let calls: Pace["calls"] = "writes";
  let failure: StoreError | undefined;
  const times: number[] = [];
  const began = clock.monotonic();
  const passed = () => clock.monotonic() - began;
  const call = async (): Promise<unknown> => {
    if (calls === "reads") return await workers.list();
    try {
      await workers.claim(NAME, NAME, CLAIM_MS);
      onWrite?.(undefined);
      return;
    } catch (error) {
      if (!(error instanceof StoreError)) throw error;
      if (error.transient) {
        onWrite?.(error);
        return failure = error;
      }
      calls = "reads";
      return await workers.list();
    }
  };
  while (isUnclear(times, passed(), minMs)) {
    const { ms, isPending } = await timed(call, {
      clock,
      maxMs: Math.min(LONG_STALL_MS, MAX_PACE_MS - passed()),
      onStall,
    });
    times.push(ms);
    if (isPending) return { measuredMs: passed(), calls, times };
    await clock.sleep(PAUSE_MS);
  }
  if (calls === "writes") await workers.claim(NAME, NAME, 0).catch(() => {});
  return { measuredMs: passed(), calls, times, ...(failure !== undefined && { failure }) };
}

function isUnclear(times: readonly number[], passedMs: number, minMs: number): boolean {
  if (times.length === 0) return true;
  if (times.filter((ms) => ms >= STALL_MS).length >= ENOUGH_STALLS) return false;
  return passedMs < (times.some((ms) => ms >= SLOW_MS) ? MAX_PACE_MS : minMs);
}

/** Returns how long a call takes, and whether it is still pending after `maxMs`. Time in which this process doesn't run isn't counted. */
async function timed(
  call: () => Promise<unknown>,
  { clock, maxMs, onStall }: { readonly maxMs: number } & Pick<PaceOptions, "clock" | "onStall">,
): Promise<{ ms: number; isPending: boolean }> {
  const began = clock.monotonic();
  let isPending = true;
  let failure: unknown;
  const ended = new AbortController();
  void call().catch((error) => failure = error).finally(() => {
    isPending = false;
    ended.abort();
  });
  let waited = 0;
  let before = began;
  while (isPending && waited < maxMs) {
    await clock.sleep(TICK_MS, ended.signal);
    const now = clock.monotonic();
    if (waited < STALL_MS && waited + now - before >= STALL_MS) onStall?.();
    waited += Math.min(now - before, MAX_TICK_MS);
    before = now;
  }
  if (failure !== undefined) throw failure;
  return { ms: waited, isPending };
}

/** Returns the calls that were stalls, in milliseconds, the longest first. */
export function stallsIn({ times }: Pace): number[] {
  return times.filter((ms) => ms >= STALL_MS).sort((a, b) => b - a);
}

/** Returns the median of the calls, in milliseconds. */
export function medianOf({ times }: Pace): number {
  return times.toSorted((a, b) => a - b)[Math.floor(times.length / 2)] ?? 0;
}
