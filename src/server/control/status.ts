/**
 * The status: what this process says of itself. To the store with each beat, to `/metrics`, and to whoever asks for a
 * dump.
 *
 * @module
 */
import type { Clock } from "../../clock.ts";
import type { Settings } from "../../config/settings.ts";
import type { QueueWeight } from "../../config/kinds.ts";
import { VERSION } from "../../version.ts";
import { dumpTasks, formatDump } from "./dump.ts";
import type { Components } from "../components.ts";
import type { ServerCounts } from "../stats/counters.ts";
import type { WorkerRecord } from "../../store/port/workers.ts";

/** With more classes than this a process does not list them in every beat. */
const MAX_CLASSES = 1_000;

/** What the launcher decides, as of now. */
export interface ServerState {
  /** It takes nothing. */
  readonly quiet: boolean;
  /** The queues it takes from. */
  readonly queues: readonly QueueWeight[];
}

/** Says it. */
export class Status {
  readonly #identity: string;
  readonly #clock: Clock;
  readonly #settings: Settings;
  readonly #parts: Components;
  readonly #state: () => ServerState;
  readonly #startedAt: number;

  /** Of a process that starts now. */
  constructor(
    options: { identity: string; clock: Clock; settings: Settings; parts: Components; state: () => ServerState },
  ) {
    this.#identity = options.identity;
    this.#clock = options.clock;
    this.#settings = options.settings;
    this.#parts = options.parts;
    this.#state = options.state;
    this.#startedAt = options.clock.now();
  }

  /** What this process is and does, as of now. */
  describe(): WorkerRecord {
    const { name, tag, labels } = this.#settings;
    const { manager, registry, classCounters } = this.#parts;
    const { quiet, queues } = this.#state();
    const classes = registry.classes();
    return {
      identity: this.#identity,
      hostname: this.#identity.slice(0, this.#identity.indexOf(":")),
      pid: Deno.pid,
      tag: name ?? tag ?? "",
      labels,
      queues: [...new Set(queues.map((queue) => queue.name))],
      weights: Object.fromEntries(queues.map((queue) => [queue.name, queue.weight])),
      concurrency: manager.concurrency,
      version: VERSION,
      startedAt: this.#startedAt,
      quiet,
      busy: manager.busy,
      rss: Deno.memoryUsage().rss,
      work: manager.running(),
      ...(classes.length <= MAX_CLASSES && { classes }),
      totals: classCounters.byClass(),
    };
  }

  /** What it has counted since it started. */
  counts(): ServerCounts {
    const { classCounters, counters, heartbeat, horses } = this.#parts;
    return {
      ...counters.counts(),
      classes: classCounters.classes,
      loopDelayMs: heartbeat.loopDelayMs,
      horses: horses?.counts,
    };
  }

  /** What every task is doing, and the counts: lines of text. */
  dump(): string[] {
    const { tasks, manager, fetcher, settler, heartbeat, unhandledErrors } = this.#parts;
    return formatDump(dumpTasks(tasks, this.#clock), {
      identity: this.#identity,
      concurrency: manager.concurrency,
      busy: manager.busy,
      leases: manager.busy + fetcher.waiting + settler.unsettled,
      waiting: fetcher.waiting,
      unsettled: settler.unsettled,
      loopDelayMs: heartbeat.loopDelayMs,
      unhandledErrors: unhandledErrors.count,
      quiet: this.#state().quiet,
    });
  }
}
