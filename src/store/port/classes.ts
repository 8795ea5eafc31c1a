/**
 * The classes part of the store port: the options that workers declare for the job classes they perform. A push without
 * the code at hand (`jobs push`, the dashboard, another program) applies them: queue, retries, unique lock.
 *
 * @module
 */

/** The options of a job class. */
export interface DeclaredClass {
  /** The class. */
  readonly name: string;
  /** A JSON object's text. The store doesn't parse it. */
  readonly options: string;
}

/** A declaration of a registered worker. */
export interface Declaration {
  /** Whether it is of a class's options or a webhook's subscription. */
  readonly kind: "class" | "webhook";
  /** The name of the class or the webhook. */
  readonly name: string;
  /** The worker's ID. */
  readonly worker: string;
  /** The text of the options or the subscription. */
  readonly body: string;
  /** When the worker declared this first, in epoch milliseconds. */
  readonly since: number;
}

/** The store forgets a class that no worker has declared for this long. */
export const DECLARATION_TTL_MS: number = 90 * 86_400_000;

/** Stores the options of job classes. */
export interface ClassStore {
  /**
   * Stores the options of classes in place of those declared before: the last declaration counts. Forgets classes not
   * declared for {@linkcode DECLARATION_TTL_MS}.
   *
   * @param worker the worker that declares them: when it is removed, the last ones of other workers count again. A class that no other one
   *   has keeps its options. The same ones again change nothing
   */
  declare(classes: readonly DeclaredClass[], worker?: string): Promise<void>;

  /** Returns the declarations of these classes, in no particular order; all of them without `names`. */
  read(names?: readonly string[]): Promise<DeclaredClass[]>;

  /** Returns the declarations of all workers, also of webhooks, the latest first: of each name, that one is in force. */
  declarations(): Promise<Declaration[]>;
}
