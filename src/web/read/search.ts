/**
 * Searches all places for a text, within a time budget.
 *
 * @module
 */
import type { Place } from "../../store/port/entries.ts";
import type { EndedJob } from "../../job/result.ts";
import { type WaitingNode, waitingNodes } from "../../operator/query/waiting_nodes.ts";
import type { Services } from "../services.ts";
import { finishedJobs, jobsIn } from "../../operator/query/jobs.ts";
import { page } from "../../store/ops/scan.ts";
import type { JobFilter } from "../../operator/query/filter.ts";
import { type JobView, viewEntries } from "./job_view.ts";

const BUDGET_MS = 2_000;
const ROWS_PER_PLACE = 10;
/** Queues searched, each a section of the page. */
const MAX_QUEUES = 50;

/** The results of a search in one place. */
export interface Found {
  readonly place: Place;
  readonly rows: readonly JobView[];
  /** There are more jobs to search. */
  readonly more: boolean;
}

/** The finished jobs of a search. */
export interface FoundEnded {
  /** The latest first. */
  readonly rows: readonly EndedJob[];
  /** There may be more. */
  readonly more: boolean;
}

/** The results of a search everywhere. */
export interface FoundEverywhere {
  readonly found: readonly Found[];
  /** Nodes of flows that wait for others. */
  readonly waiting: readonly WaitingNode[];
  /** Finished jobs whose records are kept. */
  readonly ended: FoundEnded;
  /** Number of jobs searched, without finished ones. */
  readonly looked: number;
}

/**
 * Returns matches in running jobs, the sets, the largest queues, the flows and the finished jobs. The remaining time is shared
 * between the places; flows have what is left.
 */
export async function searchEverywhere(services: Services, text: string): Promise<FoundEverywhere> {
  if (text === "") return { found: [], waiting: [], ended: { rows: [], more: false }, looked: 0 };
  const until = services.clock.monotonic() + BUDGET_MS;
  const [{ found, looked }, ended] = await Promise.all([
    searchPlaces(services, { q: text }, until),
    searchEnded(services, text, until),
  ]);
  const waiting: WaitingNode[] = [];
  for await (const nodes of waitingNodes(services.store, { q: text })) {
    waiting.push(...nodes);
    if (waiting.length >= ROWS_PER_PLACE || services.clock.monotonic() >= until) break;
  }
  return { found, waiting: waiting.slice(0, ROWS_PER_PLACE), ended, looked };
}

async function searchEnded(services: Services, text: string, until: number): Promise<FoundEnded> {
  const { rows, next } = await page(finishedJobs(services, { q: text }), services.clock, {
    limit: ROWS_PER_PLACE,
    until,
  });
  return { rows: rows.flatMap((one) => one?.job ?? []), more: next !== undefined || rows.length === ROWS_PER_PLACE };
}

/**
 * Returns the jobs that match a filter, of running jobs, the sets and the largest queues. The remaining time is shared between the
 * places.
 *
 * @param until milliseconds of the monotonic clock
 */
export async function searchPlaces(
  services: Services,
  filter: JobFilter,
  until = services.clock.monotonic() + BUDGET_MS,
): Promise<Pick<FoundEverywhere, "found" | "looked">> {
  const { queues } = await services.store.admin.stats();
  const places: Place[] = [
    { in: "running" },
    { in: "retry" },
    { in: "scheduled" },
    ...queues.filter((queue) => queue.size > 0).toSorted((a, b) => b.size - a.size).slice(0, MAX_QUEUES)
      .map(({ name }): Place => ({ in: "queue", queue: name })),
    { in: "dead" },
  ];
  const found: Found[] = [];
  let looked = 0;
  for (const [i, place] of places.entries()) {
    const budgetMs = Math.max(0, until - services.clock.monotonic()) / (places.length - i);
    const source = jobsIn(services, { place, filter, reverse: place.in === "dead" });
    const span = { limit: ROWS_PER_PLACE, until: services.clock.monotonic() + budgetMs };
    const result = await page(source, services.clock, span);
    looked += result.looked;
    found.push({ place, rows: await viewEntries(result.rows, services), more: result.next !== undefined });
  }
  return { found, looked };
}
