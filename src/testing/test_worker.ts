/**
 * A worker for tests: takes jobs one at a time and performs them by the code of a real worker, on a clock that the test moves.
 *
 * @module
 */
import type { Client } from "../client/client.ts";
import { defaultSettings } from "../config/settings.ts";
import type { Registry } from "../handlers/registry.ts";
import { StopNotice } from "../handlers/stop_notice.ts";
import { streamWriters } from "../handlers/stream_writer.ts";
import { BATCH_FIELD, COUNTED_FIELD } from "../job/batch.ts";
import { NODE_FIELD, nodeJid } from "../job/flow.ts";
import { parsePayload } from "../job/job.ts";
import { parseLossless, stringifyLossless } from "../job/json.ts";
import type { Log } from "../log/log.ts";
import { Tasks } from "../server/control/tasks.ts";
import { ClassCounters } from "../server/stats/counters.ts";
import { LoopShare } from "../server/work/loop_share.ts";
import { Processor } from "../server/work/processor.ts";
import type { ProcessorServices } from "../server/work/processor_services.ts";
import { ResultRecorder } from "../server/work/result_recorder.ts";
import { Retrier } from "../server/work/retrier.ts";
import { Timeouts } from "../server/work/timeouts.ts";
import { UnhandledErrors } from "../server/work/unhandled_errors.ts";
import { stepRunners } from "../steps/lease.ts";
import type { Store } from "../store/admin/store.ts";
import { outcomeOf } from "../store/ops/outcome.ts";
import type { Lease } from "../store/port/jobs.ts";
import type { Outcome } from "../store/port/outcomes.ts";
import type { StreamStore } from "../store/port/streams.ts";
import type { TestClock } from "./test_clock.ts";

/** The ID of the worker. */
export const WORKER = "test:1:000000000000";

/** The name of the node whose handler a test calls with `results`. */
const NODE = "test";

/** Most jobs or nodes of one step of the store. */
const LIMIT = 1_000;

/** Options of {@linkcode TestWorker}. */
export interface TestWorkerOptions {
  readonly clock: TestClock;
  readonly store: Store;
  readonly registry: Registry;
  /** The client of `ctx.client`. */
  readonly client: Client;
  /** Receives the messages that handlers log. */
  readonly logged: string[];
  /** Receives the chunks that handlers stream. */
  readonly streamed?: unknown[];
  /** Default: steps of the store. */
  readonly stepRunner?: ProcessorServices["stepRunner"];
}

/** The membership of a job under test. */
export interface Membership {
  /** The ID of a batch of the store, or `true` for a new one. */
  readonly batch?: boolean | string | undefined;
  /** The results of nodes that have succeeded before it in its flow. */
  readonly results?: Readonly<Record<string, unknown>> | undefined;
}

/** An attempt that has ended. Its outcome is not stored yet. */
export interface Performed {
  readonly outcome: Outcome;
  /** Whether its handler was called: an expired job or one of a cancelled batch ends without. */
  hasStarted: boolean;
  /** The value that the handler returned. */
  result?: unknown;
  /** The error by which it failed. */
  error?: unknown;
}

/** Takes and performs jobs. */
export class TestWorker {
  /** Notifies the running job that the worker stops. */
  readonly stopNotice = new StopNotice();
  readonly #options: TestWorkerOptions;
  readonly #processor: Processor;
  #performed: Omit<Performed, "outcome"> = { hasStarted: false };
  #outcome: Outcome | undefined;
  /** An error that a worker would only log: an invalid `retryIn`. */
  #problem: string | undefined;
  #batches = 0;

  constructor(options: TestWorkerOptions) {
    this.#options = options;
    const { clock, store, registry, client, logged } = options;
    const settings = defaultSettings();
    const ignore = () => {};
    const log: Log = {
      ...{ debug: ignore, info: ignore, warn: ignore, enabled: () => false },
      error: (message, fields) => void (this.#problem ??= `${message} (${fields?.["class"]}): ${fields?.["error"]}`),
      // A job's log is made by this: the messages of its handler.
      with: () => logInto(logged),
    };
    const hooks = { error: (error: unknown) => void (this.#performed.error = error) };
    const shared = { clock, settings, registry, worker: WORKER };
    this.#processor = new Processor(1, {
      clock,
      registry,
      client,
      log,
      worker: WORKER,
      batches: store.batches,
      tasks: new Tasks(clock),
      loopShare: new LoopShare(clock),
      classCounters: new ClassCounters(),
      stopNotice: this.stopNotice,
      timeouts: new Timeouts({ clock, log, killAfterMs: settings.killAfterMs }),
      unhandledErrors: new UnhandledErrors({ log, catchAll: false }),
      // Tests get the same delays in each run.
      retrier: new Retrier({ ...shared, hooks, log, random: () => 0.5 }),
      results: new ResultRecorder({ ...shared, log }),
      settler: { add: (outcome) => void (this.#outcome = outcome) },
      stepRunner: options.stepRunner ?? stepRunners({ store, worker: WORKER, clock, client }),
      streamWriter: streamWriters({
        store: { streams: noting(store.streams, options.streamed) },
        worker: WORKER,
        clock,
      }),
      middleware: [async (_, perform) => {
        this.#performed.hasStarted = true;
        return this.#performed.result = await perform();
      }],
      // For loops of processors only.
    } as Omit<ProcessorServices, "buffer"> as ProcessorServices);
  }

  /** Takes the job that is due first, and advances the clock to its time; undefined if none is due until `end`. */
  async next(end: number): Promise<Lease | undefined> {
    const { clock } = this.#options;
    let lease = await this.#takeFirst();
    while (lease === undefined) {
      const nextInMs = await this.#moveDue();
      lease = await this.#takeFirst();
      if (lease !== undefined || nextInMs === undefined || clock.now() + nextInMs > end) break;
      clock.pass(nextInMs);
    }
    return lease;
  }

  /** Takes a job, wherever it waits. */
  async take(jid: string): Promise<Lease> {
    const { store } = this.#options;
    await this.#moveDue();
    let [entry] = await store.jobs.find([jid]);
    if (entry === undefined) throw new Error(`Job ${jid} has ended, and cannot run again`);
    if (entry.place.in !== "queue") {
      await store.jobs.edit([entry.ref], "requeue");
      [entry] = await store.jobs.find([jid]);
    }
    const { queue } = entry!.place as { readonly queue: string };
    const leases = await store.jobs.take({ queues: [queue], limit: LIMIT, worker: WORKER });
    const isOther = ({ payload }: Lease) => parsePayload(payload)?.jid !== jid;
    await this.settle(...leases.filter(isOther).map(({ token }) => ({ kind: "release", token } as const)));
    return leases.find((lease) => !isOther(lease))!;
  }

  /** Performs a job. The caller settles the outcome. */
  async perform(lease: Lease): Promise<Performed> {
    this.#performed = { hasStarted: false };
    this.#outcome = this.#problem = undefined;
    this.stopNotice.renew();
    await this.#processor.step(lease);
    // Without an outcome, the job has lost its lease.
    return { ...this.#performed, outcome: this.#outcome ?? { kind: "release", token: lease.token } };
  }

  /** Stores outcomes. @throws {Error} on an error that a worker would only log, such as an invalid `retryIn` */
  async settle(...outcomes: readonly Outcome[]): Promise<void> {
    if (outcomes.length > 0) await this.#options.store.jobs.settle(WORKER, outcomes);
    const problem = this.#problem;
    this.#problem = undefined;
    if (problem !== undefined) throw new Error(problem);
  }

  /**
   * Stores a job that a test runs by itself, as a member of a batch or a node of a flow if it is one, and takes it.
   *
   * @param fields of its payload: `jid`, `class`, `queue` and others
   */
  async enroll(fields: Readonly<Record<string, unknown>>, { batch, results }: Membership): Promise<Lease> {
    const { store } = this.#options;
    const { jid, queue } = fields as { readonly jid: string; readonly queue: string };
    const payloadOf = (more: Readonly<Record<string, unknown>>) => stringifyLossless({ ...fields, ...more })!;
    const isMember = batch !== undefined && batch !== false;
    if (results === undefined && !isMember) {
      await store.jobs.enqueue([{ jid, queue, payload: payloadOf({}) }]);
      return await this.take(jid);
    }
    const id = typeof batch === "string" ? batch : `test-${++this.#batches}`;
    const spec = { id, callbacks: {}, closeWithinMs: 1e12, keepMs: 1e12 };
    const member = { [BATCH_FIELD]: id, [COUNTED_FIELD]: "pending" };
    if (results === undefined) {
      if (batch === true) await store.batches.create(spec);
      const [result] = await store.jobs.enqueue([{ jid, queue, payload: payloadOf(member), batch: { id } }]);
      if (result!.kind !== "stored") throw new Error(`The client has no open batch "${id}"`);
      return await this.take(jid);
    }
    await store.batches.create({ ...spec, flow: true });
    const names = Object.keys(results);
    await store.flows.add(id, [
      ...names.map((name, position) => {
        const given = { jid: nodeJid(id, position + 1), class: "Given", queue };
        const payload = stringifyLossless({ ...given, args: [], ...member, [NODE_FIELD]: name })!;
        return { name, position, ...given, payload, onDead: "stop", after: [], followers: [NODE] } as const;
      }),
      {
        ...{ name: NODE, position: names.length, jid, queue, class: String(fields["class"]) },
        ...{ payload: payloadOf({ ...member, [NODE_FIELD]: NODE }), onDead: "stop", after: names, followers: [] },
      },
    ]);
    await store.batches.close(id, "closed");
    for (const [i, name] of names.entries()) {
      const { token, payload } = await this.take(nodeJid(id, i + 1));
      const nodeResult = () => stringifyLossless(results[name]);
      await this.settle(outcomeOf(token, parsePayload(payload)!, { kind: "ack", as: "succeeded" }, { nodeResult }));
    }
    return await this.take(jid);
  }

  /** The store orders the jobs of a queue. Of the queues, the one whose first job has waited longest comes first. */
  async #takeFirst(): Promise<Lease | undefined> {
    const { store } = this.#options;
    const { queues } = await store.admin.stats();
    const names = queues.toSorted((a, b) => b.latencyMs - a.latencyMs).map(({ name }) => name);
    const [lease] = await store.jobs.take({ queues: names, limit: 1, worker: WORKER });
    return lease;
  }

  /** Moves everything that is due. Returns the milliseconds until the next job is. */
  async #moveDue(): Promise<number | undefined> {
    const { store } = this.#options;
    while ((await store.batches.tend(LIMIT)).more);
    let nextInMs: number | undefined = 0;
    while (nextInMs === 0) ({ nextInMs } = await store.jobs.promote(LIMIT));
    return nextInMs;
  }
}

/** Returns streams that add their chunks to a list, too. */
function noting({ append }: StreamStore, streamed: unknown[] = []): Pick<StreamStore, "append"> {
  return {
    append: async (lease, given) => {
      const isWritten = await append(lease, given);
      if (isWritten) streamed.push(...given.chunks.map((chunk) => parseLossless(chunk)));
      return isWritten;
    },
  };
}

/** Returns a log that adds messages to a list. */
export function logInto(lines: string[]): Log {
  const write = (message: string) => void lines.push(message);
  const log: Log = { debug: write, info: write, warn: write, error: write, enabled: () => true, with: () => log };
  return log;
}
