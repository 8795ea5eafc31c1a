/**
 * The columns of lists. `cli/terminal/table.ts` prints them, and `web/pages/list.tsx` shows them on a page, where a cell may have a
 * link or a drawing instead of its text.
 *
 * @module
 */
import { localTime } from "./times.ts";

/** The text of a cell; undefined or empty if the row has none. */
export type CellText = string | number | undefined;

/** A column of a list. */
export interface Column<Row> {
  /** Returns the text of a row's cell. `now` is in epoch milliseconds. */
  readonly text: (row: Row, now: number) => CellText;
  /** The time that the text is about, in epoch milliseconds: pages show it on hover. */
  readonly at?: (row: Row) => number | undefined;
  /** The texts are durations or shares: aligned to the right as numbers are. */
  readonly isAmount?: true;
  /** The texts are states: colored by {@linkcode kindOf}. */
  readonly isState?: true;
  /** On the terminal: `whole` is never cut, `optional` is left out if there is no room, the last one first. */
  readonly is?: "whole" | "optional";
}

/** Columns by heading. A page begins a heading with a capital. */
export type Columns<Row> = Readonly<Record<string, Column<Row>>>;

/** Returns a column of times, relative to now. */
export function timeColumn<Row>(at: (row: Row) => number | undefined, is?: Column<Row>["is"]): Column<Row> {
  return { text: (row, now) => localTime(at(row), now), at, ...(is && { is }) };
}

/** The meaning of a state: good, needs attention, bad; or under way. */
export type Kind = "ok" | "warn" | "bad" | "running" | "scheduled";

const KINDS: Readonly<Record<string, Kind>> = {
  ok: "ok",
  succeeded: "ok",
  enqueued: "ok",
  manual: "ok",
  running: "running",
  scheduled: "scheduled",
  sleeping: "scheduled",
  waiting: "scheduled",
  abandoned: "warn",
  expired: "warn",
  paused: "warn",
  quiet: "warn",
  replaced: "warn",
  retrying: "warn",
  skipped: "warn",
  stopping: "warn",
  timed: "warn",
  warning: "warn",
  blocked: "bad",
  dead: "bad",
  failed: "bad",
  missed: "bad",
  offline: "bad",
  stuck: "bad",
  unreadable: "bad",
};

/** Returns the meaning of a state, such as `paused for 10m`: that of its first word. Undefined if it has none, such as `queued`. */
export function kindOf(state: string): Kind | undefined {
  const word = /^\w*/.exec(state)![0];
  return Object.hasOwn(KINDS, word) ? KINDS[word] : undefined;
}
