/**
 * Alerts about the store that everything depends on.
 *
 * @module
 */
import { formatDuration } from "../../job/duration.ts";
import { fullStoreCure } from "../../text/full_store.ts";
import { type Alert, type FailedWrite, sentence, type Situation } from "./alert.ts";

/** A store that takes longer to return its counts is slow. */
const SLOW_STORE_MS = 1_000;

/** The store rejects writes: all else that it shows may follow from that. */
export function failedWriteAlert({ error, since, url }: FailedWrite, { now }: Pick<Situation, "now">): Alert {
  const isFull = error.code === "full";
  return {
    kind: "bad",
    about: "store",
    title: `A write to the store failed${
      since === undefined ? "" : `, for ${formatDuration(Math.max(0, now - since))} now`
    }: ${error.message}`,
    detail:
      "No job is pushed, and none that runs can end. Findings about workers, queues, cron entries and the outbox follow " +
      `from that and are left out.${isFull ? ` ${fullStoreCure(url).detail}` : ""}`,
    command: isFull ? fullStoreCure(url).command : "jobs doctor",
    actions: [],
  };
}

/** The store is slow, or its server needs an operator. */
export function storeAlerts({ engine, roundTripMs, serverFindings }: Situation): Alert[] {
  const alerts = serverFindings.map((
    { title = "Dead rows aren't removed, which slows down each take", message, cure },
  ): Alert => ({
    kind: "warn",
    about: "store",
    title,
    detail: `${sentence(message)}.`,
    command: cure,
    actions: [],
  }));
  if (roundTripMs < SLOW_STORE_MS) return alerts;
  return [...alerts, {
    kind: "warn",
    about: "store",
    title: `The store took ${formatDuration(roundTripMs)} to return its counts`,
    detail:
      "Every push, take and acknowledgement waits as long. See the load of its server, its disk and the network." +
      (engine === "redis" ? " An empty slow log means that the network is slow." : ""),
    command: engine === "redis" ? "redis-cli slowlog get 10" : "jobs doctor",
    actions: [],
  }];
}
