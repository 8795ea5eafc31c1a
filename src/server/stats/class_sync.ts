/**
 * Class sync: tells the store the options of this worker's classes, at its start and once a day, so that clients without the
 * code use them. They end with the worker, if others have the class. The store forgets classes that no worker has reported for long. It also tells them with the first heartbeat after each
 * loss of a connection: the store may lack its latest writes, or all of them.
 *
 * @module
 */
import type { Clock } from "../../clock.ts";
import type { Registry } from "../../handlers/registry.ts";
import { stringifyLossless } from "../../job/json.ts";
import { storedSchema } from "../../job/schema/args_schema.ts";
import { foreignClasses } from "../../store/ops/declared_classes.ts";
import type { ClassStore, DeclaredClass } from "../../store/port/classes.ts";
import type { ServerStore } from "../../store/port/store.ts";
import type { HeartbeatReply } from "../../store/port/workers.ts";
import type { LoopBody } from "../component.ts";
import type { HeartbeatListener } from "../liveness/heartbeat.ts";

const INTERVAL_MS = 86_400_000;

export interface ClassSyncOptions {
  readonly store: Pick<ServerStore, "classes"> & { readonly workers: Pick<ServerStore["workers"], "losses"> };
  readonly registry: Registry;
  readonly clock: Clock;
  /** The worker that declares them: they end with it. Default: they belong to no worker. */
  readonly worker?: string | undefined;
  /** Classes that are declared for other queues stay as they are; default: this worker's options replace them. */
  readonly within?: readonly string[] | undefined;
}

export class ClassSync implements LoopBody<void>, HeartbeatListener {
  readonly name = "class-sync";
  readonly #options: ClassSyncOptions;
  readonly #attempted = Promise.withResolvers<void>();
  /** The losses of connections that the last declaration knew of. */
  #losses = 0;
  /** Ends the current rest. */
  #resting = new AbortController();

  constructor(options: ClassSyncOptions) {
    this.#options = options;
  }

  /**
   * Resolves after the first attempt. From then on other clients know the options. A store that refuses them doesn't prevent
   * the start of the worker: the loop retries.
   */
  get attempted(): Promise<void> {
    return this.#attempted.promise;
  }

  async step(): Promise<void> {
    const { store, registry, within, worker } = this.#options;
    const { losses } = store.workers;
    try {
      const own = declarationsOf(registry);
      const declared = within === undefined ? [] : await store.classes.read(own.map(({ name }) => name));
      const foreign = new Set(foreignClasses(declared, within ?? []).map(({ name }) => name));
      await store.classes.declare(own.filter(({ name }) => !foreign.has(name)), worker);
      this.#losses = losses;
    } finally {
      this.#attempted.resolve();
    }
  }

  rest(_result: void, signal: AbortSignal): Promise<void> {
    this.#resting = new AbortController();
    return this.#options.clock.sleep(INTERVAL_MS, AbortSignal.any([signal, this.#resting.signal]));
  }

  /** Declares the classes again if the store may have lost them, or has withdrawn them because this worker was offline. */
  beat(beat?: Pick<HeartbeatReply, "lapsed">): void {
    if (beat?.lapsed === true || this.#losses !== this.#options.store.workers.losses) this.#resting.abort();
  }
}

/** Returns the options of a registry's classes. Functions among them (`retryIn`) stay with the worker. */
function declarationsOf(registry: Registry): DeclaredClass[] {
  return registry.list().map(({ class: name, options: { schema, ...options } }) => {
    const stored = schema === undefined ? undefined : storedSchema(schema, "schema");
    return { name, options: stringifyLossless({ ...options, ...(stored !== undefined && { schema: stored }) })! };
  });
}

/** Looks up classes within a worker: in its registry, and those that it lacks in the store. */
export function declaredWithin(registry: Registry, store: Pick<ServerStore, "classes">): ClassStore["read"] {
  return async (names) => {
    const own = declarationsOf(registry).filter(({ name }) => names === undefined || names.includes(name));
    const missing = names?.filter((name) => registry.get(name) === undefined);
    if (missing?.length === 0) return own;
    const stored = await store.classes.read(missing);
    return [...own, ...stored.filter(({ name }) => registry.get(name) === undefined)];
  };
}
