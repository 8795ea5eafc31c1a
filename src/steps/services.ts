/**
 * The interfaces that a step runner needs: from a worker, from an isolated process, or from a test.
 *
 * @module
 */
import type { Clock } from "../clock.ts";
import type { StoreError } from "../store/port/errors.ts";
import type { NewJob } from "../store/port/jobs.ts";
import type { NewWait, StoredStep, Wait } from "../store/port/steps.ts";

/** The store of steps, for one lease. Each write resolves with undefined if the worker has lost the lease. */
export interface LeaseSteps {
  read(): Promise<StoredStep[]>;
  remember(step: StoredStep): Promise<string | undefined>;
  wait(wait: NewWait): Promise<Wait | undefined>;
}

export interface StepJob {
  readonly jid: string;
  readonly job: { readonly payload: Readonly<Record<string, unknown>> };
  /** Whether the worker stops or has become quiet. */
  readonly isStopping: boolean;
  /** Aborts when the job must end: a timeout, a cancellation, a lost lease. */
  readonly signal: AbortSignal;
  /** The reason why {@linkcode signal} aborted; undefined before. */
  readonly abortedBy: unknown;
  abort(reason: unknown): void;
}

export interface ChildRequest {
  readonly class: string;
  readonly args: readonly unknown[];
  readonly [option: string]: unknown;
}

export type AroundStep = <Result>(
  step: { readonly name: string; readonly attempt: number },
  run: () => Promise<Result>,
) => Promise<Result>;

/** Receives the failures of the store that steps wait for. */
export interface StepOutage {
  /** Notes that a call has failed, and is repeated. */
  begin(error: StoreError): void;
  /** Notes that such a call has ended. @param hasReplied false: its job was aborted, or the store has rejected the call */
  end(hasReplied: boolean): void;
}

export interface StepServices {
  readonly steps: LeaseSteps;
  readonly clock: Clock;
  /** Builds a child job. Resolves with undefined if middleware stopped it. */
  readonly build: (job: ChildRequest) => Promise<NewJob | undefined>;
  /** Runs a step's function: within a span, if tracing is on. */
  readonly around?: AroundStep;
  /** Receives the failures of the store. Default: they are not reported. */
  readonly outage?: StepOutage;
  /** Called before a step's function runs. */
  readonly onRun?: (name: string) => void;
}
