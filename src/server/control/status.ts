/**
 * The status of this worker: for the store with each heartbeat, for `/metrics`, and for the dump.
 *
 * @module
 */
import type { Clock } from "../../clock.ts";
import type { Settings } from "../../config/settings.ts";
import type { QueueWeight } from "../../config/kinds.ts";
import { processKey } from "../../processes.ts";
import { VERSION } from "../../version.ts";
import { dumpTasks, formatDump } from "./dump.ts";
import type { Components } from "../components.ts";
import type { Guest } from "../launcher_options.ts";
import type { ServerCounts } from "../stats/counters.ts";
import type { WorkerRecord } from "../../store/port/workers.ts";

/** A worker with more classes than this doesn't list them in its heartbeats. */
const MAX_CLASSES = 1_000;

export interface StatusOptions {
  readonly worker: string;
  readonly clock: Clock;
  readonly settings: Settings;
  readonly components: Components;
  readonly queues: () => readonly QueueWeight[];
  readonly guest: Guest | undefined;
}

export class Status {
  readonly #options: StatusOptions;
  readonly #startedAt: number;
  readonly #processKey: string | undefined;

  constructor(options: StatusOptions) {
    this.#options = options;
    this.#startedAt = options.clock.now();
    this.#processKey = options.guest === undefined ? processKey() : undefined;
  }

  describe(): WorkerRecord {
    const { worker, settings: { name, tag, labels, heartbeatMs }, components, guest } = this.#options;
    const { manager, registry, classCounters, work, outbox, endpoints: { openCircuits: circuits } } = components;
    const queues = this.#options.queues();
    const classes = registry.classes();
    return {
      id: worker,
      hostname: guest?.hostname ?? worker.slice(0, worker.indexOf(":")),
      pid: guest?.pid ?? Deno.pid,
      ...(this.#processKey !== undefined && { processKey: this.#processKey }),
      ...(guest?.owner !== undefined && { owner: guest.owner }),
      ...(guest !== undefined && { program: true }),
      tag: name ?? tag ?? "",
      labels,
      queues: [...new Set(queues.map((queue) => queue.name))],
      weights: Object.fromEntries(queues.map((queue) => [queue.name, queue.weight])),
      concurrency: manager.concurrency,
      version: guest?.version ?? VERSION,
      startedAt: this.#startedAt,
      clockAt: this.#options.clock.now(),
      heartbeatMs,
      quiet: work.quietSince !== undefined,
      ...(work.quietSince !== undefined && { quietSince: work.quietSince }),
      ...(work.isStopping && { stopping: true }),
      ...(circuits.length > 0 && { circuits }),
      ...(outbox?.record && { outbox: outbox.record }),
      busy: manager.busy,
      rss: guest?.rss() ?? Deno.memoryUsage().rss,
      work: manager.running(),
      ...(classes.length <= MAX_CLASSES && { classes }),
      totals: classCounters.byClass(),
    };
  }

  counts(): ServerCounts {
    const { classCounters, counters, heartbeat, horses } = this.#options.components;
    return {
      ...counters.counts(),
      classes: classCounters.classes,
      loopDelayMs: heartbeat.loopDelayMs,
      horses: horses?.counts,
    };
  }

  /** Describes what every task is doing, and the counts, as lines of text. */
  dump(): string[] {
    const { worker, clock, components } = this.#options;
    const { tasks, manager, fetcher, settler, heartbeat, unhandledErrors, work } = components;
    return formatDump(dumpTasks(tasks, clock), {
      worker,
      concurrency: manager.concurrency,
      busy: manager.busy,
      leases: manager.busy + fetcher.waiting + settler.unsettled,
      waiting: fetcher.waiting,
      unsettled: settler.unsettled,
      loopDelayMs: heartbeat.loopDelayMs,
      unhandledErrors: unhandledErrors.count,
      quiet: work.isStopping ? "stopping" : work.quietSince !== undefined ? "quiet" : undefined,
    });
  }
}
