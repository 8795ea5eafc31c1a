/**
 * Filters of a list. They combine, and they are part of the page's address.
 *
 * They match only what is shown: a search must not reveal what the mask hides.
 *
 * @module
 */
import { boundOf, parseDuration } from "../../job/duration.ts";
import type { Entry } from "../../store/admin/admin.ts";
import { HttpError } from "../http/body.ts";
import type { Mask } from "../../text/mask.ts";
import { type JobView, viewEntry } from "./job_view.ts";

/** One filter, as pages and the API describe it. */
interface FilterText {
  readonly label: string;
  readonly chip: string;
  readonly example?: string;
  /** The API's description. */
  readonly about: string;
}

/** The names of the filters in addresses. */
type FilterName = "q" | "class" | "queue" | "error" | "tag" | "older" | "newer";

/** The filters, by their names in addresses. */
export const FILTERS: Readonly<Record<FilterName, FilterText>> = {
  q: { label: "Search…", chip: "text", about: "text anywhere in the job" },
  class: {
    label: "Class",
    chip: "class",
    example: "ImportFile, or Import*",
    about: "the class, exactly; * stands for any text",
  },
  queue: { label: "Queue", chip: "queue", example: "default", about: "the queue, exactly" },
  error: {
    label: "Error",
    chip: "error",
    example: "timeout, or No account *",
    about: "text in the last error, ignoring case; * stands for any text",
  },
  tag: { label: "Tag", chip: "tag", example: "nightly", about: "a tag, exactly" },
  older: {
    label: "Older than",
    chip: "older than",
    example: "2h, 1d",
    about: "at least this long since it last failed, else since it was enqueued or created: 30s, 10m, 2h, 1d",
  },
  newer: {
    label: "Newer than",
    chip: "newer than",
    example: "10m",
    about: "at most this long since it last failed, else since it was enqueued or created: 30s, 10m, 2h, 1d",
  },
};

/** The values of the filters that are set; a job passes when it passes all of them. */
export type Filter = { readonly [Name in FilterName]?: string };

const MAX_VALUE_CHARS = 500;
const NAMES = Object.keys(FILTERS) as (keyof Filter)[];

/**
 * Reads the filters in a URL or a form.
 *
 * @throws {HttpError} if a filter is invalid
 */
export function parseFilter(params: URLSearchParams): Filter {
  const filter = filterTexts(params);
  for (const name of ["older", "newer"] as const) ageMs(filter, name);
  return filter;
}

/** Returns the filters in a URL; with an invalid one, the texts that were typed, and its error by field. */
export function readFilter(
  params: URLSearchParams,
): { readonly filter: Filter; readonly errors?: Readonly<Record<string, string>> } {
  try {
    return { filter: parseFilter(params) };
  } catch (error) {
    if (!(error instanceof HttpError) || error.field === undefined) throw error;
    return { filter: filterTexts(params), errors: { [error.field]: error.message } };
  }
}

/** Returns the texts of the filters in a URL or a form, valid or not. */
function filterTexts(params: URLSearchParams): Filter {
  return Object.fromEntries(
    NAMES.map((name) => [name, (params.get(name) ?? "").trim().slice(0, MAX_VALUE_CHARS)])
      .filter(([, value]) => value !== ""),
  );
}

/**
 * Returns the milliseconds of an age; undefined if it is not set.
 *
 * @throws {HttpError} if it is invalid
 */
export function ageMs(
  filter: { readonly older?: string | undefined; readonly newer?: string | undefined },
  name: "older" | "newer",
): number | undefined {
  const text = filter[name];
  if (text === undefined) return undefined;
  try {
    return parseDuration(text);
  } catch {
    throw new HttpError(
      422,
      `Invalid filter "${name}": "${text.slice(0, 40)}"; expected a duration such as 10m or 2h${boundOf(text)}`,
      name,
    );
  }
}

/** Returns whether no filter is set. */
export function isEmpty(filter: Filter): boolean {
  return Object.keys(filter).length === 0;
}

/** Describes the filters in words, such as `class "ImportFile" and older than "2h"`. */
export function describeFilter(filter: Filter): string {
  return NAMES.filter((name) => filter[name] !== undefined).map((name) => `${FILTERS[name].chip} "${filter[name]}"`)
    .join(" and ");
}

/** Returns a test for entries at the time `now`. It parses a payload only if its text may match. */
export function matcher(filter: Filter, mask: Mask, now: number): (entry: Entry) => boolean {
  const { class: name, queue, tag } = filter;
  const text = filter.q?.toLowerCase();
  const error = filter.error?.toLowerCase();
  const older = ageMs(filter, "older");
  const newer = ageMs(filter, "newer");
  // JSON doesn't escape these characters, so a payload without the text can't match. Other letters have two forms in JSON.
  const hints = [text, name?.toLowerCase(), error, tag?.toLowerCase()].map((hint) => hint ?? "")
    .filter((hint) => /^[\x20-\x7e]+$/.test(hint))
    .flatMap((hint) => hint.split(/[\\"/: *]+/));
  return (entry) => {
    const raw = entry.payload.toLowerCase();
    if (!raw.includes("\\u") && !hints.every((hint) => raw.includes(hint))) return false;
    const job = viewEntry(entry, mask);
    return (name === undefined || matchesPattern(job.class, name)) &&
      (error === undefined || matchesError(job.error.toLowerCase(), error)) &&
      (queue === undefined || job.queue === queue) &&
      (tag === undefined || job.tags.includes(tag)) &&
      (text === undefined || searchText(job).toLowerCase().includes(text)) &&
      matchesAge(job, now, { older, newer });
  };
}

/** Returns whether an error's text contains a pattern. Both are in lower case. */
export function matchesError(shown: string, error: string): boolean {
  return matchesPattern(shown, `*${error}*`);
}

function matchesAge(
  job: JobView,
  now: number,
  { older, newer }: { readonly older: number | undefined; readonly newer: number | undefined },
): boolean {
  if (older === undefined && newer === undefined) return true;
  const since = job.failedAt ?? job.enqueuedAt ?? job.createdAt;
  if (since === undefined) return false;
  const age = now - since;
  return (older === undefined || age >= older) && (newer === undefined || age <= newer);
}

/** Returns whether a text matches a pattern in which `*` stands for any text. Takes linear time: patterns may be hostile. */
export function matchesPattern(text: string, pattern: string): boolean {
  const [first, ...rest] = pattern.split("*");
  if (rest.length === 0) return text === pattern;
  const last = rest.pop()!;
  if (!text.startsWith(first!) || text.length < first!.length + last.length || !text.endsWith(last)) return false;
  let at = first!.length;
  for (const part of rest) {
    const found = text.indexOf(part, at);
    if (found < 0) return false;
    at = found + part.length;
  }
  return at <= text.length - last.length;
}

/** Returns all shown text of a job. */
function searchText({ jid, class: name, queue, args, payload }: JobView): string {
  if (payload === undefined) return args;
  let all: string;
  try {
    const { error_backtrace: _packed, ...rest } = payload;
    all = JSON.stringify(rest, (_key, value) => typeof value === "bigint" ? String(value) : value);
  } catch {
    all = args;
  }
  return [jid, name, queue, args, payload.error_class, payload.error_message, all].join("\n");
}
