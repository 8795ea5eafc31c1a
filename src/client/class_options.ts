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
import { closestWord } from "../job/suggest.ts";
import type { ClassStore, DeclaredClass } from "../store/port/classes.ts";

/** The store is read again after this time: a worker may have started with another version of the class. */
const REFRESH_MS = 30_000;
/** At most this many names are kept in memory, however many classes a program pushes. */
const MAX_NAMES = 10_000;
/** At most this many unregistered names are compared with all registered ones. */
const MAX_COMPARED = 20;

export interface ClassOptionsSources {
  /** Returns the options of a class that this program registers. These take precedence. */
  readonly own: (className: string) => ClassOptions | undefined;
  /** Has the classes that workers have registered. Without it, no class counts as unregistered. */
  readonly store: { readonly classes?: Pick<ClassStore, "read"> };
  readonly clock: Clock;
  /** Rejects a class that isn't registered. */
  readonly strict: boolean;
  /** Receives the name of each unregistered class, once, and a registered one that is spelled nearly the same. */
  readonly onUnregistered: (className: string, meant?: string) => void;
}

export class KnownClasses {
  readonly #sources: ClassOptionsSources;
  readonly #stored = new Map<string, StoredClass>();
  readonly #reads = new Map<string, Promise<void>>();
  readonly #reported = new Set<string>();
  #compared = 0;

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
      const meant = this.meantBy(name);
      const hint = meant === undefined ? "" : `; did you mean ${meant}?`;
      throw new InvalidPayload("class", name, `a class that this client or a worker has registered${hint}`);
    }
    if (this.#reported.size < MAX_NAMES && !this.#reported.has(name)) {
      this.#reported.add(name);
      this.#sources.onUnregistered(name, this.meantBy(name));
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

  /** Returns the registered class that an unregistered name is a misspelling of, if there is one; {@linkcode learn} first. */
  meantBy(name: string): string | undefined {
    return this.#stored.get(name)?.meant;
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
    const meant = declared === undefined ? await this.#closest(name) : undefined;
    if (this.#stored.size >= MAX_NAMES) this.#stored.clear();
    this.#stored.set(name, {
      options: declared && readOptions(declared),
      meant,
      until: this.#sources.clock.monotonic() + REFRESH_MS,
    });
  }

  async #closest(name: string): Promise<string | undefined> {
    if (this.#compared++ >= MAX_COMPARED) return undefined;
    const registered = await this.#sources.store.classes!.read();
    return closestWord(name, registered.map((one) => one.name));
  }
}

/** A class as the store has it. */
interface StoredClass {
  /** Undefined if it isn't registered. */
  readonly options: ClassOptions | undefined;
  /** The registered class with nearly the same name. */
  readonly meant: string | undefined;
  readonly until: number;
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
