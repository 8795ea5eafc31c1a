/**
 * The errors of steps, and the errors that end an attempt without a failure.
 *
 * @module
 */
import { giveMark, markOf } from "../job/mark.ts";

/**
 * A step is used incorrectly. The message names the change to make.
 *
 * @example
 * ```ts
 * import { defineJob, StepError } from "@jobs/jobs";
 *
 * const Twice = defineJob("Twice", async (ctx) => {
 *   await ctx.step("one", () => 1);
 *   await ctx.step("one", () => 2).catch((error) => {
 *     if (error instanceof StepError) console.error(error.message); // a name is used once
 *   });
 * });
 * ```
 */
export class StepError extends Error {
  /** `StepError`. */
  override readonly name = "StepError";
}

/**
 * A step that has `retry` failed on its last attempt. The step stays failed: each later attempt of the job throws the
 * same error, so that the job's reaction to it runs once. A job that doesn't catch it becomes dead.
 *
 * @example
 * ```ts
 * import { defineJob, StepFailed } from "@jobs/jobs";
 *
 * const Order = defineJob("Order", async (ctx, id: number) => {
 *   const charge = await ctx.step("charge", () => `charge of ${id}`);
 *   try {
 *     await ctx.step("reserve", () => Promise.reject(new Error("sold out")), { retry: 2 });
 *   } catch (error) {
 *     if (!(error instanceof StepFailed)) throw error;
 *     await ctx.step("refund", () => console.log(`refund ${charge}`));
 *   }
 * });
 * ```
 */
export class StepFailed extends Error {
  /** `StepFailed`. */
  override readonly name = "StepFailed";
  /** The name of the step. */
  readonly step: string;
  /** The class of the last error. */
  readonly errorClass: string;

  /**
   * Creates the error of a step.
   *
   * @param error the class and message of its last error
   * @param attempts the number of its attempts
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
giveMark(StepFailed, "kill");

/**
 * The job that {@linkcode StepContext.run} waited for failed permanently, was cancelled or deleted. The step stays failed.
 *
 * @example
 * ```ts
 * import { ChildFailed, defineJob } from "@jobs/jobs";
 *
 * const Order = defineJob("Order", async (ctx, id: number) => {
 *   try {
 *     return await ctx.run("invoice", "Invoice", [id]);
 *   } catch (error) {
 *     if (!(error instanceof ChildFailed)) throw error;
 *     return await ctx.step("write by hand", () => `no invoice: ${error.message}`);
 *   }
 * });
 * ```
 */
export class ChildFailed extends Error {
  /** `ChildFailed`. */
  override readonly name = "ChildFailed";
  /** The name of the step. */
  readonly step: string;
  /** The jid of the child. */
  readonly child: string;

  /** Creates the error of a child. */
  constructor(step: string, child: string, error: { readonly class: string; readonly message: string }) {
    super(`Job ${child} of step "${step}" failed: ${error.class}: ${error.message}`);
    this.step = step;
    this.child = child;
  }
}
giveMark(ChildFailed, "kill");

/**
 * Ends an attempt whose job sleeps or waits. The worker treats it as a `Snooze`, and it has that mark and that name. A handler that
 * catches all errors should throw it again; if it doesn't, the job sleeps anyway.
 */
export class Asleep extends Error {
  /** `Snooze`: the worker treats it as one. */
  override readonly name = "Snooze";
  /** Milliseconds until the job runs again. */
  readonly delayMs: number;

  constructor(delayMs: number, message: string) {
    super(message);
    this.delayMs = delayMs;
  }
}
giveMark(Asleep, "snooze");

/** Ends an attempt because its worker stops: the job returns to the front of its queue. No attempt is used. */
export class Released extends Error {
  override readonly name = "Released";

  constructor() {
    super("The worker stops; the job continues elsewhere from its last step");
  }
}
giveMark(Released, "release");

/** A child expired before it started. Its parent receives this error. */
export class Expired extends Error {
  override readonly name = "Expired";

  constructor() {
    super("It had not started before it expired");
  }
}

/** Returns whether an attempt ended with a release, also if the error comes from an isolated process. */
export function isReleased(error: unknown): boolean {
  return markOf(error) === "release";
}

/** Adds the name of the step to the message of an error, so that the log and the job's page show it. */
export function nameStep(error: unknown, step: string): void {
  const prefix = `Step "${step}": `;
  try {
    if (error instanceof Error && !error.message.startsWith(prefix)) error.message = prefix + error.message;
  } catch {
    // The error is frozen, or a getter throws. The store has the name of the step anyway.
  }
}
