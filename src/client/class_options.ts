/**
 * The options of job classes: those that this program registers, else those that workers have registered in the store. So
 * a push from the command line, the dashboard or another program uses the queue, retries and lock of the code.
 *
 * @module
 */
import type { Clock } from "../clock.ts";
import { InvalidPayload } from "../job/errors.ts";
import { parseLossless } from "../job/json.ts";
import { checkClassOptions, type ClassOptions } from "../job/payload.ts";
import type { ClassStore, DeclaredClass } from "../store/port/classes.ts";

/** How long the store's answer is used: a worker may start with another version of the class. */
const FRESH_MS = 30_000;
/** The most names that are remembered, whatever a program pushes. */
const MAX_NAMES = 10_000;

/** Where the options of classes come from. */
export interface ClassOptionsSources {
  /** Returns the options of a class that this program registers. These win. */
  readonly own: (className: string) => ClassOptions | undefined;
  /** Has those that workers have registered. An isolated job has no store to ask: then no class counts as unregistered. */
  readonly store: { readonly classes?: Pick<ClassStore, "read"> };
  readonly clock: Clock;
  /** Refuses a class that nothing has registered. */
  readonly strict: boolean;
  /** Receives each class that nothing has registered, once. */
  readonly onUnregistered: (className: string) => void;
}

/** Knows the options of classes. */
export class ClassOptionsKnown {
  readonly #sources: ClassOptionsSources;
  readonly #told = new Map<string, { readonly options: ClassOptions | undefined; readonly until: number }>();
  readonly #asking = new Map<string, Promise<void>>();
  readonly #reported = new Set<string>();

  constructor(sources: ClassOptionsSources) {
    this.#sources = sources;
  }

  /**
   * Returns the options of a class that is pushed; {@linkcode learn} first.
   *
   * @throws {InvalidPayload} if nothing has registered it, and only registered classes may be pushed
   */
  ofPush(name: string): ClassOptions | undefined {
    const options = this.get(name);
    if (options !== undefined || this.#sources.store.classes === undefined) return options;
    if (this.#sources.strict) {
      throw new InvalidPayload("class", name, "a class that this client or a worker has registered");
    }
    if (this.#reported.size < MAX_NAMES && !this.#reported.has(name)) {
      this.#reported.add(name);
      this.#sources.onUnregistered(name);
    }
    return undefined;
  }

  /** Returns the options of a class, as far as they are known; {@linkcode learn} first. */
  get(name: string): ClassOptions | undefined {
    return this.#sources.own(name) ?? this.#told.get(name)?.options;
  }

  /**
   * Asks the store about a class that this program hasn't registered, at most twice a minute.
   *
   * @returns undefined if the store need not be asked
   */
  learn(name: unknown): Promise<void> | undefined {
    const { own, store, clock } = this.#sources;
    if (store.classes === undefined || typeof name !== "string" || own(name) !== undefined) return undefined;
    if ((this.#told.get(name)?.until ?? -Infinity) > clock.monotonic()) return undefined;
    let asking = this.#asking.get(name);
    if (asking === undefined) {
      asking = this.#ask(name).finally(() => this.#asking.delete(name));
      this.#asking.set(name, asking);
    }
    return asking;
  }

  async #ask(name: string): Promise<void> {
    const [declared] = await this.#sources.store.classes!.read([name]);
    if (this.#told.size >= MAX_NAMES) this.#told.clear();
    this.#told.set(name, {
      options: declared && readOptions(declared),
      until: this.#sources.clock.monotonic() + FRESH_MS,
    });
  }
}

/** Returns the options that a worker registered; undefined if they are invalid, which no worker writes. */
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
