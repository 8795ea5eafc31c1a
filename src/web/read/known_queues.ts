/**
 * The queues that exist, and those of registered classes: a token limited to classes may push to these, and makes no new ones.
 *
 * @module
 */
import type { Store } from "../../store/admin/store.ts";
import { queueOfClass } from "../../store/ops/declared_classes.ts";
import type { Clock } from "../../clock.ts";

/** Reads the store at most this often. */
const FRESH_MS = 5_000;

/** The queues that exist. */
export class KnownQueues {
  readonly #store: Pick<Store, "admin" | "classes">;
  readonly #clock: Clock;
  #existing: { readonly names: Promise<readonly string[]>; readonly until: number } | undefined;

  constructor(store: Pick<Store, "admin" | "classes">, clock: Clock) {
    this.#store = store;
    this.#clock = clock;
  }

  /**
   * Returns the existing queues, those of the given classes, and `default`.
   *
   * @param named names that a request has. If one isn't known, the store is read again: the queue may be new
   */
  async of(classes: readonly string[], named: readonly string[]): Promise<ReadonlySet<string>> {
    const [existing, declared] = await Promise.all([this.#read(), this.#store.classes.read(classes)]);
    const all = new Set([...existing, ...declared.map(({ options }) => queueOfClass(options)), "default"]);
    if (named.every((name) => all.has(name))) return all;
    this.#existing = undefined;
    return all.union(new Set(await this.#read()));
  }

  #read(): Promise<readonly string[]> {
    const now = this.#clock.monotonic();
    if (this.#existing === undefined || this.#existing.until <= now) {
      const names = this.#store.admin.stats().then(({ queues }) => queues.map(({ name }) => name));
      this.#existing = { names, until: now + FRESH_MS };
      names.catch(() => this.#existing = undefined);
    }
    return this.#existing.names;
  }
}
