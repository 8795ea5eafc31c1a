/**
 * One page of a list that is read whole: queues, workers, running jobs. Bounds the page's bytes, not the reading.
 *
 * @module
 */
import type { Context } from "hono";
import type { WebEnv } from "../services.ts";
import { pageOf } from "./paging.ts";

/** Rows of a page. */
export const MAX_ROWS = 100;
const MAX_TEXT_CHARS = 200;

/** One page of rows. */
export interface Rows<Row> {
  readonly rows: readonly Row[];
  /** How many rows match. */
  readonly total: number;
  /** How many of them are on earlier pages. */
  readonly before: number;
  /** The text that the names contain; empty for all rows. */
  readonly text: string;
  /** Whether there are more rows than a page has, with any name. */
  readonly isLong: boolean;
}

/** Returns a short list as one page. */
export function onePage<Row>(rows: readonly Row[]): Rows<Row> {
  return { rows, total: rows.length, before: 0, text: "", isLong: false };
}

/** Returns the page that a request names: `?name=mail&page=2`. A page after the last one is the last one. */
export function rowsOf<Row>(c: Context<WebEnv>, all: readonly Row[], nameOf: (row: Row) => string): Rows<Row> {
  const text = (c.req.query("name") ?? "").trim().slice(0, MAX_TEXT_CHARS);
  const wanted = text.toLowerCase();
  const matching = wanted === "" ? all : all.filter((row) => nameOf(row).toLowerCase().includes(wanted));
  const last = Math.max(1, Math.ceil(matching.length / MAX_ROWS));
  const page = Math.min(last, Math.max(1, Math.floor(Number(c.req.query("page")) || 1)));
  const before = (page - 1) * MAX_ROWS;
  const rows = matching.slice(before, before + MAX_ROWS);
  return { rows, total: matching.length, before, text, isLong: all.length > MAX_ROWS };
}

/** The items of a response of the API, and the cursor of the next one. */
export interface ApiPage<Item> {
  readonly items: readonly Item[];
  readonly next: string | undefined;
}

const DEFAULT_API_LIMIT = 1_000;

/**
 * Returns the page of a list that a request of the API names: `?limit=100&cursor=NAME`. The cursor is the last name of the
 * page before, so that items which come and go move no others.
 */
export function apiPage<Item>(
  c: Context<WebEnv>,
  all: readonly Item[],
  nameOf: (item: Item) => string,
): ApiPage<Item> {
  const { limit, cursor } = pageOf(c, DEFAULT_API_LIMIT);
  const sorted = all
    .map((item) => ({ item, name: nameOf(item) }))
    .filter(({ name }) => cursor === undefined || name > cursor)
    .sort((a, b) => a.name < b.name ? -1 : 1);
  const page = sorted.slice(0, limit);
  return { items: page.map(({ item }) => item), next: sorted.length > limit ? page.at(-1)!.name : undefined };
}
