/**
 * The list of steps that wait for signals.
 *
 * @module
 */
import type { Source } from "../../store/ops/scan.ts";
import type { SignalWait, StepStore } from "../../store/port/steps.ts";
import { compileGlob } from "./filter.ts";

/** Which steps to list. */
export interface WaitFilter {
  /** The key, exactly; `*` stands for any characters. */
  readonly key?: string | undefined;
}

/** Returns the list, the first to time out first. */
export function signalWaits(
  { steps }: { readonly steps: Pick<StepStore, "waits"> },
  { key }: WaitFilter = {},
): Source<SignalWait> {
  const isPattern = key?.includes("*") ?? true;
  const fits = key === undefined || !isPattern ? undefined : compileGlob(key);
  return {
    weigh: ({ payload = "" }) => payload.length,
    read: async (page) => {
      const { waits, next } = await steps.waits({ ...page, ...(key !== undefined && !isPattern && { key }) });
      return { rows: waits, next };
    },
    match: fits && ((waits) => Promise.resolve(waits.map((one) => fits(one.key)))),
  };
}
