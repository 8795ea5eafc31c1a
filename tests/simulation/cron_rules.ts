/**
 * The rules of cron: each occurrence is decided once, and leads to the job that its record names.
 *
 * @module
 */
import type { CronRecord } from "../../src/cron/occurrence.ts";
import { MAX_CRON_RECORDS } from "../../src/store/port/logs.ts";
import type { Model, Run } from "./model.ts";
import type { CronPlan } from "./plan.ts";
import type { World } from "./world.ts";

export class CronRules {
  readonly #world: World;
  readonly #model: Model;
  readonly #entry: CronPlan | undefined;
  readonly #jids = new Map<number, string>();

  constructor(world: World, model: Model, entry: CronPlan | undefined) {
    this.#world = world;
    this.#model = model;
    this.#entry = entry;
  }

  /** The job of an occurrence begins. */
  begins(at: number, run: Run, running: readonly Run[]): void {
    const other = this.#jids.get(at);
    if (other !== undefined && other !== run.jid && !this.#model.isUndone) {
      this.#world.fail("a cron run has one job", `${run.id} has ${other} and ${run.jid}`);
    }
    this.#jids.set(at, run.jid);
    const twin = running.find(({ id, jid }) => id.startsWith("tick ") && jid !== run.jid);
    if (twin && this.#entry?.overlap !== "allow" && !this.#model.isSplit) {
      this.#world.fail("runs of cron don't overlap", `${run.id} begins while ${twin.id} runs`);
    }
  }

  /**
   * @param records the log of the entry, oldest first
   * @param open jids in the store
   */
  judge(records: readonly CronRecord[], open: ReadonlySet<string>): void {
    if (this.#model.isUndone) return;
    const everyMs = Number.parseInt(this.#entry?.every ?? "1") * 1_000;
    const decided = new Map<number, CronRecord>();
    const fail = (message: string) => this.#world.fail("a cron run is decided once", message);
    for (const record of records) {
      const { outcome, scheduledAt: at, first, jid } = record;
      for (let one = first ?? at; one <= at; one += everyMs) {
        const before = decided.get(one);
        if (before !== undefined && before.outcome !== "waiting") fail(`${one} is ${before.outcome}, then ${outcome}`);
        decided.set(one, record);
      }
      // A later run cancels the one before, and waits until it has ended.
      const isReplaced = this.#entry?.overlap === "replace" &&
        records.some((later) => later.scheduledAt > at && ["enqueued", "waiting"].includes(later.outcome));
      if (outcome === "enqueued" && !open.has(jid!) && !isReplaced && !this.#hasRun(at, jid!)) {
        fail(`${at} is enqueued as ${jid}, and that never ran`);
      }
    }
    // A full log has lost the records of its first runs, but not that of a run among them that waited, and was enqueued later.
    const isFull = records.length >= MAX_CRON_RECORDS;
    const start = isFull ? records.find((one) => one.decidedAt - one.scheduledAt < everyMs)?.scheduledAt : undefined;
    const times = [...decided.keys()].filter((at) => at >= (start ?? -Infinity)).sort((a, b) => a - b);
    for (const [i, at] of times.entries()) {
      const before = times[i - 1];
      if (before !== undefined && at - before !== everyMs) fail(`nothing is decided between ${before} and ${at}`);
    }
    for (const [at, jid] of this.#jids) {
      const record = decided.get(at);
      if (at >= (times[0] ?? Infinity) && record?.jid !== jid) {
        fail(`${jid} ran for ${at}, which is ${record?.outcome}`);
      }
    }
  }

  /** Whether the job of an occurrence ran, or may have been cancelled. */
  #hasRun(at: number, jid: string): boolean {
    return this.#jids.get(at) === jid || this.#model.isTouchedJob(jid);
  }
}
