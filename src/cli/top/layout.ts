/**
 * The layout of the screen: widths of columns, heights of panes.
 *
 * @module
 */
import type { Column } from "./columns.ts";

/** A column with its width on this screen. */
export interface LaidColumn<T> {
  readonly column: Column<T>;
  readonly width: number;
}

/** Spaces between two columns. */
export const GAP = 1;

/** Returns the columns that fit into `width`, with their widths. They fill it exactly if a column grows. */
export function layColumns<T>(columns: readonly Column<T>[], width: number): LaidColumn<T>[] {
  let shown = [...columns];
  const taken = () => shown.reduce((sum, column) => sum + column.width + GAP, -GAP);
  while (taken() > width) {
    const first = shown.reduce((a, b) => b.dropOrder > a.dropOrder ? b : a);
    if (first.dropOrder === 0) break;
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

/** A pane that needs room. */
export interface PaneRequest {
  /** Lines for its heading and all its rows. */
  readonly lines: number;
  /** Whether the keys move in it. The active pane is served first. */
  readonly active: boolean;
}

/** The active pane gets this many lines, its heading and five rows, before the others get rows. */
const MIN_ACTIVE_LINES = 6;

/**
 * Returns the height of each pane. Each gets a heading, then the active pane up to {@linkcode MIN_ACTIVE_LINES}. The rest
 * goes round line by line until no pane needs more. If the headings don't fit, the active pane gets all lines.
 */
export function sharePanes(panes: readonly PaneRequest[], height: number): number[] {
  if (height < panes.length + 1) return panes.map(({ active }) => active ? Math.max(0, height) : 0);
  const shares = panes.map(() => 1);
  let left = height - panes.length;
  panes.forEach(({ lines, active }, i) => {
    const more = active ? Math.min(left, Math.max(0, Math.min(lines, MIN_ACTIVE_LINES) - 1)) : 0;
    shares[i]! += more;
    left -= more;
  });
  // The active pane has its share already, so that its turn is last.
  const turns = [...panes.entries()].sort(([, a], [, b]) => Number(a.active) - Number(b.active));
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
