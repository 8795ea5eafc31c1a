/**
 * Reads pages of batches and flows with a filter, and the errors of their dead members.
 *
 * @module
 */
import type { Context } from "hono";
import type { BatchKind } from "../../operator/actions/batches.ts";
import { ErrorGroups } from "../../operator/query/error_groups.ts";
import { membersOf } from "../../store/ops/batches.ts";
import { page } from "../../store/ops/scan.ts";
import type { Batch } from "../../store/port/batches.ts";
import type { Services, WebEnv } from "../services.ts";
import { wordsOf } from "../../operator/query/filter.ts";
import { textsIn } from "./filter.ts";
import { type GroupedErrors, groupedErrors } from "./grouped_errors.ts";
import { payloadLength } from "./job_view.ts";
import { pageOf, spanOf } from "./paging.ts";

/** A page of batches or flows. */
export interface BatchList {
  readonly batches: readonly Batch[];
  readonly filter: { readonly q?: string; readonly state?: string; readonly tag?: string };
  readonly cursor: string | undefined;
  readonly next: string | undefined;
}

/** Returns the page of batches or flows that a request names. Each word of `q` is a part of the name, the ID or a tag. */
export async function batchesOf(services: Services, c: Context<WebEnv>, kind: BatchKind): Promise<BatchList> {
  const filter = textsIn(c, ["q", "state", "tag"]);
  const words = wordsOf(filter.q?.toLowerCase() ?? "");
  const fits = ({ id, name = "", tags, state }: Batch) =>
    (filter.state === undefined || state === filter.state) &&
    (filter.tag === undefined || tags.includes(filter.tag)) &&
    words.every((word) => [id, name, ...tags].some((one) => one.toLowerCase().includes(word)));
  const { rows, next } = await page<Batch>(
    {
      read: async (part) => {
        const { batches, next } = await services.store.batches.read({ ...part, flows: kind === "flow" });
        return { rows: batches, ...(next !== undefined && { next }) };
      },
      match: Object.keys(filter).length === 0 ? undefined : (batches) => Promise.resolve(batches.map(fits)),
    },
    services.clock,
    spanOf(services, c),
  );
  return { batches: rows, filter, cursor: pageOf(c).cursor, next };
}

/** The longest time that a visitor waits for the errors. */
const BUDGET_MS = 400;

/** Groups the dead members of a batch by class and error, as many as it can read in {@linkcode BUDGET_MS}. */
export async function deadOf(services: Services, { id, dead }: Batch): Promise<GroupedErrors | undefined> {
  if (dead === 0) return undefined;
  const { clock, mask, slices } = services;
  const until = clock.monotonic() + BUDGET_MS;
  const groups = new ErrorGroups({ mask, times: true });
  let looked = 0;
  let whole = true;
  for await (const entries of membersOf(services.store, id, { dead: true })) {
    looked += entries.length;
    await slices.map(entries, { weigh: payloadLength, map: (entry) => groups.add(entry) });
    whole = clock.monotonic() < until;
    if (!whole) break;
  }
  return groupedErrors(groups, { looked, whole });
}
