/**
 * `jobs cancel --all SET`.
 *
 * @module
 */
import type { Entry, Place, SetName } from "../store/admin.ts";
import type { OpenStore } from "../store/open.ts";
import { UsageError } from "./args.ts";
import { writeDown } from "./audit.ts";
import { cancel, isCancelled } from "./cancel.ts";
import { countIn } from "./edit_jobs.ts";
import { readable } from "./entries.ts";
import { print, printJson } from "./output.ts";
import { Interrupted, LongWork, number } from "./progress.ts";

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
  const place = parsePlace(all);
  const total = place.in === "leased" ? (await store.stats()).leased : await countIn(store, place);
  using work = new LongWork("Cancelling");
  let [seen, cancelled] = [0, 0];
  for await (const jid of jidsIn(store, place, total)) {
    if (work.signal.aborted) {
      await writeDown(store, { action: "cancel", target: all, count: cancelled, outcome: "interrupted" });
      throw new Interrupted(`Stopped: ${number(cancelled)} of ${number(total)} jobs cancelled, the rest is as it was`);
    }
    if (jid !== undefined && isCancelled(await cancel(store, jid))) cancelled++;
    work.at({ done: ++seen, total });
  }
  work.clear();
  await writeDown(store, { action: "cancel", target: all, count: cancelled });
  if (json) printJson({ cancel: cancelled });
  else print(`${number(cancelled)} ${cancelled === 1 ? "job" : "jobs"} cancelled`);
  return 0;
}

function parsePlace(all: string): Place {
  if (all.startsWith("queue:")) return { in: "queue", queue: all.slice("queue:".length) };
  if (all === "busy") return { in: "leased" };
  if (PLACES.includes(all)) return { in: all as SetName };
  throw new UsageError(`--all is "${all}"; wanted: one of ${PLACES.join(", ")}`);
}

/** The jids in a place, at most so many; a page is read before any of its jobs leaves. */
async function* jidsIn(store: OpenStore, place: Place, total: number): AsyncGenerator<string | undefined> {
  let cursor: string | undefined;
  for (let left = total; left > 0;) {
    const request = { limit: Math.min(PAGE, left), ...(cursor !== undefined && { cursor }) };
    const { entries, next }: { entries: readonly Entry[]; next?: string } = await store.page(place, request);
    for (const entry of entries) yield readable(entry)?.jid;
    left -= entries.length;
    cursor = next;
    if (next === undefined) return;
  }
}
