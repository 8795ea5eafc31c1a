/**
 * Actions on cron entries: run, pause, resume, add, edit, remove.
 *
 * @module
 */
import { createHash } from "node:crypto";
import type { Crontab } from "../../client/crontab.ts";
import type { Clock } from "../../clock.ts";
import type { CronDefinition } from "../../cron/definition.ts";
import type { CronEntryInput } from "../../cron/entry.ts";
import { checkEntries } from "../../cron/entry_check.ts";
import type { CronProblem } from "../../cron/entry_fields.ts";
import { entryInput } from "../../cron/entry_input.ts";
import { describeSchedule, openSchedule } from "../../cron/schedule_spec.ts";
import { closestWord } from "../../job/suggest.ts";
import { isoTime } from "../../text/times.ts";
import { InvalidInput, list, object, optional } from "../shapes/shape.ts";
import { any, boolean, choice, integer, text, time } from "../shapes/values.ts";
import { action, type AnyAction, type ClientTools, Refused } from "./action.ts";
import { open } from "./inputs.ts";

/** An entry was refused; the message has a line for each problem. */
export class InvalidCronEntry extends InvalidInput {
  readonly problems: readonly CronProblem[];

  /** @param problems at least one */
  constructor(problems: readonly CronProblem[]) {
    super(
      problems.map(({ message }) => message).join("\n"),
      problems.find(({ field }) => field !== undefined)?.field,
    );
    this.problems = problems;
  }
}

const NAME = { name: text("") };

/** @param verb a method of `Crontab` */
function changing(verb: "pause" | "resume" | "remove", about: string) {
  return action({
    name: `cron ${verb}`,
    about,
    path: `/cron/{name}/${verb}`,
    takes: object("", NAME),
    gives: object("", {}),
    deletes: () => verb === "remove",
    deed: ({ name }) => ({ target: name }),
    run: async ({ crontab }: ClientTools, { name }) => {
      await requireEntry(crontab, name);
      await crontab[verb](name);
      return {};
    },
  });
}

/** Pauses an entry. */
export const pauseCron = changing("pause", "Pauses an entry: it enqueues nothing until it is resumed");
/** Resumes an entry. */
export const resumeCron = changing("resume", "Resumes a paused entry, without its missed runs");
/** Removes an entry that was added at run time. */
export const removeCron = changing("remove", "Removes an entry that was added at run time");

/** Enqueues a job of an entry. */
export const runCron = action({
  name: "cron run",
  about: "Enqueues a job of an entry now; once, if it is repeated with its Idempotency-Key",
  path: "/cron/{name}/run",
  key: "once",
  takes: object("", { ...NAME, once: optional(text("identifies the run: repeated, it enqueues one job")) }),
  gives: object("", { jid: text("") }),
  deed: ({ name }, out) => ({ target: name, ...(out && { details: `job ${out.jid}` }) }),
  run: async ({ crontab }: ClientTools, { name, once }) => {
    await requireEntry(crontab, name);
    return { jid: await crontab.run(name, { jid: once ? runJid(name, once) : undefined }) };
  },
});

/** Returns the jid of a run that a form or a program identifies. */
function runJid(name: string, once: string): string {
  return createHash("sha256").update(JSON.stringify([name, once])).digest("hex").slice(0, 24);
}

/** Returns whether a run of an entry deletes the one before, if it hasn't ended. */
export function replacesRuns(entry: unknown): boolean {
  return (Object(entry) as Partial<CronEntryInput>).overlap === "replace";
}

const ENTRY = {
  rule: optional(text("cron expression: five fields, six with seconds first, or @daily and the like")),
  timezone: optional(text("time zone of the cron expression; default UTC")),
  every: optional(any("seconds, or 30s, 5m, 2h, 1d")),
  start: optional(text("no run before: ISO 8601 with its zone")),
  end: optional(text("no run after")),
  count: optional(integer("this many runs from `start`, instead of `end`")),
  spread: optional(any("shifts the runs by a time up to this, which follows from the name")),
  args: optional(list("", any(""))),
  queue: optional(text("")),
  tags: optional(list("", text(""))),
  overlap: optional(choice(["allow", "skip", "queue-one", "replace"], "")),
  catchUp: optional(choice(["none", "last", "all"], "")),
  memo: optional(text("")),
};
const ABOUT = "either rule or every; for all fields see docs/reference/cron.md";
const WHEN = object("", { when: text("in plain words"), next: list("", time("")) });

/** Adds an entry. */
export const addCron = action({
  name: "cron add",
  about: "Adds an entry; running workers pick it up at once",
  path: "/cron",
  takes: open<CronEntryInput & { readonly replace?: boolean }>(object(ABOUT, {
    ...NAME,
    class: text(""),
    ...ENTRY,
    replace: optional(boolean("replace an entry of that name")),
  })),
  gives: object("", { ...WHEN.fields, replaced: optional(boolean("whether it replaced an entry of that name")) }),
  status: () => 201,
  deletes: replacesRuns,
  deed: ({ name }, out) => ({
    target: String(name),
    ...(out && { details: out.when }),
    ...(out?.replaced && { action: "cron edit" }),
  }),
  run: async ({ crontab, clock }: ClientTools, { replace = false, ...input }) => {
    const out = whenOf(clock, input);
    const before = await crontab.get(input.name);
    if (before?.definition?.source === "runtime" && !replace) {
      const message = `Cron entry "${input.name}" already exists; replace it, or use another name`;
      throw new Refused("invalid", message, { field: "name" });
    }
    await crontab.add(input, { replace });
    return before === undefined ? out : { ...out, replaced: true };
  },
});

/** Changes the given fields of an entry that was added at run time; undefined ones are removed, and masked values stay. */
export const editCron = action({
  name: "cron edit",
  about: "Changes the given fields of an entry that was added at run time",
  path: "/cron/{name}/edit",
  takes: open<Partial<CronEntryInput> & { readonly name: string }>(
    object(ABOUT, { ...NAME, class: optional(text("")), ...ENTRY }),
  ),
  gives: WHEN,
  deletes: replacesRuns,
  deed: ({ name }, out) => ({ target: name, ...(out && { details: out.when }) }),
  run: async ({ crontab, clock, mask }: ClientTools, { name, ...changed }) => {
    const before = entryInput(await definitionOf(crontab, name));
    // A cron expression replaces an interval, and vice versa.
    const { rule, timezone, every, anchor, ...rest } = before;
    const when = changed.rule !== undefined
      ? { timezone }
      : changed.every !== undefined
      ? { anchor }
      : { rule, timezone, every, anchor };
    // A number of runs is stored as the time of the last one.
    const until = changed.count !== undefined && { end: undefined };
    const given = Object.entries({ ...rest, ...when, ...until, ...changed, name }).filter(([, value]) =>
      value !== undefined
    );
    const entry = Object.fromEntries(given);
    const input = (mask?.restore(entry, before) ?? entry) as CronEntryInput;
    const out = whenOf(clock, input);
    await crontab.add(input, { replace: true });
    return out;
  },
});

/**
 * Returns the definition of an entry that can be changed at run time.
 *
 * @throws {Refused} if the entry doesn't exist, or belongs to a configuration file
 */
export async function definitionOf(crontab: Crontab, name: string): Promise<CronDefinition> {
  const { definition } = await requireEntry(crontab, name);
  if (definition?.source === "runtime") return definition;
  throw new Refused("invalid", `Cron entry "${name}" is defined in a configuration file: change it there`);
}

async function requireEntry(crontab: Crontab, name: string) {
  const entry = await crontab.get(name);
  if (entry !== undefined) return entry;
  const meant = closestWord(name, (await crontab.page({ limit: 1_000 })).entries.map((one) => one.name));
  const cure = meant ? `did you mean "${meant}"?` : "see jobs cron list";
  throw new Refused("missing", `Cron entry "${name.slice(0, 80)}" not found; ${cure}`);
}

/** The schedule of an entry before it is added. */
export interface CronPreview {
  /** The schedule in plain words. */
  readonly words: string;
  /** The next runs, in epoch milliseconds. */
  readonly times: readonly number[];
}

const NEXT_TIMES = 5;

/**
 * Returns the schedule of an entry.
 *
 * @throws {InvalidCronEntry} with all errors in the entry
 */
export function previewCron(clock: Pick<Clock, "now">, input: CronEntryInput): CronPreview {
  const { active, inactive, problems } = checkEntries([input], { environment: "", isSingle: true });
  if (problems.length > 0) throw new InvalidCronEntry(problems);
  const { schedule } = active[0] ?? inactive[0]!.entry;
  const opened = openSchedule(schedule);
  const times: number[] = [];
  for (let at = opened.next(clock.now()); at !== undefined && times.length < NEXT_TIMES; at = opened.next(at)) {
    times.push(at);
  }
  return { words: describeSchedule(schedule), times };
}

function whenOf(clock: Pick<Clock, "now">, input: CronEntryInput) {
  const { words, times } = previewCron(clock, input);
  return { when: words, next: times.map((at) => isoTime(at)!) };
}

/** The actions of this file. */
export const cronActions: readonly AnyAction[] = [addCron, editCron, runCron, pauseCron, resumeCron, removeCron];
