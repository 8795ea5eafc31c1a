/**
 * The services that the processors of a worker share.
 *
 * @module
 */
import type { Client } from "../../client/client.ts";
import type { Clock } from "../../clock.ts";
import type { PerformMiddleware } from "../../handlers/handler.ts";
import type { Registry } from "../../handlers/registry.ts";
import type { StopNotice } from "../../handlers/stop_notice.ts";
import type { StreamedJob, StreamWriter } from "../../handlers/stream_writer.ts";
import type { Log } from "../../log/log.ts";
import type { StepRunner } from "../../steps/runner.ts";
import type { StepJob } from "../../steps/services.ts";
import type { BatchStore } from "../../store/port/batches.ts";
import type { EndListener } from "../../store/ops/outcome.ts";
import type { TransactionStore } from "../../store/port/transactions.ts";
import type { Tasks } from "../control/tasks.ts";
import type { ClassCounters } from "../stats/counters.ts";
import type { LeaseBuffer } from "./lease_buffer.ts";
import type { LoopShare } from "./loop_share.ts";
import type { ResultRecorder } from "./result_recorder.ts";
import type { Retrier } from "./retrier.ts";
import type { Settler } from "./settler.ts";
import type { Timeouts } from "./timeouts.ts";
import type { UnhandledErrors } from "./unhandled_errors.ts";

export interface ProcessorServices {
  readonly clock: Clock;
  readonly tasks: Tasks;
  readonly buffer: LeaseBuffer;
  readonly loopShare: LoopShare;
  readonly settler: Pick<Settler, "add">;
  readonly retrier: Retrier;
  readonly registry: Registry;
  readonly timeouts: Timeouts;
  readonly classCounters: ClassCounters;
  /** Notifies running jobs that the worker becomes quiet or stops. */
  readonly stopNotice: StopNotice;
  readonly results: ResultRecorder;
  readonly unhandledErrors: UnhandledErrors;
  readonly client: Client;
  readonly worker: string;
  readonly batches: Pick<BatchStore, "admit">;
  /** Adds what follows from the ends of jobs. Absent: nothing. */
  readonly listener?: EndListener;
  /** Absent if the store takes part in no transactions. */
  readonly transactions?: Pick<TransactionStore, "settle" | "hasEnded"> | undefined;
  readonly stepRunner?: (job: StepJob, token: string) => StepRunner;
  readonly streamWriter: (job: StreamedJob, token: string) => StreamWriter;
  readonly middleware: readonly PerformMiddleware[];
  readonly log: Log;
}
