/**
 * The state of one cron entry in one worker: how events change it, and how the worker acts on an entry that it has read. Pure:
 * the scheduler reads and writes the store.
 *
 * @module
 */
import { type CronDefinition, LOADED_TTL_MS, readDefinition } from "../../cron/definition.ts";
import type { CronEntry } from "../../cron/entry.ts";
import type { StoredCron } from "../../store/port/cron.ts";

/** A config entry that no worker has had for this long is removed. */
export const FORGOTTEN_MS = 7 * 24 * 3_600_000;

/** An entry from this worker's configuration or program. */
export interface OwnEntry {
  readonly entry: CronEntry;
  /** Its definition, as it is stored. */
  readonly text: string;
}

export interface EntryState {
  /** The definition in this worker's configuration; undefined if only others define the entry. */
  readonly own: OwnEntry | undefined;
  /** This worker's definition must replace the stored one: it is newer. */
  readonly isUnwritten: boolean;
  /** The stored definition is this worker's. */
  readonly isStored: boolean;
  /** It was switched off or left the configuration: it must be removed from the store. */
  readonly isRemoved: boolean;
  /** When it was first missing from the store, on the monotonic clock. */
  readonly missingSince: number | undefined;
  /** When to look at it again, by the store's clock; undefined: not before something changes. */
  readonly next: number | undefined;
}

/** The state of an entry that the worker knows nothing about. */
export const UNKNOWN: EntryState = {
  own: undefined,
  isUnwritten: false,
  isStored: false,
  isRemoved: false,
  missingSince: undefined,
  next: undefined,
};

/** An event that concerns an entry. */
export type EntryEvent =
  /** It is in the configuration that was read. */
  | { readonly kind: "configured"; readonly own: OwnEntry }
  /** It is switched off there, or has left it. */
  | { readonly kind: "unconfigured" }
  /** It was read from the store. */
  | { readonly kind: "found"; readonly definition: string }
  /** The store doesn't have it. `at`: on the monotonic clock. */
  | { readonly kind: "missing"; readonly at: number }
  /** A definition of this worker was written; if the configuration was read again meanwhile, an earlier one. */
  | { readonly kind: "defined"; readonly definition: string }
  /** It is due at this time, by the store's clock. */
  | { readonly kind: "scheduled"; readonly next: number }
  /** Others decide on it. */
  | { readonly kind: "ignored" }
  /** It need not be removed any more. */
  | { readonly kind: "removed" };

/** Returns the state after an event. */
export function transition(state: EntryState, event: EntryEvent): EntryState {
  switch (event.kind) {
    case "configured":
      return {
        ...state,
        own: event.own,
        isUnwritten: true,
        isStored: state.isStored && state.own?.text === event.own.text,
        isRemoved: false,
      };
    case "unconfigured":
      return { ...state, own: undefined, isUnwritten: false, isStored: false, isRemoved: true };
    case "found":
    case "defined": {
      const isStored = state.own?.text === event.definition;
      return { ...state, isStored, isUnwritten: state.isUnwritten && !isStored, missingSince: undefined };
    }
    case "missing":
      return { ...state, isStored: false, next: undefined, missingSince: state.missingSince ?? event.at };
    case "scheduled":
      return { ...state, next: event.next };
    case "ignored":
      return { ...state, next: undefined };
    case "removed":
      return { ...state, isStored: false, isRemoved: false, next: undefined };
  }
}

/** Returns whether the worker has nothing to remember about an entry. */
export function isForgettable({ own, isRemoved, next }: EntryState): boolean {
  return own === undefined && !isRemoved && next === undefined;
}

/** How a worker acts on an entry: it writes the definition that it has, decides on the stored one, removes it, or leaves it to others. */
export type EntryAction =
  | { readonly kind: "define"; readonly own: OwnEntry }
  | { readonly kind: "decide"; readonly definition: CronDefinition }
  | { readonly kind: "remove" | "ignore" };

/**
 * Returns how to act on an entry that was just read.
 *
 * @param state after the event `found`
 * @param now the store's time
 */
export function actionFor(state: EntryState, stored: StoredCron, now: number): EntryAction {
  const { own, isStored, isUnwritten } = state;
  const unseenMs = now - stored.seenAt;
  // A definition that no worker has had for a while gives way to one that a worker has.
  if (own && !isStored && (isUnwritten || unseenMs > LOADED_TTL_MS)) return { kind: "define", own };
  const definition = readDefinition(stored);
  if (definition && (own || definition.source === "runtime")) return { kind: "decide", definition };
  return { kind: definition?.source === "config" && unseenMs > FORGOTTEN_MS ? "remove" : "ignore" };
}

/**
 * Returns the own definition of a missing entry if it is to be written: it is new, or has been missing for a while. Another
 * worker may have removed it because of a configuration that this one has yet to read.
 *
 * @param state after the event `missing`
 * @param at the time, on the monotonic clock
 */
export function definitionOfMissing({ own, isUnwritten, missingSince }: EntryState, at: number): OwnEntry | undefined {
  return isUnwritten || at - (missingSince ?? at) >= LOADED_TTL_MS ? own : undefined;
}
