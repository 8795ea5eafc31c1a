/**
 * Tells webhooks of alerts: each alert when it is found, and again every hour while it lasts, however many dashboards the store has.
 *
 * @module
 */
import { createHash } from "node:crypto";
import type { Clock } from "../clock.ts";
import { JidMaker } from "../job/jid.ts";
import { deliveriesOf } from "../job/webhook.ts";
import type { Log } from "../log/log.ts";
import type { Alert } from "../operator/alerts/alert.ts";
import type { NewJob } from "../store/port/jobs.ts";
import type { ServerStore } from "../store/port/store.ts";

const CHECK_INTERVAL_MS = 30_000;
const REPEAT_MS = 3_600_000;

export interface AlertNoticesOptions {
  readonly store: Pick<ServerStore, "webhooks" | "jobs">;
  readonly clock: Clock;
  readonly log: Log;
  readonly readAlerts: () => Promise<readonly Alert[]>;
}

export class AlertNotices {
  readonly #options: AlertNoticesOptions;
  readonly #ids = new JidMaker();
  readonly #end = new AbortController();
  #looping: Promise<void> | undefined;

  constructor(options: AlertNoticesOptions) {
    this.#options = options;
  }

  /** Starts to check periodically. */
  start(): void {
    this.#looping ??= this.#loop();
  }

  /** Checks once. */
  async step(): Promise<void> {
    const { store, clock, readAlerts } = this.#options;
    const subscriptions = (await store.webhooks.read()).filter(({ on }) => on?.includes("alert"));
    if (subscriptions.length === 0) return;
    const at = clock.now();
    const jobs = (await readAlerts()).flatMap(({ kind, about, title, detail, command }): NewJob[] => {
      const data = { kind, about, title, ...(detail && { detail }), ...(command && { command }) };
      // Its numbers change while it lasts.
      const same = createHash("sha256").update(`${about} ${title.replaceAll(/\d+/g, "#")}`).digest("hex").slice(0, 32);
      return subscriptions.flatMap((one) =>
        deliveriesOf([one], { id: this.#ids.next(at), type: "alert", at, data })
          .map((job) => ({ ...job, once: { key: `alert:${one.name}:${same}`, ttlMs: REPEAT_MS } }))
      );
    });
    if (jobs.length > 0) await store.jobs.enqueue(jobs);
  }

  async close(): Promise<void> {
    this.#end.abort();
    await this.#looping;
  }

  async #loop(): Promise<void> {
    const { clock, log } = this.#options;
    while (!this.#end.signal.aborted) {
      await clock.sleep(CHECK_INTERVAL_MS, this.#end.signal);
      if (this.#end.signal.aborted) return;
      try {
        await this.step();
      } catch (error) {
        log.warn("Failed to send alerts to webhooks", { error: (error as Error).message });
      }
    }
  }
}
