/**
 * Counts and logs the outcomes of cron occurrences: those on time at debug, late, skipped and missed ones so that operators
 * notice them.
 *
 * @module
 */
import { readDefinition } from "../../cron/definition.ts";
import type { CronRecord } from "../../cron/occurrence.ts";
import { ON_TIME_MS } from "../../cron/plan.ts";
import type { Log } from "../../log/log.ts";
import type { StoredCron } from "../../store/port/cron.ts";
import type { Counters } from "../stats/counters.ts";

export class CronReporter {
  readonly #log: Log;
  readonly #counters: Pick<Counters, "occurrence">;
  /** The latest time that was reported as awaited by entries. */
  #heldUntil = -Infinity;
  /** The definitions that this worker leaves to others, by name. */
  readonly #ignored = new Map<string, string>();

  constructor(log: Log, counters: Pick<Counters, "occurrence">) {
    this.#log = log;
    this.#counters = counters;
  }

  /** Reports an entry that is left to others, once if this version can't read it. */
  ignored({ name, definition }: Pick<StoredCron, "name" | "definition">): void {
    if (this.#ignored.get(name) === definition) return;
    this.#ignored.set(name, definition);
    if (readDefinition({ name, definition }) !== undefined) return;
    this.#log.warn("Cron entry skipped: this version can't read it", { entry: name });
  }

  /** Reports the decisions on an entry. */
  records(entry: string, records: readonly CronRecord[]): void {
    for (const record of records) {
      this.#counters.occurrence(record);
      this.#write(entry, record);
    }
  }

  /** Reports that the store's clock was set back so far that earlier decisions no longer count. */
  clockSetBack(entry: string, byMs: number): void {
    this.#log.warn("Store's clock was set back by more than a day: the cron entry starts over", { entry, byMs });
  }

  /**
   * Reports that entries have no runs until the store's clock is at this time again, because they were decided while it was ahead:
   * once for all entries of that time.
   */
  clockAhead(until: number, entry?: string): void {
    if (until <= this.#heldUntil + ON_TIME_MS) return;
    this.#heldUntil = until;
    this.#log.warn("Store's clock was set back: cron entries wait until it has caught up", {
      ...(entry !== undefined && { entry }),
      until: iso(until),
    });
  }

  #write(entry: string, { outcome, scheduledAt, decidedAt, jid, count, first, reason }: CronRecord): void {
    const fields = { entry, scheduledAt: iso(scheduledAt), jid };
    const lateMs = decidedAt - scheduledAt;
    switch (outcome) {
      case "enqueued":
        if (lateMs > ON_TIME_MS) this.#log.warn("Occurrence enqueued late", { ...fields, lateMs });
        else this.#log.debug("Occurrence enqueued", { ...fields, lateMs });
        return;
      case "waiting":
        return this.#log.info("Occurrence waits for the previous job to end", fields);
      case "skipped":
        if (reason !== undefined) {
          return this.#log.warn("Occurrence skipped", { entry, scheduledAt: iso(scheduledAt), reason });
        }
        return this.#log.info("Occurrence skipped: the previous job has not ended", fields);
      case "replaced":
        return this.#log.info("Occurrence replaced by a later one", { entry, scheduledAt: iso(scheduledAt) });
      case "missed":
        return this.#log.warn("Occurrences missed", {
          entry,
          count,
          first: first && iso(first),
          last: iso(scheduledAt),
        });
    }
  }
}

function iso(at: number): string {
  return new Date(at).toISOString();
}
