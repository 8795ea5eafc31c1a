/**
 * A server's name: one live process has it, and its death lets go of it.
 *
 * Whether a holder that does not answer is dead, only its heartbeat tells: a process number means nothing in another
 * container, and two may share a hostname. So a start waits until the holder counts as dead, and is refused as soon as it
 * beats. What a supervisor started and saw end needs no waiting: see {@linkcode NameOptions.predecessor}.
 *
 * @module
 */
import type { Clock } from "../../clock.ts";
import type { Log } from "../../log/log.ts";
import type { ServerStore } from "../../store/port/store.ts";

/** A live process has the name already. The message is one line for people. */
export class NameTaken extends Error {
  /** Told apart by name. */
  override readonly name = "NameTaken";

  /** @param taken the name */
  constructor(taken: string) {
    super(`A live process has the name "${taken}"; choose another with --name, or stop that one (jobs stop ${taken})`);
  }
}

/** Who claims a name, and how it waits. */
export interface NameOptions {
  readonly identity: string;
  /** The identity of a process that is known to have ended: what that has is free. */
  readonly predecessor?: string | undefined;
  readonly clock: Clock;
  readonly log: Pick<Log, "warn">;
  /** Ends the waiting: nobody wants the name any more. */
  readonly signal: AbortSignal;
}

/** For ever, as far as a claim goes: the owner's death ends it. */
const LONG_MS = 3_650 * 86_400_000;
/** How often the holder is looked at. */
const POLL_INTERVAL_MS = 250;

/**
 * Claims the name for a process; waits for a holder of whom nothing is heard to count as dead.
 *
 * @throws {NameTaken} when the holder has beaten meanwhile, or another was first
 */
export async function claimName(store: ServerStore, name: string | undefined, options: NameOptions): Promise<void> {
  if (name === undefined) return;
  const { identity, predecessor, signal } = options;
  const key = `name:${name}`;
  if (predecessor !== undefined) await store.workers.releaseName(key, predecessor);
  const claim = () => store.workers.claimName(key, identity, LONG_MS);
  if (await claim()) return;
  await outlive(store, name, key, options);
  if (!signal.aborted && !await claim()) throw new NameTaken(name);
}

/** Resolves when no live process has the name. */
async function outlive(
  store: ServerStore,
  name: string,
  key: string,
  { clock, log, signal }: NameOptions,
): Promise<void> {
  const first = await store.workers.nameHolder(key);
  if (first === undefined) return;
  log.warn("Waiting until the process that has the name counts as dead", {
    wanted: name,
    holder: first.owner,
    secondsAtMost: Math.ceil(first.freeInMs / 1_000),
  });
  for (let left = first.freeInMs;;) {
    await clock.sleep(Math.min(POLL_INTERVAL_MS, left), signal);
    if (signal.aborted) return;
    const holder = await store.workers.nameHolder(key);
    if (holder === undefined) return;
    if (holder.owner !== first.owner || holder.heartbeatUntil !== first.heartbeatUntil) throw new NameTaken(name);
    left = holder.freeInMs;
  }
}
