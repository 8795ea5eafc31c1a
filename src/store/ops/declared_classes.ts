/**
 * The queues of the classes that workers have declared.
 *
 * @module
 */
import { parseLossless } from "../../job/json.ts";
import type { DeclaredClass } from "../port/classes.ts";

/** Returns the queue to which a class is pushed, by its declared options. */
export function queueOfClass(options: string): string {
  try {
    return String(Object(parseLossless(options)).queue ?? "default");
  } catch {
    return "default";
  }
}

/** Returns the classes that are declared for other queues than these. */
export function foreignClasses(declared: readonly DeclaredClass[], queues: readonly string[]): DeclaredClass[] {
  return declared.filter(({ options }) => !queues.includes(queueOfClass(options)));
}
