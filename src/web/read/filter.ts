/**
 * Which jobs of a list: filters that combine, and that stand in the page's address.
 *
 * Only what is shown is matched: a search must not find out what the mask hides.
 *
 * @module
 */
import type { Entry } from "../../store/admin/admin.ts";
import type { Mask } from "./mask.ts";
import { viewEntry } from "./job_view.ts";

/** The filters, by their names in addresses. */
export const FILTERS = {
  q: "Text anywhere in it",
  class: "Class",
  queue: "Queue",
  error: "Error",
  tag: "Tag",
} as const;

/** What is asked for; all of it must hold. */
export type Filter = { readonly [Name in keyof typeof FILTERS]?: string };

const LONGEST = 500;

/** The filter in an address or a form. */
export function parseFilter(params: URLSearchParams): Filter {
  const names = Object.keys(FILTERS) as (keyof Filter)[];
  return Object.fromEntries(
    names.map((name) => [name, (params.get(name) ?? "").trim().slice(0, LONGEST)]).filter(([, value]) => value !== ""),
  );
}

/** Whether it lets everything pass. */
export function isEmpty(filter: Filter): boolean {
  return Object.keys(filter).length === 0;
}

/** What the filter asks for, in words. */
export function describeFilter(filter: Filter): string {
  return Object.entries(filter).map(([name, value]) => `${name === "q" ? "text" : name} "${value}"`).join(" and ");
}

/** A test for entries. A payload is parsed only when its text leaves it possible. */
export function matcher(filter: Filter, mask: Mask): (entry: Entry) => boolean {
  const wanted = Object.fromEntries(
    Object.entries(filter).map(([name, value]) => [name, value.toLowerCase()]),
  ) as Filter;
  // A text of the payload stands there as JSON writes it; one whose letters may be written in two ways is no hint.
  const hints = (["q", "class", "error", "tag"] as const).map((name) => wanted[name] ?? "")
    .filter((text) => /^[\x20-\x7e]+$/.test(text))
    .flatMap((text) => text.split(/[\\"/: ]+/));
  const has = (text: string, part: string | undefined) => part === undefined || text.toLowerCase().includes(part);
  return (entry) => {
    const raw = entry.payload.toLowerCase();
    if (!raw.includes("\\u") && !hints.every((hint) => raw.includes(hint))) return false;
    const job = viewEntry(entry, mask);
    return has(job.class, wanted.class) && has(job.error, wanted.error) &&
      (wanted.queue === undefined || job.queue.toLowerCase() === wanted.queue) &&
      (wanted.tag === undefined || job.tags.some((tag) => tag.toLowerCase() === wanted.tag)) &&
      (wanted.q === undefined || has(searchText(job), wanted.q));
  };
}

/** Everything of a job that is shown. */
function searchText({ jid, class: name, queue, args, payload }: ReturnType<typeof viewEntry>): string {
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
