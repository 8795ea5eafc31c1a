/**
 * Derives all alerts from the state of the system.
 *
 * @module
 */
import type { Alert, Situation } from "./alert.ts";
import { batchAlerts } from "./batch_alerts.ts";
import { cronAlerts } from "./cron_alerts.ts";
import { crashAlerts, failureAlerts, retryAlerts, unhandledAlerts } from "./failure_alerts.ts";
import { outboxAlerts } from "./outbox_alerts.ts";
import { queueAlerts } from "./queue_alerts.ts";
import { hangAlerts } from "./hang_alerts.ts";
import { circuitAlerts, heartbeatAlerts, stallAlerts, storeAlerts, workerAlerts } from "./worker_alerts.ts";

/** Returns the problems, the worst first. */
export function alertsOf(situation: Situation): Alert[] {
  const alerts = [
    ...storeAlerts(situation),
    ...workerAlerts(situation),
    ...heartbeatAlerts(situation),
    ...stallAlerts(situation),
    ...circuitAlerts(situation),
    ...outboxAlerts(situation),
    ...hangAlerts(situation),
    ...failureAlerts(situation),
    ...crashAlerts(situation),
    ...retryAlerts(situation),
    ...unhandledAlerts(situation),
    ...queueAlerts(situation),
    ...batchAlerts(situation),
    ...cronAlerts(situation),
  ];
  return alerts.sort((a, b) => Number(b.kind === "bad") - Number(a.kind === "bad"));
}
