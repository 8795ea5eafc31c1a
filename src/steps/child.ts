/**
 * Builds the job that a step runs (`ctx.run`).
 *
 * @module
 */
import type { NewJob } from "../store/port/jobs.ts";
import { StepError } from "./errors.ts";
import type { StepServices } from "./services.ts";

/** A class that `defineJob` returned, or its name. */
export type ChildClass = { readonly class: string; readonly options?: Readonly<Record<string, unknown>> } | string;

/** The step that runs the child. Its payload has it as `parent`. */
export interface ParentStep {
  readonly jid: string;
  readonly step: string;
}

/**
 * Returns the child, ready to be enqueued by the wait for it.
 *
 * @throws {StepError} if middleware stopped it, or an option makes no sense for a child
 */
export async function buildChild(
  build: StepServices["build"],
  parent: ParentStep,
  child: ChildClass,
  options: { readonly args: readonly unknown[] },
): Promise<NewJob> {
  const [className, classOptions] = typeof child === "string" ? [child] : [child.class, child.options];
  const { step } = parent;
  const job = await build({ ...classOptions, ...options, class: className, parent });
  if (job === undefined) throw new StepError(`Job "${className}" of step "${step}" was stopped by push middleware`);
  if (job.batch !== undefined) {
    throw new StepError(
      `Job "${className}" of step "${step}" has batch; a child counts as part of its parent: unset it`,
    );
  }
  const { unique, debounce, throttle, once } = job;
  const keys = Object.entries({ unique_for: unique, debounce, throttle, once });
  const [key] = keys.find(([, value]) => value !== undefined) ?? [];
  if (key !== undefined) {
    throw new StepError(`Job "${className}" of step "${step}" has ${key}; a child is pushed once anyway: unset it`);
  }
  return job;
}
