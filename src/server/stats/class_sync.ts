/**
 * The class classSync: tells the store what this server's classes say about their jobs, at its start and once a day, so
 * that those who push without the code honour it. What no server has told for long the store forgets.
 *
 * @module
 */
import type { Clock } from "../../clock.ts";
import type { Registry } from "../../handlers/registry.ts";
import { stringifyLossless } from "../../job/json.ts";
import type { ClassStore, DeclaredClass } from "../../store/port/classes.ts";
import type { LoopBody } from "../service.ts";
import type { ServerStore } from "../../store/port/store.ts";

const RECHECK_MS = 86_400_000;

/** Its loop's task is `class-sync`. */
export class ClassSync implements LoopBody<void> {
  readonly name = "class-sync";
  readonly #store: Pick<ServerStore, "classes">;
  readonly #registry: Registry;
  readonly #clock: Clock;
  readonly #attempted = Promise.withResolvers<void>();

  constructor({ store, registry, clock }: { store: Pick<ServerStore, "classes">; registry: Registry; clock: Clock }) {
    this.#store = store;
    this.#registry = registry;
    this.#clock = clock;
  }

  /**
   * Resolves when it was tried once: from then on pushes from elsewhere find what is said. A store that does not take it
   * keeps no server from starting; it is told later.
   */
  get attempted(): Promise<void> {
    return this.#attempted.promise;
  }

  async step(): Promise<void> {
    try {
      await this.#store.classes.declare(declarationsOf(this.#registry));
    } finally {
      this.#attempted.resolve();
    }
  }

  rest(_result: void, signal: AbortSignal): Promise<void> {
    return this.#clock.sleep(RECHECK_MS, signal);
  }
}

/** What a registry's classes say; the functions among it (`retryIn`) are the server's own business. */
function declarationsOf(registry: Registry): DeclaredClass[] {
  return registry.list().map(({ class: name, options }) => ({ name, options: stringifyLossless(options)! }));
}

/** What is known of classes in a server: what its own say, and of others what the store was told. */
export function declaredWithin(registry: Registry, store: Pick<ServerStore, "classes">): ClassStore["read"] {
  return async (names) => {
    const own = declarationsOf(registry).filter(({ name }) => names === undefined || names.includes(name));
    const others = names?.filter((name) => registry.get(name) === undefined);
    if (others?.length === 0) return own;
    const told = await store.classes.read(others);
    return [...own, ...told.filter(({ name }) => registry.get(name) === undefined)];
  };
}
