/**
 * The state of the screen: its pane, its chosen rows, and the text over them.
 *
 * @module
 */
import type { Action, Outcome } from "./actions.ts";
import type { Choice, ListName, PaneName } from "./rows.ts";
import type { OpenList } from "./snapshot.ts";

/** A text over the panes: a job, a worker, a batch, a dump, the help. */
export interface TextView {
  readonly title: string;
  /** Undefined while it is loading. */
  readonly lines: readonly string[] | undefined;
  /** The index of the first line shown, after wrapping at the screen's width. */
  readonly top: number;
  /** The subject, to read it again and to act on it. */
  readonly of?: {
    readonly jid?: string;
    readonly ref?: string;
    readonly workerId?: string;
    readonly dump?: boolean;
    /** The ID of a batch or a flow. */
    readonly batch?: string;
  };
}

export interface State {
  /** The pane with the chosen row. */
  readonly pane: PaneName;
  readonly chosen: Readonly<Record<ListName, Choice>>;
  /** The open list; undefined on the main screen. */
  readonly list?: OpenList | undefined;
  readonly text?: TextView | undefined;
  readonly filter: string;
  /** Whether keys are typed into the filter. */
  readonly typing: boolean;
  /** The question on the screen. The key `y` performs its action. */
  readonly question?: { readonly text: string; readonly action: Action } | undefined;
  /** The outcome of the last key. */
  readonly status?: Outcome | undefined;
}

/** The state at the start. */
export const FIRST_STATE: State = {
  pane: "workers",
  chosen: {
    workers: { index: 0 },
    queues: { index: 0 },
    running: { index: 0 },
    batches: { index: 0 },
    sets: { index: 0 },
    groups: { index: 0 },
    entries: { index: 0 },
  },
  filter: "",
  typing: false,
};

/** Returns the list in which the keys move. */
export function activeList(state: State): ListName {
  return state.list === undefined ? state.pane : "entries";
}
