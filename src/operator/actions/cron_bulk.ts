/**
 * Actions on many cron entries: add a list, and pause, resume or remove those with a prefix or a tag.
 *
 * @module
 */
import type { CronEntryInput } from "../../cron/entry.ts";
import { CrontabError } from "../../cron/crontab.ts";
import { type CronFilterWords as Filter, filterText } from "../../cron/describe.ts";
import { InvalidInput, list, object, optional } from "../shapes/shape.ts";
import { any, boolean, integer, text } from "../shapes/values.ts";
import { action, type AnyAction, type ClientTools, Refused } from "./action.ts";
import { replacesRuns } from "./cron.ts";
import { ruled } from "./inputs.ts";

/** Maximum number of entries of one request. */
const MAX_ENTRIES = 1_000;

const COUNT = object("", { count: integer("how many entries were changed; equal ones aren't") });

const FILTER = {
  prefix: optional(text("the beginning of the names; this or `tag`, or both")),
  tag: optional(text("a tag of the entries")),
};

function requireFilter({ prefix, tag }: Filter): void {
  if (!prefix && !tag) throw new InvalidInput('Missing "prefix" or "tag": expected one of them');
}

/** Returns the event of a change; none if nothing has changed. */
function deedOf(name: string, target: string, out?: { readonly count: number }) {
  return out?.count === 0 ? undefined : { action: name, target, ...(out && { count: out.count }) };
}

function changing(verb: "pause" | "resume", about: string) {
  return action({
    name: `cron ${verb}`,
    about,
    path: `/cron-bulk/${verb}`,
    takes: ruled(object("", FILTER), requireFilter),
    gives: COUNT,
    deed: (given, out) => deedOf(`cron ${verb}`, filterText(given), out),
    run: async ({ crontab }: ClientTools, given) => ({ count: await crontab[`${verb}Many`](given) }),
  });
}

/** Pauses entries. */
export const pauseCrons = changing("pause", "Pauses the entries with a prefix or a tag");
/** Resumes entries. */
export const resumeCrons = changing("resume", "Resumes the paused entries with a prefix or a tag");

/** Removes entries. */
export const removeCrons = action({
  name: "cron remove",
  about: "Removes the entries with a prefix or a tag that were added at run time; their jobs stay",
  path: "/cron-bulk/remove",
  takes: ruled(object("", { ...FILTER, confirm: boolean("true: removes all of them") }), (given) => {
    requireFilter(given);
    if (given.confirm) return;
    throw new InvalidInput(
      `This removes all entries with ${filterText(given)}; confirm it with "confirm": true`,
      "confirm",
    );
  }),
  gives: COUNT,
  deletes: () => true,
  deed: (given, out) => deedOf("cron remove", filterText(given), out),
  run: async ({ crontab }: ClientTools, given) => ({ count: await crontab.removeMany(given) }),
});

/** Adds entries. */
export const addCrons = action({
  name: "cron add",
  about: `Adds at most ${MAX_ENTRIES} entries; all are checked before the first is added`,
  path: "/cron-bulk/add",
  takes: ruled(
    object("", {
      entries: list("as those of `POST /cron`", any("")),
      replace: optional(boolean("replace entries of these names; equal ones stay as they are")),
    }),
    ({ entries: { length } }) => {
      if (length <= MAX_ENTRIES) return;
      throw new InvalidInput(`Too many entries: ${length}; expected at most ${MAX_ENTRIES}`, "entries");
    },
  ),
  gives: COUNT,
  deletes: ({ entries }) => entries.some(replacesRuns),
  deed: ({ entries }, out) => deedOf("cron add", `${entries.length} entries`, out),
  run: async ({ crontab }: ClientTools, { entries, replace = false }) => {
    try {
      return { count: await crontab.addMany(entries as readonly CronEntryInput[], { replace }) };
    } catch (error) {
      throw error instanceof CrontabError ? new Refused("invalid", error.message, { field: "entries" }) : error;
    }
  },
});

/** The actions of this file. */
export const cronBulkActions: readonly AnyAction[] = [addCrons, pauseCrons, resumeCrons, removeCrons];
