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
  /** Only keys that match one of these. Absent: any. */
  readonly keys?: readonly string[] | undefined;
}

/** Returns the list, the first to time out first. */
export function signalWaits(
  { steps }: { readonly steps: Pick<StepStore, "waits"> },
  { key, keys }: WaitFilter = {},
): Source<SignalWait> {
  const exact = key === undefined || key.includes("*") ? undefined : key;
  const fits = [
    ...(key === undefined || exact !== undefined ? [] : [compileGlob(key)]),
    ...(keys === undefined ? [] : [anyOf(keys.map(compileGlob))]),
  ];
  return {
    weigh: ({ payload = "" }) => payload.length,
    read: async (page) => {
      const { waits, next } = await steps.waits({ ...page, ...(exact !== undefined && { key: exact }) });
      return { rows: waits, next };
    },
    match: fits.length === 0
      ? undefined
      : (waits) => Promise.resolve(waits.map(({ key }) => fits.every((fits) => fits(key)))),
  };
}

function anyOf(patterns: readonly ((text: string) => boolean)[]): (text: string) => boolean {
  return (text) => patterns.some((fits) => fits(text));
}
