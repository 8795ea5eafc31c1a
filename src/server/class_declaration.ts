/**
 * Tells the store what this server's classes say about their jobs, so that those who push without the code honour it.
 *
 * @module
 */
import { describeError } from "../job/errors.ts";
import { stringifyLossless } from "../job/json.ts";
import type { Registry } from "../handlers/registry.ts";
import type { Log } from "../log.ts";
import type { ClassStore, DeclaredClass } from "../store/classes.ts";

/**
 * Declares the classes. What cannot be told is logged, and keeps no server from starting: pushes from elsewhere then go
 * by what the push says alone.
 */
export async function declareClasses(store: ClassStore, registry: Registry, log: Log): Promise<void> {
  const classes = registry.list().flatMap(({ class: name, options }): DeclaredClass[] => {
    try {
      // Functions (`retryIn`) are the server's own business; JSON leaves them out.
      return [{ name, options: stringifyLossless(options) ?? "{}" }];
    } catch (error) {
      const why = describeError(error).message;
      log.warn("What a class says about its jobs cannot be told to those who push them elsewhere", {
        class: name,
        why,
      });
      return [];
    }
  });
  try {
    await store.declareClasses(classes);
  } catch (error) {
    log.warn("The classes could not be told to the store", { error: describeError(error).message });
  }
}
