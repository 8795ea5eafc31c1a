/**
 * What the screen is showing of a snapshot: which pane, which row, what lies over it.
 *
 * @module
 */
import type { Act } from "./actions.ts";
import type { Choice, ListName, PaneName } from "./rows.ts";
import type { OpenList } from "./snapshot.ts";

/** A text that lies over the panes: a job, a process, a dump, the help. */
export interface TextView {
  readonly title: string;
  /** Undefined while it is being read. */
  readonly lines: readonly string[] | undefined;
  /** The first line shown, of those that it takes at this width. */
  readonly top: number;
  /** Where it came from, to read it again and to act on it. */
  readonly of?: { readonly jid?: string; readonly ref?: string; readonly identity?: string; readonly dump?: boolean };
}

/** The state of the screen. */
export interface State {
  /** The pane with the chosen row. */
  readonly pane: PaneName;
  readonly chosen: Readonly<Record<ListName, Choice>>;
  /** The list that is open, if one is. */
  readonly list?: OpenList | undefined;
  /** The text that lies over everything, if one does. */
  readonly text?: TextView | undefined;
  readonly filter: string;
  /** Whether keys go into the filter. */
  readonly typing: boolean;
  /** What is done if the next key is `y`. */
  readonly question?: { readonly text: string; readonly act: Act } | undefined;
  /** What happened last. */
  readonly status?: { readonly text: string; readonly bad: boolean } | undefined;
}

/** At the beginning. */
export const FIRST_STATE: State = {
  pane: "processes",
  chosen: {
    processes: { index: 0 },
    queues: { index: 0 },
    running: { index: 0 },
    sets: { index: 0 },
    entries: { index: 0 },
  },
  filter: "",
  typing: false,
};

/** The list that the keys move in. */
export function activeList(state: State): ListName {
  return state.list === undefined ? state.pane : "entries";
}
