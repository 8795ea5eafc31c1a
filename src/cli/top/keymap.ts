/**
 * The meaning of keys: the new state of the screen, and the effects outside of it.
 *
 * @module
 */
import type { Action } from "./actions.ts";
import { glance } from "./job_summary.ts";
import type { Key } from "./keys.ts";
import { indexOf, type Item, panesOf, type Row, rowsOf } from "./rows.ts";
import type { OpenList, Snapshot } from "./snapshot.ts";
import { activeList, type State, type TextView } from "./state.ts";
import { boundLines, wrapTo } from "./text.ts";

/** An effect of a key besides a new state. */
export type Effect =
  | { readonly do: "quit" | "suspend" | "redraw" | "read" }
  | { readonly do: "perform"; readonly action: Action }
  | { readonly do: "open"; readonly text: TextView };

export interface Pressed {
  readonly state: State;
  readonly effect?: Effect;
}

/** The part of the screen for a list or a text. */
export interface Room {
  readonly columns: number;
  readonly rows: number;
}

const MAX_FILTER_CHARS = 200;

/** Returns the result of a key. Keys that act on rows do nothing without a snapshot: the store hasn't replied yet. */
export function press(state: State, key: Key, snapshot: Snapshot | undefined, room: Room): Pressed {
  if (key === "ctrl-c") return { state, effect: { do: "quit" } };
  if (key === "ctrl-z") return { state, effect: { do: "suspend" } };
  if (key === "ctrl-l") return { state, effect: { do: "redraw" } };
  if (state.question !== undefined) return answer(state, key);
  if (state.typing) return { state: type(state, key) };
  // Text pasted by mistake must not stop a worker.
  if (key.startsWith("paste:")) return { state };
  const cleared: State = { ...state, status: undefined };
  if (state.text !== undefined) return inText(cleared, state.text, key, room);
  if (key === "q" && state.list === undefined) return { state, effect: { do: "quit" } };
  if (key === "?") return { state: { ...cleared, text: { title: "Help", lines: helpLines(), top: 0 } } };
  if (key === "/") return { state: { ...cleared, typing: true } };
  if (["q", "escape", "backspace", "left", "h"].includes(key)) return back(cleared, key);
  return snapshot === undefined ? { state } : inList(cleared, key, snapshot, room);
}

function answer(state: State, key: Key): Pressed {
  const { question, ...rest } = state;
  if (key === "y" || key === "Y") return { state: rest, effect: { do: "perform", action: question!.action } };
  return { state: { ...rest, status: { text: "Nothing changed", isError: false } } };
}

function type(state: State, key: Key): State {
  if (key === "enter") return { ...state, typing: false };
  if (key === "escape") return { ...state, typing: false, filter: "" };
  if (key === "backspace") return { ...state, filter: [...state.filter].slice(0, -1).join("") };
  if (key === "ctrl-u") return { ...state, filter: "" };
  const typed = key.startsWith("paste:") ? key.slice("paste:".length).split("\n")[0]! : key;
  if (!key.startsWith("paste:") && [...key].length !== 1) return state;
  return { ...state, filter: [...state.filter + typed].slice(0, MAX_FILTER_CHARS).join("") };
}

/** Clears the filter, else closes the list. */
function back(state: State, key: Key): Pressed {
  if (state.filter !== "" && key === "escape") return { state: { ...state, filter: "" } };
  return state.list === undefined ? { state } : { state: { ...state, list: undefined, filter: "" } };
}

function inText(state: State, text: TextView, key: Key, room: Room): Pressed {
  if (["q", "escape", "backspace", "left", "h", "enter"].includes(key)) return { state: { ...state, text: undefined } };
  const height = wrapAll(text.lines ?? [], room.columns).length;
  const top = moved(key, text.top, Math.max(0, height - room.rows), room.rows);
  if (top !== undefined) return { state: { ...state, text: { ...text, top } } };
  if (key === "d" && text.of?.workerId !== undefined) {
    return { state, effect: { do: "open", text: dumpView(text.of.workerId) } };
  }
  const jobAction = text.of && actionOnJob(key, text.of);
  return jobAction === undefined ? withoutEffect(state, key) : performOrAsk(state, jobAction);
}

function inList(state: State, key: Key, snapshot: Snapshot, room: Room): Pressed {
  if (state.list === undefined) {
    const panes = panesOf(snapshot, state.pane);
    const pane = panes.indexOf(state.pane);
    if (key === "tab") return { state: { ...state, pane: panes[(pane + 1) % panes.length]! } };
    if (key === "back-tab") return { state: { ...state, pane: panes.at(pane - 1)! } };
  }
  const list = activeList(state);
  const rows = rowsOf(list, snapshot, state.filter);
  const index = indexOf(rows, state.chosen[list]);
  if (state.list !== undefined) {
    const other = otherGroup(state, state.list, key, snapshot);
    if (other !== undefined) return other;
    const turned = turn(state, state.list, key, index === rows.length - 1, snapshot);
    if (turned !== undefined) return turned;
  }
  const to = moved(key, Math.max(0, index), Math.max(0, rows.length - 1), room.rows);
  if (to !== undefined) return { state: choose(state, rows[to], to) };
  const row = rows[index];
  return row === undefined ? { state } : onItem(choose(state, row, index), key, row.item);
}

/** Turns to another page of a list: `n` and `b`, or a movement beyond its last row. */
function turn(state: State, list: OpenList, key: Key, atEnd: boolean, snapshot: Snapshot): Pressed | undefined {
  const next = snapshot.list?.page.next;
  const forward = key === "n" || (atEnd && ["down", "j", "page-down"].includes(key));
  let cursors: readonly string[];
  if (forward && next !== undefined) cursors = [...list.cursors, next];
  else if (key === "b" && list.cursors.length > 0) cursors = list.cursors.slice(0, -1);
  else return undefined;
  const chosen = { ...state.chosen, entries: { index: 0 } };
  return { state: { ...state, chosen, list: { ...list, cursors } }, effect: { do: "read" } };
}

/** Lists the jobs of the next or previous group of a queue, or those without a group. */
function otherGroup(state: State, { place }: OpenList, key: Key, snapshot: Snapshot): Pressed | undefined {
  if (place.in !== "queue" || key !== "tab" && key !== "back-tab") return undefined;
  const { list } = snapshot;
  const isRead = list?.place.in === "queue" && list.place.queue === place.queue;
  const groups = [undefined, ...isRead ? list.groups?.map(({ name }) => name) ?? [] : []];
  const to = Math.max(0, groups.indexOf(place.group)) + (key === "tab" ? 1 : -1);
  const group = groups.at(to % groups.length);
  if (group === place.group) return withoutEffect(state, key);
  return enter(state, {
    place: { in: "queue", queue: place.queue, ...(group !== undefined && { group }) },
    cursors: [],
  });
}

function onItem(state: State, key: Key, item: Item): Pressed {
  switch (item.is) {
    case "worker": {
      const { id: workerId, quiet } = item.worker;
      if (key === "d") return { state, effect: { do: "open", text: dumpView(workerId) } };
      if (key === "enter") {
        return {
          state,
          effect: { do: "open", text: { title: `Worker ${workerId}`, lines: undefined, top: 0, of: { workerId } } },
        };
      }
      if (key === "Q") return perform(state, { do: "signal", verb: quiet ? "resume" : "quiet", workerId });
      if (key === "S") return ask(state, `Stop ${workerId}?`, { do: "signal", verb: "stop", workerId });
      break;
    }
    case "queue":
      if (key === "p") return perform(state, { do: item.queue.paused ? "resume" : "pause", queue: item.queue.name });
      if (key === "enter") return enter(state, { place: { in: "queue", queue: item.queue.name }, cursors: [] });
      break;
    case "batch":
      if (key === "enter") {
        const { id, flow } = item.batch;
        const title = `${flow ? "Flow" : "Batch"} ${id}`;
        return { state, effect: { do: "open", text: { title, lines: undefined, top: 0, of: { batch: id } } } };
      }
      break;
    case "group":
      break;
    case "set":
      if (key === "enter") return enter(state, { place: { in: item.set }, cursors: [] });
      break;
    case "running": {
      const { jid } = glance(item.job);
      return onJob(state, key, { ...jid !== undefined && { jid } });
    }
    case "entry": {
      const { ref, payload } = item.entry;
      const { jid } = glance(item.entry);
      return onJob(state, key, { ref, ...jid !== undefined && { jid } }, payload);
    }
  }
  return withoutEffect(state, key);
}

/** @param payload shown if the job has no jid */
function onJob(state: State, key: Key, of: { jid?: string; ref?: string }, payload?: string): Pressed {
  if (key === "enter") {
    const title = of.jid === undefined ? "Unreadable job" : `Job ${of.jid}`;
    return {
      state,
      effect: { do: "open", text: { title, lines: of.jid ? undefined : boundLines([payload ?? ""]), top: 0, of } },
    };
  }
  const jobAction = actionOnJob(key, of);
  return jobAction === undefined ? withoutEffect(state, key) : performOrAsk(state, jobAction);
}

interface JobAction {
  readonly action: Action;
  /** The question before the action; undefined if it needs no confirmation. */
  readonly question?: string;
}

/** Returns the action of a key on a job; undefined if the key has none. */
function actionOnJob(
  key: Key,
  { jid, ref }: { readonly jid?: string; readonly ref?: string },
): JobAction | undefined {
  const name = jid ?? "the unreadable job";
  if (key === "c" && jid !== undefined) return { action: { do: "cancel", jid }, question: `Cancel ${jid}?` };
  if (ref === undefined) return undefined;
  if (key === "r") return { action: { do: "requeue", ref, jid: name } };
  if (key === "x") return { action: { do: "delete", ref, jid: name }, question: `Delete ${name}?` };
  if (key === "K") return { action: { do: "kill", ref, jid: name }, question: `Move ${name} to dead?` };
  return undefined;
}

function enter(state: State, list: OpenList): Pressed {
  const chosen = { ...state.chosen, entries: { index: 0 } };
  return { state: { ...state, list, chosen, filter: "" }, effect: { do: "read" } };
}

function perform(state: State, action: Action): Pressed {
  return { state, effect: { do: "perform", action } };
}

function performOrAsk(state: State, { action, question }: JobAction): Pressed {
  return question === undefined ? perform(state, action) : ask(state, question, action);
}

function withoutEffect(state: State, key: Key): Pressed {
  return { state: { ...state, status: { text: `${key} does nothing here; ? lists the keys`, isError: false } } };
}

function ask(state: State, text: string, action: Action): Pressed {
  return { state: { ...state, question: { text, action } } };
}

function choose(state: State, row: Row | undefined, index: number): State {
  const choice = row === undefined ? { index } : { key: row.key, index };
  return { ...state, chosen: { ...state.chosen, [activeList(state)]: choice } };
}

function dumpView(workerId: string): TextView {
  return { title: `Dump of ${workerId}`, lines: undefined, top: 0, of: { workerId, dump: true } };
}

/** Returns the position after a movement; undefined if the key isn't a movement. */
function moved(key: Key, from: number, last: number, page: number): number | undefined {
  const to = {
    up: from - 1,
    k: from - 1,
    down: from + 1,
    j: from + 1,
    "page-up": from - page,
    "page-down": from + page,
    " ": from + page,
    home: 0,
    g: 0,
    end: last,
    G: last,
  }[key];
  return to === undefined ? undefined : Math.min(last, Math.max(0, to));
}

/** Returns the lines of a text at this width. */
export function wrapAll(lines: readonly string[], columns: number): string[] {
  return lines.flatMap((line) => wrapTo(line, columns));
}

/** The keys with their effects, in the order of the help screen. */
const KEYS: readonly (readonly [keys: string, effect: string])[] = [
  ["↑ ↓ j k", "move; also PgUp PgDn Space g G"],
  ["Tab", "next pane, in a queue next group; Shift-Tab: previous one"],
  ["Enter", "show a worker, a job or a batch in full, or the jobs of a queue or a set"],
  ["Esc q ←", "back; q on the first screen, and Ctrl-C anywhere, quits"],
  ["/", "show only rows that contain a text; Enter keeps it, Esc clears it"],
  ["n b", "next and previous page of a long list"],
  ["?", "this help"],
  ["Ctrl-L", "redraw the screen"],
  ["Ctrl-Z", "suspend; fg continues"],
  ["", ""],
  ["p", "queue: pause or resume it"],
  ["r", "job: retry or run it now"],
  ["c", "job: cancel it in any state (asks first)"],
  ["x", "job: delete it (asks first)"],
  ["K", "job: move it to dead (asks first)"],
  ["d", "worker: dump what each of its tasks is doing"],
  ["Q", "worker: quiet it (stop fetching), or resume it"],
  ["S", "worker: stop it (asks first)"],
];

/** Returns the help, line by line. */
function helpLines(): string[] {
  return [
    "Shows workers, queues, running jobs, unfinished batches and flows, and the sets of jobs, live.",
    "",
    ...KEYS.map(([keys, effect]) => `${keys.padEnd(9)} ${effect}`.trimEnd()),
    "",
    'Progress is as of the last heartbeat of the job\'s worker. "no worker": no worker fetches from the queue.',
  ];
}
