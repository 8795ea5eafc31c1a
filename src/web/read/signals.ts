/**
 * Reads pages of the steps that wait for signals.
 *
 * @module
 */
import type { Context } from "hono";
import { signalWaits } from "../../operator/query/signal_waits.ts";
import { page } from "../../store/ops/scan.ts";
import { readWait, type WaitRow } from "../../text/signals.ts";
import type { Services, WebEnv } from "../services.ts";
import { textsIn } from "./filter.ts";
import { pageOf, spanOf } from "./paging.ts";

/** The filters of the list, by their names in URLs. */
export const SIGNAL_FILTERS = {
  key: { label: "Key", example: "order:*", about: "the key, exactly; * stands for any characters" },
} as const;

/** A page of the list. */
export interface SignalList {
  readonly rows: readonly WaitRow[];
  readonly filter: { readonly [Name in keyof typeof SIGNAL_FILTERS]?: string };
  readonly cursor: string | undefined;
  /** Absent on the last page. */
  readonly next: string | undefined;
}

/** Returns the requested page, with secrets masked. */
export async function readSignalPage(services: Services, c: Context<WebEnv>): Promise<SignalList> {
  const { store, clock, slices, mask } = services;
  const filter = textsIn(c, ["key"]);
  const { role, scope } = c.get("visitor");
  const keys = role === "signal" ? scope?.keys : undefined;
  const found = await page(signalWaits(store, { ...filter, keys }), clock, spanOf(services, c));
  const rows = await slices.map(found.rows, {
    weigh: ({ payload = "" }) => payload.length,
    map: (wait) => readWait(wait, mask),
  });
  return { rows, filter, cursor: pageOf(c).cursor, next: found.next };
}
