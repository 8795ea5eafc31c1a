/**
 * The alerts of the dashboard, cached.
 *
 * @module
 */
import type { Alert } from "../../operator/alerts/alert.ts";
import { alertsOf } from "../../operator/alerts/alerts.ts";
import { readSituation } from "../../operator/alerts/situation.ts";
import type { Services } from "../services.ts";

/** How long alerts are cached: each page that follows live updates reads them every 2 s. */
const CACHE_MS = 2_000;

/** Reads the alerts, at most every two seconds. */
export class RecentAlerts {
  #reading: { readonly alerts: Promise<Alert[]>; readonly until: number } | undefined;

  /** Returns the alerts as of at most two seconds ago. */
  read(services: Services): Promise<Alert[]> {
    const now = services.clock.monotonic();
    if (this.#reading !== undefined && now < this.#reading.until) return this.#reading.alerts;
    const reading = { alerts: readAlerts(services), until: now + CACHE_MS };
    this.#reading = reading;
    reading.alerts.catch(() => this.#reading === reading && (this.#reading = undefined));
    return reading.alerts;
  }
}

async function readAlerts({ store, clock, feed, classes, measures }: Services): Promise<Alert[]> {
  const { samples, failed } = feed;
  // Another program's lock passes; late heartbeats show it.
  const failedWrite = failed && failed.error.code !== "locked" ? { ...failed, url: store.url } : undefined;
  const readMetrics = () => measures.read("1h");
  return alertsOf(await readSituation({ store, clock, samples, classes, readMetrics, failedWrite }));
}
