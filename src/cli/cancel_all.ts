/**
 * `jobs cancel --all SET`.
 *
 * @module
 */
import { systemClock } from "../clock.ts";
import { cancelSteps } from "../store/admin_cancel.ts";
import { sizeOf } from "../store/admin_places.ts";
import type { OpenStore } from "../store/open.ts";
import { number } from "../words/amounts.ts";
import { changeAllOf, parseAll } from "./change_all.ts";
import { print, printJson } from "./output.ts";

const PLACES = ["scheduled", "retry", "busy", "queue:NAME"];

/**
 * Cancels the jobs that are in a place now, each as by its jid: what comes there meanwhile is left alone, and so is what
 * cannot be read.
 *
 * @throws {UsageError} when there is no such place
 * @throws {Interrupted} when it is asked to stop; what is cancelled by then stays so
 */
export async function cancelAll(store: OpenStore, all: string, json: boolean): Promise<number> {
  const place = parseAll(all, PLACES);
  const total = sizeOf(place, await store.stats());
  const words = { name: "cancel", doing: "Cancelling", done: "cancelled" };
  const steps = cancelSteps(store, { place, total, now: systemClock.now });
  const cancelled = await changeAllOf(store, { ...words, place, total, steps });
  if (json) printJson({ cancel: cancelled });
  else print(`${number(cancelled)} ${cancelled === 1 ? "job" : "jobs"} cancelled`);
  return 0;
}
