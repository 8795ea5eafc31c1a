/**
 * Groups failed jobs by class and error, so that an operator sees five problems instead of five thousand jobs.
 *
 * @module
 */
import { parsePayload } from "../../job/job.ts";
import { getField, readWireTime } from "../../job/raw.ts";
import type { Entry } from "../../store/port/entries.ts";
import { factsOf, type Mask } from "./filter.ts";

/** Failed jobs with the same class and error. */
export interface ErrorGroup {
  readonly class: string;
  /** `ErrorClass: message`, its variable parts replaced by `*`. Usable as the error of a filter. */
  readonly error: string;
  readonly dead: number;
  readonly retrying: number;
  /** Epoch milliseconds of the first failure of any of its jobs; undefined if unknown. */
  readonly firstAt: number | undefined;
  /** Epoch milliseconds of the latest failure; undefined if unknown. */
  readonly lastAt: number | undefined;
  /** The known times of the latest failure of each job, if they were asked for. */
  readonly times: readonly number[];
  /** The job that failed last. */
  readonly jid: string;
}

/** Options of {@linkcode ErrorGroups}. */
export interface Grouping {
  /** Hides secrets. Errors are grouped after it, so that the groups reveal none. */
  readonly mask?: Mask;
  /** Collects the times of all failures. */
  readonly times?: boolean;
}

/** Groups beyond this number are counted together: memory stays bounded even if every message is different. */
const MAX_GROUPS = 10_000;
const MAX_ERROR_CHARS = 200;

type Collected = { -readonly [Field in Exclude<keyof ErrorGroup, "times">]: ErrorGroup[Field] } & {
  readonly times: number[];
};

/** Collects groups, entry by entry. */
export class ErrorGroups {
  readonly #grouping: Grouping;
  readonly #groups = new Map<string, Collected>();
  /** Jobs that belong to no group because there are too many groups. */
  ungrouped = 0;

  constructor(grouping: Grouping = {}) {
    this.#grouping = grouping;
  }

  /** Adds an entry of `retry` or `dead`. Jobs that never failed, such as those killed by hand, have an empty error. */
  add(entry: Entry): void {
    const facts = factsOf(entry, this.#grouping.mask);
    const error = errorPattern(facts.error);
    const key = `${facts.class}\n${error}`;
    let group = this.#groups.get(key);
    if (group === undefined) {
      if (this.#groups.size >= MAX_GROUPS) {
        this.ungrouped++;
        return;
      }
      const none = { dead: 0, retrying: 0, firstAt: undefined, lastAt: undefined, jid: "", times: [] };
      group = { class: facts.class, error, ...none };
      this.#groups.set(key, group);
    }
    group[entry.place.in === "dead" ? "dead" : "retrying"]++;
    const at = facts.since;
    if (at !== undefined && this.#grouping.times) group.times.push(at);
    const first = readWireTime(getField(entry.payload, "failed_at")) ?? at;
    if (first !== undefined && (group.firstAt === undefined || first < group.firstAt)) group.firstAt = first;
    if (group.jid === "" || at !== undefined && (group.lastAt === undefined || at >= group.lastAt)) {
      group.jid = parsePayload(entry.payload)?.jid ?? "";
      if (at !== undefined) group.lastAt = at;
    }
  }

  /** Returns the groups, the largest first. */
  list(): ErrorGroup[] {
    return [...this.#groups.values()].sort((a, b) => sizeOf(b) - sizeOf(a) || (b.lastAt ?? 0) - (a.lastAt ?? 0));
  }
}

/** Returns the number of jobs of a group. */
function sizeOf({ dead, retrying }: ErrorGroup): number {
  return dead + retrying;
}

/** Returns the first line of an error with its numbers, ids, quoted texts and masked secrets replaced by `*`. */
export function errorPattern(error: string): string {
  const line = error.split("\n", 1)[0]!;
  const pattern = line.slice(0, MAX_ERROR_CHARS)
    .replace(/•+/g, "*")
    .replace(/"[^"]*"|'[^']*'|`[^`]*`/g, "*")
    .replace(/\b(?:0x)?(?=[0-9a-f-]*\d)[0-9a-f]{8,}(?:-[0-9a-f]{4,})*\b/gi, "*")
    .replace(/\d+(?:[.,:]\d+)*/g, "*")
    .replace(/\*(?:[\s*]*\*)+/g, "*");
  return line.length > MAX_ERROR_CHARS ? `${pattern}*` : pattern;
}
