/**
 * What a key does: to the screen's state at once, and what is to be done beside that.
 *
 * @module
 */
import type { Act } from "./actions.ts";
import { helpLines } from "./help.ts";
import type { Key } from "./keys.ts";
import { glance } from "./job_summary.ts";
import { indexOf, PANES, type Row, rowsOf, type Thing } from "./rows.ts";
import type { OpenList, Snapshot } from "./snapshot.ts";
import { activeList, type State, type TextView } from "./state.ts";
import { boundLines, wrapTo } from "./text.ts";

/** What is to be done besides showing the new state. */
export type Effect =
  | { readonly do: "quit" | "suspend" | "redraw" | "read" }
  | { readonly do: "act"; readonly act: Act }
  | { readonly do: "open"; readonly text: TextView };

/** The new state, and what is to be done. */
export interface Pressed {
  readonly state: State;
  readonly effect?: Effect;
}

/** How much of the screen there is for a list or a text. */
export interface Room {
  readonly columns: number;
  readonly rows: number;
}

const MAX_FILTER = 200;

/** Presses a key. Without a snapshot (the store has not answered yet) only what needs none. */
export function press(state: State, key: Key, snapshot: Snapshot | undefined, room: Room): Pressed {
  if (key === "ctrl-c") return { state, effect: { do: "quit" } };
  if (key === "ctrl-z") return { state, effect: { do: "suspend" } };
  if (key === "ctrl-l") return { state, effect: { do: "redraw" } };
  if (state.question !== undefined) return answer(state, key);
  if (state.typing) return { state: type(state, key) };
  // What is pasted by mistake must not stop a process.
  if (key.startsWith("paste:")) return { state };
  const quiet: State = { ...state, status: undefined };
  if (state.text !== undefined) return inText(quiet, state.text, key, room);
  if (key === "q" && state.list === undefined) return { state, effect: { do: "quit" } };
  if (key === "?") return { state: { ...quiet, text: { title: "Help", lines: helpLines(), top: 0 } } };
  if (key === "/") return { state: { ...quiet, typing: true } };
  if (["q", "escape", "backspace", "left", "h"].includes(key)) return back(quiet, key);
  return snapshot === undefined ? { state } : inList(quiet, key, snapshot, room);
}

function answer(state: State, key: Key): Pressed {
  const { question, ...rest } = state;
  if (key === "y" || key === "Y") return { state: rest, effect: { do: "act", act: question!.act } };
  return { state: { ...rest, status: { text: "Nothing done", bad: false } } };
}

function type(state: State, key: Key): State {
  if (key === "enter") return { ...state, typing: false };
  if (key === "escape") return { ...state, typing: false, filter: "" };
  if (key === "backspace") return { ...state, filter: [...state.filter].slice(0, -1).join("") };
  if (key === "ctrl-u") return { ...state, filter: "" };
  const typed = key.startsWith("paste:") ? key.slice("paste:".length).split("\n")[0]! : key;
  if (!key.startsWith("paste:") && [...key].length !== 1) return state;
  return { ...state, filter: [...state.filter + typed].slice(0, MAX_FILTER).join("") };
}

/** Out of the list, or without the filter: what was done last is undone first. */
function back(state: State, key: Key): Pressed {
  if (state.filter !== "" && key === "escape") return { state: { ...state, filter: "" } };
  return state.list === undefined ? { state } : { state: { ...state, list: undefined, filter: "" } };
}

function inText(state: State, text: TextView, key: Key, room: Room): Pressed {
  if (["q", "escape", "backspace", "left", "h", "enter"].includes(key)) return { state: { ...state, text: undefined } };
  const height = wrapAll(text.lines ?? [], room.columns).length;
  const top = moved(key, text.top, Math.max(0, height - room.rows), room.rows);
  if (top !== undefined) return { state: { ...state, text: { ...text, top } } };
  if (key === "d" && text.of?.identity !== undefined) {
    return { state, effect: { do: "open", text: dumpView(text.of.identity) } };
  }
  const wanted = text.of && jobAct(key, text.of);
  return wanted === undefined ? useless(state, key) : doOrAsk(state, wanted);
}

function inList(state: State, key: Key, snapshot: Snapshot, room: Room): Pressed {
  if (state.list === undefined) {
    const pane = PANES.indexOf(state.pane);
    if (key === "tab") return { state: { ...state, pane: PANES[(pane + 1) % PANES.length]! } };
    if (key === "back-tab") return { state: { ...state, pane: PANES[(pane + PANES.length - 1) % PANES.length]! } };
  }
  const list = activeList(state);
  const rows = rowsOf(list, snapshot, state.filter);
  const index = indexOf(rows, state.chosen[list]);
  if (state.list !== undefined) {
    const turned = turn(state, state.list, key, index === rows.length - 1, snapshot);
    if (turned !== undefined) return turned;
  }
  const to = moved(key, Math.max(0, index), Math.max(0, rows.length - 1), room.rows);
  if (to !== undefined) return { state: choose(state, rows[to], to) };
  const row = rows[index];
  return row === undefined ? { state } : onThing(choose(state, row, index), key, row.thing);
}

/** Another page of a list: `n` and `b`, or moving on at its end. */
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

function onThing(state: State, key: Key, thing: Thing): Pressed {
  switch (thing.is) {
    case "process": {
      const { identity, quiet } = thing.process;
      if (key === "d") return { state, effect: { do: "open", text: dumpView(identity) } };
      if (key === "enter") {
        return {
          state,
          effect: { do: "open", text: { title: `Process ${identity}`, lines: undefined, top: 0, of: { identity } } },
        };
      }
      if (key === "Q") return act(state, { do: "tell", verb: quiet ? "resume" : "quiet", identity });
      if (key === "S") return ask(state, `Stop ${identity}?`, { do: "tell", verb: "stop", identity });
      break;
    }
    case "queue":
      if (key === "p") return act(state, { do: thing.queue.paused ? "resume" : "pause", queue: thing.queue.name });
      if (key === "enter") return enter(state, { place: { in: "queue", queue: thing.queue.name }, cursors: [] });
      break;
    case "set":
      if (key === "enter") return enter(state, { place: { in: thing.set }, cursors: [] });
      break;
    case "running": {
      const { jid } = glance(thing.job);
      return onJob(state, key, { ...jid !== undefined && { jid } });
    }
    case "entry": {
      const { ref, payload } = thing.entry;
      const { jid } = glance(thing.entry);
      return onJob(state, key, { ref, ...jid !== undefined && { jid } }, payload);
    }
  }
  return useless(state, key);
}

/** @param payload what to show of a job that has no jid */
function onJob(state: State, key: Key, of: { jid?: string; ref?: string }, payload?: string): Pressed {
  if (key === "enter") {
    const title = of.jid === undefined ? "A job that cannot be read" : `Job ${of.jid}`;
    return {
      state,
      effect: { do: "open", text: { title, lines: of.jid ? undefined : boundLines([payload ?? ""]), top: 0, of } },
    };
  }
  const wanted = jobAct(key, of);
  return wanted === undefined ? useless(state, key) : doOrAsk(state, wanted);
}

/** Something to do with a job; unless `now`, the question comes first. */
interface Wanted {
  readonly text: string;
  readonly act: Act;
  readonly now: boolean;
}

/** What a key does to a job; undefined when it does nothing. */
function jobAct(
  key: Key,
  { jid, ref }: { readonly jid?: string; readonly ref?: string },
): Wanted | undefined {
  const name = jid ?? "the job that cannot be read";
  if (key === "c" && jid !== undefined) return { text: `Cancel ${jid}?`, act: { do: "cancel", jid }, now: false };
  if (ref === undefined) return undefined;
  if (key === "r") return { text: `Retry ${name}?`, act: { do: "requeue", ref, jid: name }, now: true };
  if (key === "x") return { text: `Delete ${name}?`, act: { do: "delete", ref, jid: name }, now: false };
  if (key === "K") return { text: `Move ${name} to dead?`, act: { do: "kill", ref, jid: name }, now: false };
  return undefined;
}

function enter(state: State, list: OpenList): Pressed {
  const chosen = { ...state.chosen, entries: { index: 0 } };
  return { state: { ...state, list, chosen, filter: "" }, effect: { do: "read" } };
}

function act(state: State, act: Act): Pressed {
  return { state, effect: { do: "act", act } };
}

function doOrAsk(state: State, { now, text, act: wanted }: Wanted): Pressed {
  return now ? act(state, wanted) : ask(state, text, wanted);
}

function useless(state: State, key: Key): Pressed {
  return { state: { ...state, status: { text: `Nothing to do here with ${key}; ? lists the keys`, bad: false } } };
}

function ask(state: State, text: string, act: Act): Pressed {
  return { state: { ...state, question: { text, act } } };
}

function choose(state: State, row: Row | undefined, index: number): State {
  const choice = row === undefined ? { index } : { key: row.key, index };
  return { ...state, chosen: { ...state.chosen, [activeList(state)]: choice } };
}

function dumpView(identity: string): TextView {
  return { title: `Dump of ${identity}`, lines: undefined, top: 0, of: { identity, dump: true } };
}

/** Where a movement leads from a position; undefined when the key is none. */
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

/** The lines of a text at this width. */
export function wrapAll(lines: readonly string[], columns: number): string[] {
  return lines.flatMap((line) => wrapTo(line, columns));
}
