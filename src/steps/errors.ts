/**
 * What steps fail with, and what ends an attempt that goes to sleep.
 *
 * @module
 */
import { describeError } from "../job/errors.ts";

/** A step was used in a way that cannot work. The message says what to change. */
export class StepError extends Error {
  /** Told apart by name. */
  override readonly name = "StepError";
}

/**
 * A step that has `retry` failed on its last attempt. It stays failed: each later attempt of the job throws the same, so
 * that what the job does about it is done once. A job that doesn't catch it goes to `dead`.
 */
export class StepFailed extends Error {
  /** Told apart by name. */
  override readonly name = "StepFailed";
  /** The name of the step. */
  readonly step: string;
  /** The class of the last error. */
  readonly errorClass: string;

  /**
   * The end of a step.
   *
   * @param error the class and message of its last error
   * @param attempts how many there were
   */
  constructor(
    step: string,
    error: { readonly class: string; readonly message: string },
    attempts: number,
    options?: ErrorOptions,
  ) {
    const times = attempts === 1 ? "1 attempt" : `${attempts} attempts`;
    super(`Step "${step}" failed for good after ${times}: ${error.class}: ${error.message}`, options);
    this.step = step;
    this.errorClass = error.class;
  }
}

/** The job that {@linkcode StepContext.run} waited for failed for good, was cancelled or deleted. It stays failed. */
export class ChildFailed extends Error {
  /** Told apart by name. */
  override readonly name = "ChildFailed";
  /** The name of the step. */
  readonly step: string;
  /** The jid of the child. */
  readonly child: string;

  /** The end of a child. */
  constructor(step: string, child: string, error: { readonly class: string; readonly message: string }) {
    super(`Job ${child} of step "${step}" failed: ${error.class}: ${error.message}`);
    this.step = step;
    this.child = child;
  }
}

/**
 * Ends an attempt whose job sleeps or waits. It has the name of a `Snooze`, which is what it is to the worker. A handler
 * that catches everything has to throw it again; if it doesn't, the job sleeps anyway.
 */
export class Asleep extends Error {
  /** As the worker knows it. */
  override readonly name = "Snooze";
  /** Milliseconds until the job runs again. */
  readonly delayMs: number;

  /** A sleep. */
  constructor(delayMs: number, message: string) {
    super(message);
    this.delayMs = delayMs;
  }
}

/** Ends an attempt because its worker stops: the job returns to the front of its queue. No attempt is used. */
export class Released extends Error {
  /** Told apart by name. */
  override readonly name = "Released";

  /** A release. */
  constructor() {
    super("The worker stops; the job continues elsewhere from its last step");
  }
}

/** Why a child that has not started in time ended. Its parent sees it. */
export class Expired extends Error {
  /** Told apart by name. */
  override readonly name = "Expired";

  /** The end of a job that was not started before it expired. */
  constructor() {
    super("It had not started before it expired");
  }
}

/** Whether an attempt ended for a release, also in another process. */
export function isReleased(error: unknown): boolean {
  return error instanceof Error && error.name === "Released";
}

/** Names the step in the message of an error that it threw, so that the log and the job's page show it. */
export function nameStep(error: unknown, step: string): void {
  const prefix = `Step "${step}": `;
  try {
    if (error instanceof Error && !error.message.startsWith(prefix)) error.message = prefix + error.message;
  } catch {
    // It is frozen, or a getter throws: then the step is only in the store.
  }
}

/** The class and message of what was thrown, for the record. */
export function errorOf(thrown: unknown): { readonly class: string; readonly message: string } {
  const { class: name, message } = describeError(thrown);
  return { class: name, message: message.slice(0, 2_000).toWellFormed() };
}
