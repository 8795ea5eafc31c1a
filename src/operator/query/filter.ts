/**
 * Filters of jobs, shared by the command line, the dashboard and the HTTP API.
 *
 * Criteria combine with "and". Class, queue, group, batch and tag are exact and case-sensitive, so that a bulk action on the class
 * `Import` leaves `ImportRow` alone; a `*` in them stands for any characters. Error and text match anywhere, ignoring case: the
 * error as a whole, of the text each of its words.
 *
 * @module
 */
import { type Job, parsePayload, type Payload } from "../../job/job.ts";
import { stringifyLossless } from "../../job/json.ts";
import { readWireTime } from "../../job/raw.ts";
import type { Entry } from "../../store/port/entries.ts";
import type { EndedJob } from "../../job/result.ts";
import type { CriterionName } from "./criteria.ts";

/** The criteria that match a field of the job as a whole; `*` stands for any characters. */
const EXACT = ["state", "class", "queue", "group", "batch"] as const;

/** The criteria of a filter, as `CRITERIA` describes them. An absent criterion matches every job. */
export interface JobFilter extends Readonly<Partial<Record<Exclude<CriterionName, "older" | "newer">, string>>> {
  /** Epoch milliseconds: the job entered its state before this time. */
  readonly before?: number;
  /** Epoch milliseconds: the job entered its state at this time or later. */
  readonly after?: number;
}

/** Hides secrets. */
export interface Mask {
  /** In a payload. */
  payload(payload: Payload): Payload;
  /** In a value. */
  value(value: unknown): unknown;
  /** In a text. */
  text(text: string): string;
  /** In the text of a payload that isn't parsed. */
  json(text: string): string;
}

/** Larger payloads are not parsed where others wait: parsing 2 MiB of brackets takes 200 ms. */
export const MAX_PARSED_CHARS = 2 * 1024 * 1024;

/** The fields of a job that a filter reads. */
export interface JobFacts {
  /** How a finished job ended. */
  readonly state?: string;
  /** As shown: `display_class`, else the wrapped class, else the class. */
  readonly class: string;
  readonly queue: string;
  /** Empty if the job has none. */
  readonly group: string;
  /** The ID of its batch or flow; empty if it has none. */
  readonly batch: string;
  /** `ErrorClass: message`; empty if the job hasn't failed. */
  readonly error: string;
  readonly tags: readonly string[];
  /** Everything that a text search may find. Called only if needed. */
  readonly text: () => string;
  /** Epoch milliseconds: when the job entered its state; undefined if unknown, which no time criterion matches. */
  readonly since: number | undefined;
}

/** Returns whether a filter matches every job. */
export function isEmptyFilter(filter: JobFilter): boolean {
  return Object.values(filter).every((value) => value === undefined);
}

/** Compiles a filter into a test for jobs. */
export function compileFilter(filter: JobFilter): (job: JobFacts) => boolean {
  const exact = EXACT.flatMap((name) => {
    const pattern = filter[name];
    return pattern === undefined ? [] : [{ name, fits: compileGlob(pattern) }];
  });
  const isTag = filter.tag === undefined ? undefined : compileGlob(filter.tag);
  const hasError = filter.error === undefined ? undefined : compileGlob(`*${filter.error.toLowerCase()}*`);
  const words = wordsOf(filter.q?.toLowerCase() ?? "").map((word) => [word, JSON.stringify(word).slice(1, -1)]);
  const hasWords = (whole: string) => words.every((forms) => forms.some((form) => whole.includes(form)));
  const { before, after } = filter;
  return (job) =>
    exact.every(({ name, fits }) => fits(job[name] ?? "")) &&
    (hasError === undefined || hasError(job.error.toLowerCase())) &&
    (isTag === undefined || job.tags.some(isTag)) &&
    (before === undefined || job.since !== undefined && job.since < before) &&
    (after === undefined || job.since !== undefined && job.since >= after) &&
    (words.length === 0 || hasWords(job.text().toLowerCase()));
}

/** Returns the words of a search, all of which must match. Quotes keep a phrase together: `bob "no such account"`. */
export function wordsOf(text: string): string[] {
  const words = [...text.matchAll(/"([^"]+)"|\S+/g)].map(([word, phrase]) => phrase ?? word);
  // Nothing but spaces, which a text may contain.
  return words.length === 0 && text !== "" ? [text] : words;
}

/** Returns whether every writer of JSON writes a text as it is: then it can be searched in payloads that aren't parsed. */
export function isPlainText(text: string): boolean {
  return /^[\x20-\x7e]*$/.test(text) && !/[\\"/:,{}[\]]/.test(text);
}

/**
 * Compiles a cheap test of payload texts: false means that {@linkcode compileFilter} cannot match, so that the payload needs
 * no parsing. True decides nothing.
 */
export function compileHint(filter: JobFilter): (raw: string) => boolean {
  const exact = [filter.class, filter.group, filter.batch, filter.tag].flatMap((pattern) =>
    hintsOf(pattern, /[*\\"/]+/)
  );
  // The error joins two fields; a text may contain the syntax between fields, which others space differently.
  const folded = [
    ...hintsOf(filter.error?.toLowerCase(), /[*\\"/:\s]+/),
    ...wordsOf(filter.q?.toLowerCase() ?? "").flatMap((word) => hintsOf(word, /[\\"/:,{}[\]\s]+/)),
  ];
  if (exact.length + folded.length === 0) return () => true;
  return (raw) => {
    // An escaped character may be written in several ways.
    if (raw.includes("\\u")) return true;
    if (!exact.every((hint) => raw.includes(hint))) return false;
    if (folded.length === 0) return true;
    const lower = raw.toLowerCase();
    return folded.every((hint) => lower.includes(hint));
  };
}

/**
 * Compiles a filter into a test for entries of the store.
 *
 * @param mask hides secrets, so that the filter can't reveal them
 */
export function compileEntryFilter(filter: JobFilter, mask?: Mask): (entry: Entry) => boolean {
  const mayMatch = compileHint(filter);
  const matches = compileFilter(filter);
  return (entry) => mayMatch(entry.payload) && matches(factsOf(entry, mask));
}

/**
 * Returns the facts of an entry. Those of an unreadable payload are empty, except for its queue, text and time.
 *
 * @param mask hides secrets, so that a filter can't reveal them
 */
export function factsOf(entry: Entry, mask?: Mask): JobFacts {
  const { place, payload: raw } = entry;
  const job = mask !== undefined && raw.length > MAX_PARSED_CHARS ? undefined : parsePayload(raw);
  const named = place.in === "queue" ? place.queue : undefined;
  if (job === undefined) {
    const since = place.in === "dead" || place.in === "running" ? entry.at : undefined;
    return {
      class: "",
      queue: named ?? "",
      group: "",
      batch: "",
      error: "",
      tags: [],
      text: () => mask?.json(raw) ?? raw,
      since,
    };
  }
  const shown = mask === undefined ? job : { ...job, class: mask.text(job.class), payload: mask.payload(job.payload) };
  const facts = payloadFacts(shown, () => mask?.json(raw) ?? raw);
  return { ...facts, queue: named ?? facts.queue, since: sinceOf(entry, job.payload) };
}

/** Returns the facts that a payload has. */
export function payloadFacts(
  { class: name, payload }: Pick<Job, "class" | "payload">,
  raw: () => string,
): Omit<JobFacts, "since"> {
  return {
    class: textOf(payload.display_class) || name,
    queue: textOf(payload.queue) || "default",
    group: textOf(payload["group"]),
    batch: textOf(payload["batch"]),
    error: errorOf(payload),
    tags: (Array.isArray(payload.tags) ? payload.tags : []).filter((tag) => typeof tag === "string"),
    text: () => searchableText(name, payload, raw),
  };
}

/**
 * Returns the facts of a finished job.
 *
 * @param record its record as it is shown
 */
export function finishedFacts(job: EndedJob, record: () => string): JobFacts {
  const tags = job.payload?.["tags"];
  const error = job.error === undefined ? "" : `${job.error.class}: ${job.error.message}`;
  return {
    state: job.state,
    class: String(job.class),
    queue: String(job.queue),
    group: String(job.payload?.["group"] ?? ""),
    batch: String(job.payload?.["batch"] ?? ""),
    error,
    tags: Array.isArray(tags) ? tags.filter((tag) => typeof tag === "string") : [],
    text: () => `${record()}\n${error}`,
    since: job.endedAt,
  };
}

/** Returns `ErrorClass: message`; empty for a job that hasn't failed. */
export function errorOf({ error_class: name, error_message: message }: Payload): string {
  return name === undefined ? "" : `${textOf(name)}: ${textOf(message)}`;
}

/**
 * Returns when a job entered its state, in epoch milliseconds: queued, enqueued; scheduled, created; retrying, last failed;
 * dead, died; running, started.
 */
function sinceOf({ place, at }: Entry, payload: Payload): number | undefined {
  switch (place.in) {
    case "dead":
    case "running":
      return at;
    case "retry":
      return readWireTime(payload.retried_at ?? payload.failed_at);
    case "queue":
      return readWireTime(payload.enqueued_at ?? payload.created_at);
    case "scheduled":
      return readWireTime(payload.created_at);
  }
}

/**
 * Compiles a pattern in which each `*` stands for any characters, and all else for itself. Linear in the text's length: the
 * pattern may come from a web page.
 */
export function compileGlob(pattern: string): (text: string) => boolean {
  const parts = pattern.split("*");
  if (parts.length === 1) return (text) => text === pattern;
  const [first, last] = [parts[0]!, parts.at(-1)!];
  const middle = parts.slice(1, -1).filter((part) => part !== "");
  return (text) => {
    if (text.length < first.length + last.length || !text.startsWith(first) || !text.endsWith(last)) return false;
    const end = text.length - last.length;
    let from = first.length;
    for (const part of middle) {
      const found = text.indexOf(part, from);
      if (found < 0 || found + part.length > end) return false;
      from = found + part.length;
    }
    return true;
  };
}

/** Returns the parts of a criterion that stand in JSON as they are, between separators. */
function hintsOf(text: string | undefined, separators: RegExp): string[] {
  return text?.split(separators).filter((part) => /^[\x20-\x7e]+$/.test(part)) ?? [];
}

/** Returns the payload, and the parts that JSON escapes as they are. */
function searchableText(name: string, payload: Payload, raw: () => string): string {
  try {
    const { error_backtrace: _stack, error_output: _output, ...rest } = payload;
    return `${name}\n${errorOf(payload)}\n${stringifyLossless(rest) ?? ""}`;
  } catch {
    // Nested too deeply to be written again.
    return raw();
  }
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}
