/**
 * Reads the rows of a list that match, page by page: jobs of a place, records of finished jobs, entries of the audit log. A list
 * may have millions of rows, so it is read in windows of bounded number, and on request for a bounded time.
 *
 * @module
 */
import type { Clock } from "../../clock.ts";

/** A part of a list. */
interface Part<Row> {
  readonly rows: readonly Row[];
  /** The cursor after it; absent at the end of the list. */
  readonly next?: string | undefined;
}

/** A list. */
export interface Source<Row> {
  /** Reads up to `limit` rows after a cursor; fewer if they are large. */
  read(page: { readonly limit: number; readonly cursor?: string }): Promise<Part<Row>>;
  /** Returns the characters of a row, which bound a page. Absent: rows are small. */
  readonly weigh?: (row: Row) => number;
  /** Returns for each row whether it matches. Absent: all do. */
  readonly match?: ((rows: readonly Row[]) => Promise<readonly boolean[]>) | undefined;
}

/** The part of a list to read. */
export interface Span {
  readonly cursor?: string | undefined;
  /** Stop after reading this many rows: those that arrive meanwhile are left out. Default: none. */
  readonly most?: number;
  /** Stop after the window in which this time of the monotonic clock has come. Default: none. */
  readonly until?: number | undefined;
  /** Stop after the window in which it aborts. */
  readonly signal?: AbortSignal | undefined;
}

/** A window of a list. */
export interface Window<Row> extends Part<Row> {
  /** How many rows were read; `rows` has those that match. */
  readonly looked: number;
}

/** A page of a list. */
export interface Page<Row> extends Window<Row> {}

/** Rows read at once. */
const WINDOW = 500;
/** Characters of a page, approximately, apart from one read: a thousand payloads may be a gigabyte. */
const MAX_CHARS = 4 * 1024 * 1024;

/** Yields the matching rows, window by window. A window's rows may leave the list before the next one is read. */
export async function* windows<Row>(
  source: Source<Row>,
  { cursor: from, most = Infinity }: Span = {},
): AsyncGenerator<Window<Row>> {
  let cursor = from;
  for (let left = most; left > 0;) {
    const { rows, next } = await read(source, Math.min(WINDOW, left), cursor);
    const fits = await source.match?.(rows);
    yield { rows: fits === undefined ? rows : rows.filter((_, i) => fits[i]), looked: rows.length, next };
    if (next === undefined) return;
    left -= rows.length;
    cursor = next;
  }
}

/** Reads up to `limit` matching rows, however far apart they are; fewer if they are large. */
export async function page<Row>(
  source: Source<Row>,
  clock: Pick<Clock, "monotonic" | "turn">,
  { cursor: from, limit, until = Infinity, signal }: Omit<Span, "most"> & { readonly limit: number },
): Promise<Page<Row>> {
  const found: Row[] = [];
  let looked = 0;
  let chars = 0;
  for (let cursor = from;;) {
    const missing = limit - found.length;
    // With few matches, a window of the missing number would need many reads.
    const { rows, next } = await read(
      source,
      Math.min(WINDOW, source.match === undefined || looked === 0 ? missing : WINDOW),
      cursor,
    );
    const fits = await source.match?.(rows);
    const last = fits === undefined ? rows.length : indexAfter(fits, missing);
    const some = rows.slice(0, last).filter((_, i) => fits?.[i] ?? true);
    found.push(...some);
    looked += rows.length;
    chars += sum(some, source.weigh);
    // The cursor after the window would skip its other matches.
    if (last < rows.length) return { rows: found, looked, next: (await read(source, last, cursor)).next };
    const isFull = found.length >= limit || chars >= MAX_CHARS;
    if (next === undefined || isFull || signal?.aborted || clock.monotonic() >= until) {
      return { rows: found, looked, next };
    }
    cursor = next;
    await clock.turn();
  }
}

/** Counts the matching rows. `whole` is false if there was no time to read all. */
export async function count<Row>(
  source: Source<Row>,
  clock: Pick<Clock, "monotonic" | "turn">,
  until: number,
): Promise<{ readonly count: number; readonly whole: boolean }> {
  let count = 0;
  for await (const { rows, next } of windows(source)) {
    count += rows.length;
    if (next !== undefined && clock.monotonic() >= until) return { count, whole: false };
    await clock.turn();
  }
  return { count, whole: true };
}

function sum<Row>(rows: readonly Row[], weigh: (row: Row) => number = () => 0): number {
  return rows.reduce((sum, row) => sum + weigh(row), 0);
}

function read<Row>(source: Source<Row>, limit: number, cursor: string | undefined): Promise<Part<Row>> {
  return source.read({ limit, ...(cursor !== undefined && { cursor }) });
}

/** Returns the number of leading rows that end with the match number `most`, or all. More matches must follow for fewer. */
function indexAfter(fits: readonly boolean[], most: number): number {
  let matches = 0;
  let end = fits.length;
  for (const [i, fit] of fits.entries()) {
    if (!fit) continue;
    if (++matches > most) return end;
    if (matches === most) end = i + 1;
  }
  return fits.length;
}
