/**
 * The classes whose jobs only this program makes: those that deliver events to webhooks. A receiver trusts the signature of such a job, so
 * that no one else pushes one, and no other worker performs it. Their jobs are stored in the step that ends what they are about.
 *
 * @module
 */
import { InvalidPayload } from "./errors.ts";
import { performedClass } from "./job.ts";
import { WEBHOOK_CLASS } from "./webhook.ts";

/** Completes "expected …". */
export const PUBLIC_CLASS_EXPECTED =
  `a class that doesn't begin with "${WEBHOOK_CLASS}": jobs makes the jobs of webhooks itself`;

/** Returns whether only this program makes jobs of a class. */
export function isInternalClass(name: unknown): boolean {
  return typeof name === "string" && name.startsWith(WEBHOOK_CLASS);
}

/**
 * Refuses a job of an internal class. {@linkcode checkPublicArgs} refuses one within a wrapper.
 *
 * @throws {InvalidPayload}
 */
export function checkPublicClass(
  job: { readonly class: string; readonly wrapped?: unknown; readonly display_class?: unknown },
): void {
  for (const field of ["class", "wrapped", "display_class"] as const) {
    if (isInternalClass(job[field])) throw new InvalidPayload(field, job[field], PUBLIC_CLASS_EXPECTED);
  }
}

/**
 * Refuses the arguments of a wrapper that have an internal class.
 *
 * @throws {InvalidPayload}
 */
export function checkPublicArgs(className: string, args: unknown): void {
  const performed = performedClass({ class: className, args });
  if (performed === className || !isInternalClass(performed)) return;
  throw new InvalidPayload("args", performed, PUBLIC_CLASS_EXPECTED);
}
