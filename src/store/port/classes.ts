/**
 * The classes part of the store port: what servers say about the jobs of the classes that they perform. Who pushes
 * without knowing the code (`jobs push`, the dashboard, another program) honours it: the queue, the retries, the lock.
 *
 * @module
 */

/** What a class says about its jobs. */
export interface DeclaredClass {
  /** The class. */
  readonly name: string;
  /** A JSON object's text; the store does not look into it. */
  readonly options: string;
}

/** A class that is gone from the code is forgotten after so long. */
export const FORGOTTEN_AFTER_MS: number = 90 * 86_400_000;

/** What the store does for classes. */
export interface ClassStore {
  /**
   * Remembers classes, each instead of what was said of it before: the last one to say something is right. What nobody has
   * said for {@linkcode FORGOTTEN_AFTER_MS} is forgotten.
   */
  declareClasses(classes: readonly DeclaredClass[]): Promise<void>;

  /** What is known of these classes, in no order; of all of them when no names are given. */
  declaredClasses(names?: readonly string[]): Promise<DeclaredClass[]>;
}
