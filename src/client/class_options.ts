/**
 * What classes say about their jobs: what this program knows itself, else what servers told the store. So a push from
 * the command line, the dashboard or another program goes to the queue, with the retries and under the lock that the
 * code asks for.
 *
 * @module
 */
import type { Clock } from "../clock.ts";
import { parseLossless } from "../job/json.ts";
import { checkClassOptions, type ClassOptions } from "../job/payload.ts";
import type { ClassStore, DeclaredClass } from "../store/port/classes.ts";

/** After so long the store is asked again: a server may have come with another version of the class. */
const FRESH_MS = 30_000;
/** A program that pushes ever new names does not make it remember them all. */
const MAX_NAMES = 10_000;

/** Where options come from. */
export interface ClassOptionsSources {
  /** What this program knows itself; it comes first. */
  readonly own: (className: string) => ClassOptions | undefined;
  /** What servers told; absent where there is no store to ask. */
  readonly store: Partial<Pick<ClassStore, "declaredClasses">>;
  readonly clock: Clock;
}

/** Knows what classes say. */
export class ClassOptionsKnown {
  readonly #sources: ClassOptionsSources;
  readonly #told = new Map<string, { readonly options: ClassOptions | undefined; readonly until: number }>();
  readonly #asking = new Map<string, Promise<void>>();

  constructor(sources: ClassOptionsSources) {
    this.#sources = sources;
  }

  /** What is known now; {@linkcode learn} first. */
  get(name: string): ClassOptions | undefined {
    return this.#sources.own(name) ?? this.#told.get(name)?.options;
  }

  /**
   * Asks the store where that is needed: about a class that is not this program's, and not more than twice a minute.
   *
   * @returns undefined when nothing needs to be asked
   */
  learn(name: unknown): Promise<void> | undefined {
    const { own, store, clock } = this.#sources;
    if (store.declaredClasses === undefined || typeof name !== "string" || own(name) !== undefined) return undefined;
    if ((this.#told.get(name)?.until ?? -Infinity) > clock.monotonic()) return undefined;
    let asking = this.#asking.get(name);
    if (asking === undefined) {
      asking = this.#ask(name).finally(() => this.#asking.delete(name));
      this.#asking.set(name, asking);
    }
    return asking;
  }

  async #ask(name: string): Promise<void> {
    const [declared] = await this.#sources.store.declaredClasses!([name]);
    if (this.#told.size >= MAX_NAMES) this.#told.clear();
    this.#told.set(name, {
      options: declared && readOptions(declared),
      until: this.#sources.clock.monotonic() + FRESH_MS,
    });
  }
}

/** What was declared; undefined when no server of ours can have said it: servers check it before they tell. */
function readOptions({ name, options }: DeclaredClass): ClassOptions | undefined {
  try {
    const said = parseLossless(options);
    if (typeof said !== "object" || said === null || Array.isArray(said)) return undefined;
    checkClassOptions(name, said as ClassOptions);
    return said as ClassOptions;
  } catch {
    return undefined;
  }
}
