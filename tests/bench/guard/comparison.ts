/**
 * The figures of each case on both sides, and the verdict that follows from them.
 *
 * @module
 */
import { formatNumber, printTable, spreadOf } from "../measure.ts";
import type { Figures } from "./meters.ts";
import { compareCounts, type Estimate, estimate, formatEstimate } from "./estimate.ts";

/** The other commit, or this tree. */
export type Side = "before" | "after";
export const SIDES: readonly [Side, Side] = ["before", "after"];

/** Nothing is decided before this many rounds: two processes differ by what their compilers did. */
export const MIN_ROUNDS = 5;

/**
 * How many bounds a count may rise. One more function per job is acceptable if it costs no time, and allocations vary with what the
 * compiler removes: they only tell where to look.
 */
const COUNTS: Readonly<Record<string, number>> = {
  ...{ instructions: 1, statements: 1, requests: 1, sent: 1, received: 1 },
  ...{ calls: 5, allocated: Infinity },
};
/** A worker takes and settles in chunks, whose sizes vary with the load of the machine. */
const CHUNKED: Readonly<Record<string, number>> = {
  ...COUNTS,
  ...{ statements: 10, requests: 10, sent: 10, received: 10 },
};

/** One case on one store. */
export class Comparison {
  /** The ratios of processor time, by round. */
  readonly ratios: number[] = [];
  /** Processor time per job. */
  readonly micros: Readonly<Record<Side, number[]>> = { before: [], after: [] };
  /** Other figures per job. */
  readonly counts: Readonly<Record<Side, Figures[]>> = { before: [], after: [] };
  /** Calls per job by room. */
  readonly calls: Record<Side, Figures> = { before: {}, after: {} };
  /** Processor time per job by room, once it is known. */
  rooms: Readonly<Record<Side, Figures>> | undefined;
  /** Why it can't be compared. */
  problem: string | undefined;
  readonly store: string;
  readonly name: string;
  readonly #bound: number;

  /** @param bound the share by which a figure may rise */
  constructor(store: string, name: string, bound: number) {
    this.store = store;
    this.name = name;
    this.#bound = bound;
  }

  get title(): string {
    return `${this.store}, ${this.name}`;
  }

  get isMeasured(): boolean {
    return this.ratios.length > 0;
  }

  get time(): Estimate {
    return estimate(this.ratios);
  }

  /** Whether the time is neither surely above the bound nor surely below. */
  get isOpen(): boolean {
    if (this.problem !== undefined) return false;
    if (this.ratios.length < MIN_ROUNDS) return true;
    const { low, high } = this.time;
    return low <= 1 + this.#bound && high > 1 + this.#bound;
  }

  /** Whether it is measured further. It is decided after 5, 10, 20 … rounds: asked after each, noise would sooner or later look like a difference. */
  get needsRound(): boolean {
    if (this.problem !== undefined) return false;
    return !Number.isInteger(Math.log2(this.ratios.length / MIN_ROUNDS)) || this.isOpen;
  }

  get isSlower(): boolean {
    return this.ratios.length >= MIN_ROUNDS && this.time.low > 1 + this.#bound;
  }

  /** The ratio of a figure; undefined if neither side has it. */
  count(name: string): Estimate | undefined {
    const of = (side: Side) => this.counts[side].map((figures) => figures[name] ?? 0);
    return SIDES.some((side) => of(side).some((value) => value > 0))
      ? compareCounts(of("before"), of("after"))
      : undefined;
  }

  /** The figures that are surely above their bound, as texts. */
  dearer(): string[] {
    if (this.ratios.length < MIN_ROUNDS) return [];
    const bounds = this.name.startsWith("drain") ? CHUNKED : COUNTS;
    const counts = Object.entries(bounds).flatMap(([name, bounds]) => {
      const count = this.count(name);
      return count !== undefined && count.low > 1 + bounds * this.#bound ? [`${name} ${formatEstimate(count)}`] : [];
    });
    return this.isSlower ? [`processor time ${formatEstimate(this.time)}`, ...counts] : counts;
  }

  /** Where a difference lies: the rooms whose calls and time changed, in lines. */
  differences(): string[] {
    const { rooms, calls } = this;
    return [
      ...(rooms ? [`µs: ${formatRises(rooms.before, rooms.after, 0.05)}`] : []),
      `calls: ${formatRises(calls.before, calls.after, 0.05)}`,
    ];
  }
}

/** Formats what rose or fell by more than `least`, first what rose most. */
function formatRises(before: Figures, after: Figures, least: number): string {
  return Object.keys({ ...before, ...after })
    .map((name) => ({ name, from: before[name] ?? 0, to: after[name] ?? 0 }))
    .filter(({ from, to }) => Math.abs(to - from) > least)
    .sort((a, b) => b.to - b.from - (a.to - a.from))
    .map(({ name, from, to }) => `${name} ${from.toFixed(2)} → ${to.toFixed(2)}`)
    .join(", ") || "as before";
}

/** Prints the table of what was compared. */
export function printComparisons(all: readonly Comparison[]): void {
  const measured = all.filter(({ isMeasured }) => isMeasured);
  const names = Object.keys(COUNTS).filter((name) => measured.some((one) => one.count(name) !== undefined));
  const median = (values: readonly number[]) => formatNumber(spreadOf(values).median);
  printTable(
    ["store, case", "µs per job", "processor time", "rounds", ...names],
    measured.map((one) => [
      one.title,
      `${median(one.micros.before)} → ${median(one.micros.after)}`,
      formatEstimate(one.time),
      String(one.ratios.length),
      ...names.map((name) => one.count(name)?.value.toFixed(3) ?? ""),
    ]),
  );
  const problems = Map.groupBy(all.filter(({ problem }) => problem), ({ store, problem }) => `${store}: ${problem}`);
  for (const [problem, those] of problems) {
    console.log(`Not compared on ${problem}: ${those.map(({ name }) => name).join(", ")}`);
  }
}
