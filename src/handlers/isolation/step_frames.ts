/**
 * The protocol between a program and its worker for durable steps, the results of a flow, progress, log lines, streams and pushes: one JSON
 * frame per line, over the socket in `JOBS_SOCKET`, one connection per request. `jobs step` and `jobs flow results` are its clients; a program in any
 * language can be another. Values are JSON text within the frames, so that no digit is lost.
 *
 *   program: {"kind":"step","token":JOBS_TOKEN,"name":"charge"}
 *   worker:  {"kind":"run","attempt":1,"idempotencyKey":"JID:charge"}    only if the step isn't done
 *   program: {"kind":"result","value":"{\\"paid\\":1}"}                  or {"kind":"result","failed":"card declined"}
 *   worker:  {"kind":"value","value":"{\\"paid\\":1}"}                   or {"kind":"failed","message":"…"}: failed for good
 *
 *   program: {"kind":"results","token":JOBS_TOKEN,"nodes":["extract"]}   without nodes: those directly before this one
 *   worker:  {"kind":"value","value":"{\\"extract\\":{\\"rows\\":3}}"}
 *
 *   program: {"kind":"progress","token":JOBS_TOKEN,"done":40,"note":"percent"}
 *   worker:  {"kind":"value"}
 *
 *   program: {"kind":"stream","token":JOBS_TOKEN,"chunk":"\\"Hello\\""}
 *   worker:  {"kind":"value"}                                             once there is room for the next one
 *
 * If the attempt ends instead, because the job sleeps or the step failed, the worker ends the program.
 *
 * @module
 */

import type { LogLevel } from "../../log/log.ts";

/** The first frame of a connection. */
export type ProgramRequest = StepFrame | ResultsRequest | ReportRequest | PushRequest;

/** Requests the results of other nodes of the job's flow. */
export interface ResultsRequest {
  readonly kind: "results";
  readonly token: string;
  /** Default: the nodes directly before this one. */
  readonly nodes?: readonly string[];
}

/** Reports the progress of the job, logs a line with a level, or adds a chunk to its stream: JSON text. */
export type ReportRequest =
  & { readonly token: string }
  & (
    | { readonly kind: "progress"; readonly done: number; readonly note?: string }
    | { readonly kind: "log"; readonly level: LogLevel; readonly message: string }
    | { readonly kind: "stream"; readonly chunk: string }
  );

/** Pushes another job into the store of the worker. The reply has its jid; none if it is a duplicate. */
export interface PushRequest {
  readonly kind: "push";
  readonly token: string;
  /** JSON text: `class`, `args` and the options of a push. */
  readonly job: string;
  /** Whether the job becomes a member of the batch of the program's job. */
  readonly inBatch?: boolean;
}

/** Requests a durable step. */
export type StepFrame =
  & { readonly token: string; readonly name: string }
  & (
    | {
      /** Runs a part of the program once. */
      readonly kind: "step";
      readonly each?: string;
      readonly retry?: number;
      readonly backoff?: string;
      readonly timeout?: string;
    }
    | { readonly kind: "sleep"; readonly duration: string }
    | { readonly kind: "wait"; readonly key: string; readonly timeout: string; readonly example?: string }
    /** Stores the cursor of a loop, or requests it. JSON text; the reply has none if none is stored. */
    | { readonly kind: "cursor"; readonly cursor?: string }
    | {
      readonly kind: "child";
      readonly class: string;
      /** JSON text: a list. */
      readonly args: string;
      readonly queue?: string;
      readonly giveUpAfter?: string;
    }
  );

/** A frame from a program. */
export type FromProgram =
  | ProgramRequest
  /** The end of the part that `run` started: its value as JSON text, absent for none; or why it failed. */
  | { readonly kind: "result"; readonly value?: string; readonly failed?: string };

/** A frame to a program. */
export type ToProgram =
  /** The step isn't done: run it, and send its result. */
  | { readonly kind: "run"; readonly attempt: number; readonly idempotencyKey: string }
  /** The step has timed out: end its part. */
  | { readonly kind: "abort" }
  /** The step is done, or these are the results. The value is JSON text, absent for none and for a wait that timed out. */
  | { readonly kind: "value"; readonly value?: string }
  /** The token is that of no running attempt. */
  | { readonly kind: "ended" }
  /** The step or its child has failed for good, the job isn't a node of a flow, or a report or a push is invalid. */
  | { readonly kind: "failed"; readonly message: string };
