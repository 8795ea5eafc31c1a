/**
 * The webhooks of the store, for pushes that name some.
 *
 * @module
 */
import type { Clock } from "../clock.ts";
import { InvalidPayload } from "../job/errors.ts";
import { closestWord } from "../job/suggest.ts";
import { NOTIFY_FIELD } from "../job/webhook.ts";
import type { ClientStore } from "./options.ts";

/** The store is read again after this time. */
const REFRESH_MS = 15_000;

export class KnownWebhooks {
  readonly #store: ClientStore;
  readonly #clock: Clock;
  #names: readonly string[] = [];
  #freshUntil = -Infinity;

  constructor(store: ClientStore, clock: Clock) {
    this.#store = store;
    this.#clock = clock;
  }

  /**
   * Checks that webhooks exist. A program without them, as an isolated process, checks nothing.
   *
   * @returns undefined if there is nothing to read
   * @throws {InvalidPayload} if one doesn't exist
   */
  check(names: readonly string[] | undefined): Promise<void> | undefined {
    if (names === undefined || this.#store.webhooks === undefined) return undefined;
    const isFresh = this.#clock.monotonic() < this.#freshUntil;
    return isFresh && names.every((name) => this.#names.includes(name)) ? undefined : this.#check(names);
  }

  async #check(names: readonly string[]): Promise<void> {
    this.#names = (await this.#store.webhooks!.read()).map(({ name }) => name);
    this.#freshUntil = this.#clock.monotonic() + REFRESH_MS;
    const unknown = names.find((name) => !this.#names.includes(name));
    if (unknown === undefined) return;
    const meant = closestWord(unknown, this.#names);
    const known = this.#names.length === 0 ? "none is configured" : `known: ${this.#names.join(", ")}`;
    throw new InvalidPayload(
      NOTIFY_FIELD,
      unknown,
      `the name of a webhook; ${meant === undefined ? known : `did you mean ${meant}?`}`,
    );
  }
}
