/**
 * Derives all alerts from the state of the system.
 *
 * @module
 */
import { number } from "../../text/format.ts";
import type { Alert, Situation } from "./alert.ts";
import { batchAlerts } from "./batch_alerts.ts";
import { cronAlerts } from "./cron_alerts.ts";
import { crashAlerts, failureAlerts, retryAlerts, suspectAlerts, unhandledAlerts } from "./failure_alerts.ts";
import { declarationAlerts } from "./declaration_alerts.ts";
import { outboxAlerts } from "./outbox_alerts.ts";
import { queueAlerts } from "./queue_alerts.ts";
import { lateAlerts, occupiedAlerts } from "./hang_alerts.ts";
import { failedWriteAlert, storeAlerts } from "./store_alerts.ts";
import {
  circuitAlerts,
  clockAlerts,
  heartbeatAlerts,
  processAlerts,
  stallAlerts,
  workerAlerts,
} from "./worker_alerts.ts";

/** Returns the problems, the worst first. */
export function alertsOf(situation: Situation): Alert[] {
  // Heartbeats, runs and ends can't be stored either: what the store has of them is old.
  if (situation.failedWrite !== undefined) {
    return [failedWriteAlert(situation.failedWrite, situation), ...crashAlerts(situation), ...batchAlerts(situation)];
  }
  const alerts = [
    ...storeAlerts(situation),
    ...workerAlerts(situation),
    ...processAlerts(situation),
    ...heartbeatAlerts(situation),
    ...clockAlerts(situation),
    ...stallAlerts(situation),
    ...circuitAlerts(situation),
    ...outboxAlerts(situation),
    ...declarationAlerts(situation),
    ...lateAlerts(situation),
    ...failureAlerts(situation),
    ...crashAlerts(situation),
    ...suspectAlerts(situation),
    ...retryAlerts(situation),
    ...queueAlerts(situation),
    ...unhandledAlerts(situation),
    ...occupiedAlerts(situation),
    ...batchAlerts(situation),
    ...cronAlerts(situation),
  ];
  return fold(alerts).sort((a, b) => Number(b.kind === "bad") - Number(a.kind === "bad"));
}

/** A detail names at most this many alerts that were folded into it. */
const MAX_FOLDED = 5;

/** Folds alerts with one cause into the first: one command helps against all. */
function fold(alerts: readonly Alert[]): Alert[] {
  const folded = new Map<string | symbol, Alert[]>();
  for (const alert of alerts) {
    const cause = alert.cause ?? Symbol();
    folded.set(cause, [...folded.get(cause) ?? [], alert]);
  }
  return [...folded.values()].map(([first, ...others]) =>
    others.length === 0 ? first! : {
      ...first!,
      kind: [first!, ...others].some(({ kind }) => kind === "bad") ? "bad" : "warn",
      detail: [
        ...first!.detail === undefined ? [] : [first!.detail],
        ...others.slice(0, MAX_FOLDED).map(({ title }) => `${title}.`),
        ...others.length > MAX_FOLDED ? [`And ${number(others.length - MAX_FOLDED)} more.`] : [],
      ].join(" "),
    }
  );
}
