/**
 * The options of job classes. The classes that this program registers come first, then the classes that workers have
 * registered in the store. A push from the command line, the dashboard or another program therefore uses the queue,
 * retries and lock of the code.
 *
 * @module
 */
import type { Clock } from "../clock.ts";
import { InvalidPayload } from "../job/errors.ts";
import { parseLossless } from "../job/json.ts";
import { checkClassOptions, type ClassOptions } from "../job/payload.ts";
import type { ClassStore, DeclaredClass } from "../store/port/classes.ts";

/** The store is read again after this time: a worker may have started with another version of the class. */
const REFRESH_MS = 30_000;
/** At most this many names are kept in memory, however many classes a program pushes. */
const MAX_NAMES = 10_000;

export interface ClassOptionsSources {
  /** Returns the options of a class that this program registers. These take precedence. */
  readonly own: (className: string) => ClassOptions | undefined;
  /** Has the classes that workers have registered. Without it, no class counts as unregistered. */
  readonly store: { readonly classes?: Pick<ClassStore, "read"> };
  readonly clock: Clock;
  /** Rejects a class that isn't registered. */
  readonly strict: boolean;
  /** Receives the name of each unregistered class, once. */
  readonly onUnregistered: (className: string) => void;
}

export class KnownClasses {
  readonly #sources: ClassOptionsSources;
  readonly #stored = new Map<string, { readonly options: ClassOptions | undefined; readonly until: number }>();
  readonly #reads = new Map<string, Promise<void>>();
  readonly #reported = new Set<string>();

  constructor(sources: ClassOptionsSources) {
    this.#sources = sources;
  }

  /**
   * Returns the options of a class that is pushed; {@linkcode learn} first.
   *
   * @throws {InvalidPayload} if the class isn't registered, and `strict` is set
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

  /** Returns the options of a class, if they are known; {@linkcode learn} first. */
  get(name: string): ClassOptions | undefined {
    return this.#sources.own(name) ?? this.#stored.get(name)?.options;
  }

  /** Returns whether a class is known to be unregistered; {@linkcode learn} first. */
  isUnregistered(name: string): boolean {
    const stored = this.#stored.get(name);
    return stored !== undefined && stored.options === undefined && this.#sources.own(name) === undefined;
  }

  /**
   * Reads a class from the store if this program hasn't registered it, at most every {@linkcode REFRESH_MS}.
   *
   * @returns undefined if the store need not be read
   */
  learn(name: unknown): Promise<void> | undefined {
    const { own, store, clock } = this.#sources;
    if (store.classes === undefined || typeof name !== "string" || own(name) !== undefined) return undefined;
    if ((this.#stored.get(name)?.until ?? -Infinity) > clock.monotonic()) return undefined;
    let reading = this.#reads.get(name);
    if (reading === undefined) {
      reading = this.#read(name).finally(() => this.#reads.delete(name));
      this.#reads.set(name, reading);
    }
    return reading;
  }

  async #read(name: string): Promise<void> {
    const [declared] = await this.#sources.store.classes!.read([name]);
    if (this.#stored.size >= MAX_NAMES) this.#stored.clear();
    this.#stored.set(name, {
      options: declared && readOptions(declared),
      until: this.#sources.clock.monotonic() + REFRESH_MS,
    });
  }
}

/** Returns the options that a worker registered; undefined if they are invalid. Our workers write none that are. */
function readOptions({ name, options }: DeclaredClass): ClassOptions | undefined {
  try {
    const parsed = parseLossless(options);
    if (typeof parsed !== "object" || parsed === null || Array.isArray(parsed)) return undefined;
    checkClassOptions(name, parsed as ClassOptions);
    return parsed as ClassOptions;
  } catch {
    return undefined;
  }
}
