/**
 * The webhooks part of the store port: which webhook gets which events.
 *
 * The store keeps them, so that every program that ends something knows them: an operator's, and one without a configuration. The verbs that
 * end a batch or edit a job read them in their step. A worker reads them from time to time, and settles its jobs with what follows
 * (`Outcome.follow`).
 *
 * @module
 */
import type { Subscription } from "../../job/webhook.ts";

/** Stores the subscriptions of webhooks. */
export interface WebhookStore {
  /**
   * Stores the subscriptions in place of those before.
   *
   * @param worker the worker that declares them: those that others have declared stay, and of the same name the last one counts. When the
   *   worker is removed, those that only it had are, too, unless no other one has declared any
   */
  declare(subscriptions: readonly Subscription[], worker?: string): Promise<void>;

  /** Returns the subscriptions. */
  read(): Promise<readonly Subscription[]>;
}
