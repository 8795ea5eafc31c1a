/**
 * A server's name: one live process has it, and its death lets go of it.
 *
 * @module
 */
import type { Store } from "../store/store.ts";

/** A live process has the name already. The message is one line for people. */
export class NameTaken extends Error {
  /** Told apart by name. */
  override readonly name = "NameTaken";

  /** @param taken the name */
  constructor(taken: string) {
    super(`A live process has the name "${taken}"; choose another with --name, or stop that one (jobs stop ${taken})`);
  }
}

/** For ever, as far as a claim goes: the owner's death ends it. */
const LONG_MS = 3_650 * 86_400_000;

/**
 * Claims the name for a process.
 *
 * @throws {NameTaken} when another live process has it
 */
export async function claimName(store: Store, name: string | undefined, identity: string): Promise<void> {
  if (name === undefined) return;
  if (await store.claim(`name:${name}`, identity, LONG_MS) === undefined) throw new NameTaken(name);
}
