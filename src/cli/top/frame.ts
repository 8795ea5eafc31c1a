/**
 * The whole screen as lines: a function of a snapshot, the history of the counts and the state of the screen.
 *
 * @module
 */
import { VERSION } from "../../version.ts";
import { number } from "../../text/format.ts";
import { groupName } from "../../text/groups.ts";
import type { Place } from "../../store/port/entries.ts";
import { pausedQueues } from "../../text/queues.ts";
import { stateOfPlace } from "../../operator/actions/places.ts";
import { type CellContext, columnsOf } from "./columns.ts";
import type { History } from "./history.ts";
import { GAP, type LaidColumn, layColumns, sharePanes } from "./layout.ts";
import { type Room, wrapAll } from "./keymap.ts";
import { indexOf, type Item, type ListName, panesOf, type Row, rowsOf } from "./rows.ts";
import { isSameList, type Snapshot } from "./snapshot.ts";
import { sparkline } from "./spark.ts";
import type { State } from "./state.ts";
import { textWidth } from "../terminal/text_width.ts";
import { fitTo, type Line, type Span } from "./text.ts";

export interface Shown {
  readonly state: State;
  /** Undefined before the store's first reply. */
  readonly snapshot: Snapshot | undefined;
  readonly history: History;
  /** The problem with the store, if it has one. */
  readonly problem: string | undefined;
  readonly columns: number;
  readonly rows: number;
  /** Whether keys work: not if the screen is printed as text. */
  readonly live: boolean;
}

/** Screens with fewer rows go without the sparkline of the throughput. */
const MIN_ROWS_FOR_SPARKLINE = 20;
const TITLES: Readonly<Record<ListName, string>> = {
  workers: "Workers",
  queues: "Queues",
  running: "Running",
  batches: "Batches",
  sets: "Sets",
  groups: "Groups",
  entries: "Jobs",
};

/** Returns the lines of the screen, from the top; at most as many as it has rows. */
export function frame(shown: Shown): Line[] {
  const head = headLines(shown);
  const foot = shown.live ? footLines(shown) : [];
  const room = shown.rows - head.length - foot.length;
  const body = room <= 0 ? [] : bodyLines(shown, room);
  const fill = shown.live ? Array.from({ length: Math.max(0, room - body.length) }, (): Line => []) : [];
  return [...head, ...body, ...fill, ...foot].slice(0, Math.max(0, shown.rows));
}

/** Returns the part of the screen for one list or text, without the head and the foot. */
export function roomIn({ columns, rows }: { readonly columns: number; readonly rows: number }): Room {
  return { columns, rows: Math.max(1, rows - headHeight(rows) - FOOT_HEIGHT - 1) };
}

/** Returns the number of lines that show all rows. */
export function heightOf(snapshot: Snapshot): number {
  const panes = panesOf(snapshot, "workers");
  return panes.reduce((sum, pane) => sum + 1 + Math.max(1, rowsOf(pane, snapshot).length), headHeight(Infinity));
}

const FOOT_HEIGHT = 2;

function headHeight(rows: number): number {
  return rows < MIN_ROWS_FOR_SPARKLINE ? 2 : 3;
}

function headLines({ snapshot, history, problem, rows, columns }: Shown): Line[] {
  if (snapshot === undefined) {
    const first: Line = [
      [`jobs ${VERSION}`, "title"],
      ["  "],
      problem ? [problem, "bad"] : ["Connecting to the store …", "dim"],
    ];
    return [first, ...Array.from({ length: headHeight(rows) - 1 }, (): Line => [])];
  }
  const { stats, workers, url } = snapshot;
  const { rates } = history;
  const paused = pausedQueues(stats.queues);
  const concurrency = workers.filter(({ alive }) => alive).reduce((sum, worker) => sum + worker.concurrency, 0);
  const rate = (value: number | undefined) => value === undefined ? "" : ` (${perSecond(value)}/s)`;
  const title: Line = [
    [`jobs ${VERSION}  `, "title"],
    ...(problem !== undefined ? [[problem, "bad"] as Span] : [[url, "dim"] as Span]),
    ...(problem === undefined && paused !== undefined ? [[`  paused: ${paused}`, "warn"] as Span] : []),
  ];
  const counts: Line = [
    ["processed "],
    [number(stats.processed), "title"],
    [`${rate(rates?.processed)}  failed `],
    [number(stats.failed), stats.failed > 0 ? "bad" : "title"],
    [`${rate(rates?.failed)}  queued `],
    [number(stats.enqueued), "title"],
    ["  running "],
    [`${number(stats.running)}/${number(concurrency)}`, "title"],
    ["  workers "],
    [number(stats.workers), stats.workers === 0 ? "bad" : "title"],
  ];
  if (headHeight(rows) === 2) return [title, counts];
  const highest = Math.max(0, ...history.throughput);
  const max = highest === 0 ? "" : ` max ${perSecond(highest)}`;
  const spark = sparkline(history.throughput, Math.min(60, Math.max(10, columns - 22)));
  return [title, counts, [["jobs/s "], [spark, "good"], [max, "dim"]]];
}

function perSecond(value: number): string {
  return value >= 100 ? number(Math.round(value)) : value.toFixed(1);
}

function bodyLines(shown: Shown, height: number): Line[] {
  const { state, snapshot, columns } = shown;
  if (state.text !== undefined) return textLines(state.text, columns, height);
  if (snapshot === undefined) return [];
  if (state.list !== undefined) return entryLines(shown, snapshot, height);
  const panes = panesOf(snapshot, state.pane).map((list) => ({ list, rows: rowsOf(list, snapshot, state.filter) }));
  const shares = sharePanes(
    panes.map(({ list, rows }) => ({ lines: 1 + Math.max(1, rows.length), active: list === state.pane })),
    height,
  );
  return panes.flatMap(({ list, rows }, i) => {
    const all = rowsOf(list, snapshot).length;
    if (list === "sets" && shares[i] === 1) return listLines(shown, snapshot, list, rows, setsTitle(snapshot), 1);
    const more = list === "running" && snapshot.hasMoreRunning ? "+" : "";
    const count = list === "sets" ? "" : rows.length === all ? ` ${all}${more}` : ` ${rows.length} of ${all}${more}`;
    return listLines(shown, snapshot, list, rows, `${TITLES[list]}${count}`, shares[i]!);
  });
}

/** Returns the sets in one line, for a screen without room for their rows. */
function setsTitle({ stats }: Snapshot): string {
  return `Sets: ${number(stats.scheduled)} scheduled, ${number(stats.retry)} retrying, ${number(stats.dead)} dead`;
}

function textLines({ title, lines, top }: NonNullable<State["text"]>, columns: number, height: number): Line[] {
  const all = lines === undefined ? ["Loading …"] : wrapAll(lines, columns);
  const room = height - 1;
  const from = Math.min(top, Math.max(0, all.length - room));
  const part = all.length <= room ? "" : `  ${from + 1}–${from + room} of ${all.length}`;
  return [
    [[title, "title"], [part, "dim"]],
    ...all.slice(from, from + room).map((line): Line => [[line]]),
  ].slice(0, height) as Line[];
}

function entryLines(shown: Shown, snapshot: Snapshot, height: number): Line[] {
  const open = shown.state.list!;
  const page = open.cursors.length === 0 ? "" : `, page ${open.cursors.length + 1}`;
  const title = `${placeTitle(open.place)}${page}`;
  if (!isSameList(snapshot.list, open)) return [[[`  ${title}`, "title"]], [["  Loading …", "dim"]]];
  const rows = rowsOf("entries", snapshot, shown.state.filter);
  const all = snapshot.list!.page.entries.length;
  const count = rows.length === all ? ` ${all}` : ` ${rows.length} of the ${all} on this page`;
  const more = snapshot.list!.page.next === undefined ? "" : ", n: more";
  const groups = groupLines(shown, snapshot, Math.floor(height / 2));
  const jobs = listLines(shown, snapshot, "entries", rows, `${title}:${count}${more}`, height - groups.length);
  return [...groups, ...jobs];
}

/** Returns the groups of the open queue, in at most `height` lines; none if it has no groups. */
function groupLines(shown: Shown, snapshot: Snapshot, height: number): Line[] {
  const all = rowsOf("groups", snapshot);
  if (all.length === 0 || height < 2) return [];
  const open = all.findIndex(({ item }) => item.is === "group" && item.isOpen);
  const more = snapshot.list!.hasMoreGroups ? "+" : "";
  const chosen = { ...shown.state.chosen, groups: { index: Math.max(0, open) } };
  const state = { ...shown.state, chosen };
  return listLines({ ...shown, state }, snapshot, "groups", all, `Groups ${all.length}${more}`, height);
}

function placeTitle(place: Place): string {
  if (place.in === "queue") {
    return `Jobs in queue ${place.queue}${place.group === undefined ? "" : `, group ${groupName(place.group)}`}`;
  }
  const state = stateOfPlace(place);
  return `${state[0]!.toUpperCase()}${state.slice(1)} jobs`;
}

const EMPTY_TEXTS: Readonly<Record<ListName, string>> = {
  workers: "No workers: jobs run starts one",
  queues: "No queues yet: jobs push CLASS creates one",
  running: "No running jobs",
  batches: "No unfinished batches or flows",
  sets: "",
  groups: "No groups",
  entries: "No jobs",
};

/** Returns a list: its title and headings in one line, and the part of its rows around the chosen one. */
function listLines(
  shown: Shown,
  snapshot: Snapshot,
  list: ListName,
  rows: readonly Row[],
  title: string,
  height: number,
): Line[] {
  if (height <= 0) return [];
  const active = list === "entries" || list === shown.state.pane;
  const marked = shown.live;
  const width = shown.columns - 2;
  const laid = layColumns(columnsOf(list), width);
  const context: CellContext = { history: shown.history, now: snapshot.at };
  const mark: Span = [marked && active ? "▸ " : "  ", "title"];
  // A list of jobs has the whole screen, and its title may be long. The title of a pane is above its first column.
  const head: Line[] = list === "entries"
    ? [[mark, [title, "title"]], [["  "], [headings(laid, 0), "dim"]]]
    : [[mark, [title, "title"], [headings(laid, textWidth(title) + 1), "dim"]]];
  const room = height - head.length;
  if (rows.length === 0 && room > 0) {
    const none = shown.state.filter === "" ? EMPTY_TEXTS[list] : `No row contains "${shown.state.filter}"`;
    return [...head, [[`  ${none}`, "dim"]]];
  }
  const chosen = indexOf(rows, shown.state.chosen[list]);
  const from = Math.max(0, Math.min(chosen - Math.floor(room / 2), rows.length - room));
  return [
    ...head,
    ...rows.slice(from, from + Math.max(0, room)).map((row, i): Line => {
      const cells = laid.map(({ column, width }): Span => {
        const [text, style] = column.cell(row.item, context);
        return [fitTo(text, width, column.right), style];
      });
      const isChosen = marked && active && from + i === chosen;
      if (isChosen) return [[fitTo(`› ${cells.map(([text]) => text).join(" ")}`, shown.columns), "chosen"]];
      return [["  "], ...cells.flatMap((cell, i): Span[] => i === 0 ? [cell] : [[" "], cell])];
    }),
  ].slice(0, height);
}

/** Returns the headings above their columns. Those that begin left of the terminal's column `from` are left out. */
function headings(laid: readonly LaidColumn<Item>[], from: number): string {
  let line = "";
  for (const { column: { heading, right }, width } of laid) {
    const begins = line.length + (right ? width - heading.length : 0);
    line += fitTo(begins < from ? "" : heading, width, right) + " ".repeat(GAP);
  }
  return line.slice(Math.max(0, from - 1)).trimEnd();
}

function footLines({ state, rows }: Shown): Line[] {
  const status: Line = state.question !== undefined
    ? [[`${state.question.text} y/n`, "warn"]]
    : state.typing
    ? [["/", "title"], [`${state.filter}█`]]
    : state.status !== undefined
    ? [[state.status.text, state.status.isError ? "bad" : "good"]]
    : state.filter !== ""
    ? [["filter: ", "dim"], [state.filter], ["  Esc clears it", "dim"]]
    : [];
  return rows < 8 ? [status] : [status, [[keysOf(state), "dim"]]];
}

/** Returns the keys that apply to the chosen row. */
function keysOf(state: State): string {
  if (state.typing) return "Enter keeps the filter  Esc clears it";
  if (state.text !== undefined) {
    const { jid, ref, workerId, dump } = state.text.of ?? {};
    const job = [jid && "  c cancel", ref && "  r retry  x delete  K kill"].filter(Boolean).join("");
    return `q back  j k scroll${job}${workerId ? dump ? "  d dump again" : "  d dump" : ""}`;
  }
  if (state.list !== undefined) {
    const groups = state.list.place.in === "queue" ? "  Tab group" : "";
    return `q back  Enter show  r retry  c cancel  x delete  K kill${groups}  / filter  ? help`;
  }
  const ofPane = {
    workers: "Enter show  d dump  Q quiet  S stop",
    queues: "Enter jobs  p pause/resume",
    running: "Enter show  c cancel",
    batches: "Enter show",
    sets: "Enter jobs",
  }[state.pane];
  return `q quit  ${ofPane}  Tab pane  / filter  ? help`;
}
