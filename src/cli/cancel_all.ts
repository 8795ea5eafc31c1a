/**
 * `jobs cancel --all SET`.
 *
 * @module
 */
import type { Entry, Page, Place } from "../store/admin.ts";
import { sizeOf } from "../store/admin_places.ts";
import type { OpenStore } from "../store/open.ts";
import { cancel, isCancelled, remember } from "./cancel.ts";
import { changeAllOf, parseAll } from "./change_all.ts";
import { readable } from "./entries.ts";
import { print, printJson } from "./output.ts";
import { number } from "./progress.ts";

const PLACES = ["scheduled", "retry", "busy", "queue:NAME"];
const PAGE = 500;

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
  const cancelled = await changeAllOf(store, { ...words, place, total, steps: cancelSteps(store, place, total) });
  if (json) printJson({ cancel: cancelled });
  else print(`${number(cancelled)} ${cancelled === 1 ? "job" : "jobs"} cancelled`);
  return 0;
}

/** The steps, a page each, that is read before any of its jobs leaves: so many were cancelled. */
export async function* cancelSteps(store: OpenStore, place: Place, total: number): AsyncGenerator<number> {
  let cursor: string | undefined;
  for (let left = total; left > 0;) {
    const { entries, next }: Page = await store.page(place, {
      limit: Math.min(PAGE, left),
      ...(cursor !== undefined && { cursor }),
    });
    yield await cancelPage(store, entries);
    left -= entries.length;
    cursor = next;
    if (next === undefined) return;
  }
}

/** How many of them are cancelled. Each is looked for where it was seen; only what moved meanwhile, in the whole store. */
async function cancelPage(store: OpenStore, entries: readonly Entry[]): Promise<number> {
  const named = entries.flatMap((entry) => {
    const jid = readable(entry)?.jid;
    return jid === undefined ? [] : [{ entry, jid }];
  });
  const there = await Promise.all(named.map(({ entry, jid }) => cancelThere(store, entry, jid)));
  let count = there.filter(Boolean).length;
  for (const [i, { jid }] of named.entries()) {
    if (!there[i] && isCancelled(await cancel(store, jid))) count++;
  }
  return count;
}

/** Cancels a job where it was seen; false when it is there no longer. */
async function cancelThere(store: OpenStore, entry: Entry, jid: string): Promise<boolean> {
  if (entry.owner !== undefined) return await store.send(entry.owner, { verb: "cancel", jid });
  // One by one, as for each that was removed there is to be a record; together they are a few round trips.
  if (await store.edit([entry.ref], "delete") === 0) return false;
  await remember(store, jid, entry);
  return true;
}
