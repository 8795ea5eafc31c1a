/**
 * Who gets how much room: columns of a table, panes of the screen.
 *
 * @module
 */
import type { Column } from "./columns.ts";

/** A column, and how wide it is here. */
export interface LaidColumn<T> {
  readonly column: Column<T>;
  readonly width: number;
}

/** Between two columns. */
export const GAP = 1;

/** The columns that there is room for, and how wide each is: together exactly `width`, or less where none grows. */
export function layColumns<T>(columns: readonly Column<T>[], width: number): LaidColumn<T>[] {
  let shown = [...columns];
  const taken = () => shown.reduce((sum, column) => sum + column.width + GAP, -GAP);
  while (taken() > width) {
    const first = shown.reduce((a, b) => b.goes > a.goes ? b : a);
    if (first.goes === 0) break;
    shown = shown.filter((column) => column !== first);
  }
  let rest = Math.max(0, width - taken());
  let shares = shown.reduce((sum, { grows = 0 }) => sum + grows, 0);
  return shown.map((column) => {
    const more = column.grows === undefined ? 0 : Math.floor(rest * column.grows / shares);
    rest -= more;
    shares -= column.grows ?? 0;
    return { column, width: column.width + more };
  });
}

/** What a pane wants: lines for its heading and its rows. */
export interface Wish {
  readonly lines: number;
  /** Whether the keys move in it: it comes first. */
  readonly active: boolean;
}

/** The least that the active pane is given before others get rows: its heading and five rows. */
const ACTIVE_LEAST = 6;

/**
 * The lines of each pane out of `height`: a heading each, then the active one as many as it needs up to a few, then line
 * by line in turn until all have what they want. Where there is no room for the headings, the active one has all.
 */
export function sharePanes(wishes: readonly Wish[], height: number): number[] {
  if (height < wishes.length + 1) return wishes.map(({ active }) => active ? Math.max(0, height) : 0);
  const shares = wishes.map(() => 1);
  let left = height - wishes.length;
  wishes.forEach(({ lines, active }, i) => {
    const more = active ? Math.min(left, Math.max(0, Math.min(lines, ACTIVE_LEAST) - 1)) : 0;
    shares[i]! += more;
    left -= more;
  });
  // The active one has had some already: its turn is last.
  const turns = [...wishes.entries()].sort(([, a], [, b]) => Number(a.active) - Number(b.active));
  for (let given = -1; left > 0 && given !== 0;) {
    given = 0;
    for (const [i, { lines }] of turns) {
      if (left === 0 || shares[i]! >= lines) continue;
      shares[i]!++;
      left--;
      given++;
    }
  }
  return shares;
}
