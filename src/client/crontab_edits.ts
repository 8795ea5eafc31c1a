/**
 * Changes of stored cron entries: read, changed and written in parts, and again if others have changed them meanwhile.
 *
 * @module
 */
import type { Clock } from "../clock.ts";
import { CrontabError } from "../cron/crontab.ts";
import { indexOf, readDefinition } from "../cron/definition.ts";
import type { CronState } from "../cron/plan.ts";
import { openSchedule } from "../cron/schedule_spec.ts";
import type { CronPageRequest, CronRemoval, CronStore, CronWrite, StoredCron } from "../store/port/cron.ts";
import { busy, type Change, definitionOf, stateOf, unchanged } from "./crontab_entry.ts";
import { Slices } from "./slices.ts";

/** Selects cron entries by the beginning of their names, by a tag, or both. */
export type CronFilter = Pick<CronPageRequest, "prefix" | "tag">;

/** A write is attempted this many times if other writers change the entry first. */
const MAX_ATTEMPTS = 20;

/** Entries that are read and written together. */
export const PART = 64;

/** Returns the write that changes an entry; undefined if it needs none. */
export type Edit = (
  name: string,
  stored: StoredCron | undefined,
  now: number,
) => Change | "remove" | undefined | Promise<Change | "remove" | undefined>;

/** Changes entries of a store. */
export class CrontabEdits {
  readonly #cron: CronStore;
  readonly #clock: Clock;

  constructor(cron: CronStore, clock: Clock) {
    this.#cron = cron;
    this.#clock = clock;
  }

  /**
   * Changes the entries with a prefix or a tag.
   *
   * @returns how many were written
   * @throws {CrontabError} without a prefix and a tag
   */
  async some({ prefix, tag }: CronFilter, edit: Edit): Promise<number> {
    if (!prefix && !tag) throw new CrontabError("Expected a prefix or a tag of cron entries");
    let changed = 0;
    let cursor: string | undefined;
    do {
      const page = await this.#cron.page({ prefix, tag, cursor, limit: PART });
      const edited: Edit = (name, stored, now) => stored && readDefinition(stored) && edit(name, stored, now);
      changed += await this.of(page.entries.map(({ name }) => name), edited);
      cursor = page.next;
    } while (cursor !== undefined);
    return changed;
  }

  /** Changes entries. Returns how many were written. */
  async of(names: readonly string[], edit: Edit): Promise<number> {
    let written = 0;
    let left = names;
    const slices = new Slices(this.#clock);
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
      const { now, entries } = await this.#cron.read(left);
      const stored = new Map(entries.map((entry) => [entry.name, entry]));
      const writes: (CronWrite | CronRemoval)[] = [];
      for (const name of left) {
        const change = await edit(name, stored.get(name), now);
        const version = stored.get(name)?.version ?? 0;
        if (change === "remove") writes.push({ name, version, remove: true });
        else if (change !== undefined) writes.push({ name, version, ...change });
        if (slices.isOver()) await slices.next();
      }
      const versions = writes.length > 0 ? await this.#cron.write(writes) : [];
      left = writes.filter((_, index) => versions[index] === undefined).map(({ name }) => name);
      written += writes.length - left.length;
      if (left.length === 0) return written;
    }
    throw busy(left[0]!, MAX_ATTEMPTS);
  }
}

/** Returns the edit that changes the state of an entry. */
export function stateEdit(change: (state: CronState, now: number) => CronState | undefined): Edit {
  return (name, stored, now) => {
    const definition = definitionOf(name, stored);
    const state = change(stateOf(stored!, definition, now), now);
    // The definition is written even if it is unchanged: that notifies the workers.
    return state && {
      ...unchanged(state, definition),
      ...indexOf(definition),
      definition: stored!.definition,
      next: state.paused ? undefined : openSchedule(state.schedule).next(state.considered),
    };
  };
}
