/**
 * An outage of the store, as the parts of a server tell of it: once, and not each for itself. Redis that cannot be reached
 * is told by its connection; of any other passing failure (a locked file, a full disk) the first part that meets it tells.
 * The others say it at debug, and each says that it works again at the level at which it said that it does not.
 *
 * A part that keeps failing while heartbeats reach the store does not suffer from an outage: it warns, with the reason.
 *
 * @module
 */
import type { LogLevel } from "../log/log.ts";
import { StoreError } from "../store/port/errors.ts";

/** Knows which parts the store fails now. */
export class OutageLog {
  readonly #failing = new Map<string, { readonly level: LogLevel; readonly beats: number }>();
  /** Heartbeats that reached the store. */
  #beats = 0;
  readonly #storeTells: boolean;

  /** @param storeUrl where the store is; absent: it tells nothing itself */
  constructor(storeUrl = "") {
    this.#storeTells = /^rediss?\b/.test(storeUrl);
  }

  /** Whether a part has met it. */
  get isMet(): boolean {
    return this.#failing.size > 0;
  }

  /** Whether this part has. */
  has(part: string): boolean {
    return this.#failing.has(part);
  }

  /** A part has met a failure: how loud it says so. One that does not pass by itself is everybody's to say. */
  met(part: string, error: unknown): LogLevel {
    const passes = error instanceof StoreError && error.transient;
    const isTold = passes && (this.isMet || this.#storeTells && error.code === "unavailable");
    const level = isTold ? "debug" : "warn";
    this.#failing.set(part, { level, beats: this.#beats });
    return level;
  }

  /** A heartbeat has reached the store. */
  beat(): void {
    this.#beats++;
  }

  /** Whether heartbeats have reached the store since this part began to fail. The first may have been under way by then. */
  failsAlone(part: string): boolean {
    const failing = this.#failing.get(part);
    return failing !== undefined && this.#beats - failing.beats > 1;
  }

  /** A failing part warns: so it does when it works again. */
  warns(part: string): void {
    const failing = this.#failing.get(part);
    if (failing) this.#failing.set(part, { ...failing, level: "warn" });
  }

  /** A part works: how loud it says so; undefined where it has said nothing before. */
  over(part: string): LogLevel | undefined {
    const level = this.#failing.get(part)?.level;
    this.#failing.delete(part);
    return level;
  }
}
