/**
 * The rules of streams: the chunks of each run are stored once and in order, those of a run that wasn't hit all of them, and those of a
 * later run come after them.
 *
 * @module
 */
import { readStream, type StreamItem, type StreamReader } from "../../src/store/ops/streams.ts";
import type { Model, Run } from "./model.ts";
import type { World } from "./world.ts";

/** The end of a stream is stored this soon. */
const SETTLE_MS = 10_000;

export class StreamRules {
  readonly #world: World;
  readonly #model: Model;
  /** How many chunks each run has written, by jid, in the order in which they began to. */
  readonly #written = new Map<string, Map<Run, number>>();

  constructor(world: World, model: Model) {
    this.#world = world;
    this.#model = model;
  }

  get hasAny(): boolean {
    return this.#written.size > 0;
  }

  /** Returns the next chunk of a run: the number of the run, and that of the chunk within it, from 1. */
  chunk(run: Run): readonly [run: number, chunk: number] {
    const runs = this.#written.getOrInsertComputed(run.jid, () => new Map());
    const chunk = (runs.get(run) ?? 0) + 1;
    runs.set(run, chunk);
    return [[...runs.keys()].indexOf(run), chunk];
  }

  /** Judges the streams of all jobs, after all has ended. */
  async judge(store: StreamReader): Promise<void> {
    for (const [jid, written] of this.#written) {
      const { items = [] } = await readStream(store, jid, 0) ?? {};
      const rest = await readStream(store, jid, items.at(-1)?.number ?? 0);
      const wrong = this.#judge(jid, [...written], items) ?? (rest?.ended === false ? "it has no end" : undefined);
      const [run] = written.keys();
      if (wrong) this.#world.fail("a stream is stored once and in order", `${run!.id} (${jid}): ${wrong}`);
    }
  }

  /** Returns what is wrong with a stream. */
  #judge(jid: string, written: readonly (readonly [Run, number])[], items: readonly StreamItem[]): string | undefined {
    const stored = written.map(() => 0);
    let last: { readonly run: number; readonly storedRun: number; readonly chunk: number } | undefined;
    let isGap = false;
    for (const item of items) {
      if ("gapFrom" in item) {
        isGap = true;
        continue;
      }
      const [run, chunk] = JSON.parse(item.chunk) as [number, number];
      const isNext = last?.run === run ? chunk === last.chunk + 1 : chunk === 1;
      const isLater = last?.run === run ? chunk > last.chunk : run > (last?.run ?? -1);
      const isSameRun = last === undefined || (last.run === run) === (last.storedRun === item.run);
      if (!(isNext || isGap && isLater) || !isLater || !isSameRun) {
        return `chunk ${chunk} of run ${run} (${item.run}) follows ${JSON.stringify(last)}`;
      }
      last = { run, storedRun: item.run, chunk };
      isGap = false;
      stored[run] = (stored[run] ?? 0) + 1;
    }
    // The end of a job waits for its stream, but not for slow replies: neither of the store, nor of a blocked worker to its process.
    if (this.#model.weather.slow > 0) return undefined;
    for (const [i, [run, count]] of written.entries()) {
      const isCut = run.process !== run.machine && this.#model.blocked.has(run.machine);
      const isSure = run.end !== undefined && !isCut &&
        !this.#model.wasHit(run.machine, run.start, run.end + SETTLE_MS);
      if (!isSure || this.#model.touched.has(run.id) || this.#model.isTouchedJob(jid)) continue;
      if (stored[i] !== count) return `${stored[i]} of ${count} chunks of run ${i} are stored`;
    }
  }
}
