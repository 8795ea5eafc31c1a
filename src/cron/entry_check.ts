/**
 * Checks cron entries as authors write them. Finds all problems at once. Each message names the entry, the field, the
 * value and what was expected: a crontab with a mistake must fail when the worker starts, not at night.
 *
 * @module
 */
import { InvalidPayload } from "../job/errors.ts";
import { groupOf } from "../job/group.ts";
import { checkPublicArgs, checkPublicClass } from "../job/internal_class.ts";
import { argsText, merge, prepare } from "../job/payload.ts";
import { checkBounds } from "./bounds.ts";
import type { CronEntry } from "./entry.ts";
import {
  type CronProblem,
  EntryFields,
  FIELDS,
  FOREIGN_FIELDS,
  isBoolean,
  isObject,
  isOneOf,
  isText,
  PUSH_OPTIONS,
  readInstant,
  show,
} from "./entry_fields.ts";
import type { Overlap } from "./occurrence.ts";
import { type CatchUp, DEFAULT_CATCH_UP_WINDOW_MS } from "./plan.ts";
import { CronRule } from "./rule.ts";
import { RuleError } from "./rule_parser.ts";
import { openSchedule, type ScheduleSpec } from "./schedule_spec.ts";

/** The worker that entries are checked for. */
export interface EntryContext {
  /** The name of the environment, which decides which entries are active. */
  readonly environment: string;
  /** Classes that have a handler; undefined for no check. */
  readonly classes?: ReadonlySet<string>;
  /** Returns the options of a class, which apply to its jobs; undefined if it has none. Default: no class has any. */
  readonly optionsOf?: (className: string) => Readonly<Record<string, unknown>> | undefined;
  /** The queues that the worker processes; undefined for all. A class of another queue needs no handler here. */
  readonly queues?: ReadonlySet<string>;
  /** The time zone of cron expressions that name none. Default `UTC`. */
  readonly timezone?: string;
  /** Whether the list is one entry that its author wrote without a list: then its problems name no position. */
  readonly isSingle?: boolean;
}

export interface CheckedEntries {
  /** Entries that are active in this environment. */
  readonly active: readonly CronEntry[];
  /** Entries that are switched off, with the field that does it. */
  readonly inactive: readonly { readonly entry: CronEntry; readonly by: "enable" | "environments" }[];
  readonly problems: readonly CronProblem[];
}

const OVERLAPS: readonly Overlap[] = ["allow", "skip", "queue-one", "replace"];
const CATCH_UPS: readonly CatchUp["policy"][] = ["none", "last", "all"];
const MIN_INTERVAL_MS = 1_000;
const MAX_NAME = 200;

/**
 * Checks a crontab.
 *
 * @param crontab expected to be a list of `CronEntryInput`; any other value is a problem, too
 */
export function checkEntries(crontab: unknown, context: EntryContext): CheckedEntries {
  const check = new EntryCheck(context);
  if (Array.isArray(crontab)) crontab.forEach((input) => check.add(input));
  else check.problems.push({ entry: "", message: `"cron" is ${show(crontab)}; expected a list of entries` });
  return check;
}

/** Checks a crontab entry by entry: a caller with many may pause in between. */
export class EntryCheck implements CheckedEntries {
  readonly active: CronEntry[] = [];
  readonly inactive: CheckedEntries["inactive"][number][] = [];
  readonly problems: CronProblem[] = [];
  readonly #context: EntryContext;
  readonly #positions = new Map<string, number>();
  #count = 0;

  constructor(context: EntryContext) {
    this.#context = context;
  }

  /** Checks the next entry. */
  add(input: unknown): void {
    const position = ++this.#count;
    const fields = new EntryFields(input, this.#context.isSingle ? undefined : position);
    const entry = isObject(input) ? checkEntry(fields, this.#context) : undefined;
    const taken = entry && this.#positions.get(entry.name);
    if (taken !== undefined) fields.report(`entry ${position} of the list has the name of entry ${taken}`);
    this.problems.push(...fields.problems);
    if (entry === undefined || taken !== undefined) return;
    this.#positions.set(entry.name, position);
    const by = switchedOffBy(fields, this.#context);
    if (by === undefined) this.active.push(entry);
    else this.inactive.push({ entry, by });
  }
}

/** Returns the entry; undefined if it is invalid. */
function checkEntry(fields: EntryFields, context: EntryContext): CronEntry | undefined {
  const name = checkName(fields);
  const times = checkSchedule(fields, context);
  const bounds = times && checkBounds(fields, { name: name ?? "", schedule: openSchedule(times), ...times });
  const job = checkJob(fields, context);
  const memo = fields.get("memo", "a text", isText);
  const everyProcess = checkEveryProcess(fields);
  const overlap = checkOverlap(fields, everyProcess);
  const catchUp = checkCatchUp(fields, everyProcess);
  checkSwitches(fields);
  if (fields.problems.length > 0) return undefined;
  return {
    name: name!,
    schedule: { ...times!, ...bounds },
    ...job!,
    ...(memo && { memo }),
    overlap,
    catchUp,
    everyProcess,
  };
}

function checkName(fields: EntryFields): string | undefined {
  const isFolder = /^\.\.?$/.test(String(fields.raw("name")));
  const isName = (value: unknown): value is string =>
    isText(value) && value.length <= MAX_NAME && value.trim() === value && !/\p{Cc}/u.test(value) && !isFolder;
  const expected = `a text of at most ${MAX_NAME} characters, without control characters or surrounding blanks${
    isFolder ? ", and not . or .., which an address of the dashboard can't contain" : ""
  }`;
  return fields.raw("name") === undefined ? fields.invalid("name", expected) : fields.get("name", expected, isName);
}

function checkSchedule(fields: EntryFields, context: EntryContext): ScheduleSpec | undefined {
  const hasRule = fields.raw("rule") !== undefined;
  const hasEvery = fields.raw("every") !== undefined;
  if (hasRule === hasEvery) {
    return fields.report(
      `${hasRule ? "both" : "neither"} "rule" ${hasRule ? "and" : "nor"} "every"; expected one of them`,
      "rule",
    );
  }
  return hasRule ? checkRule(fields, context) : checkInterval(fields);
}

function checkRule(fields: EntryFields, context: EntryContext): ScheduleSpec | undefined {
  if (fields.raw("anchor") !== undefined) {
    fields.report(`"anchor" is for "every"; remove it, or write "every" instead of "rule"`);
  }
  const rule = fields.get("rule", `a text such as "30 3 * * *" or "@daily"`, isText);
  const timezone = fields.get("timezone", `a name such as "Europe/London"`, isText);
  if (rule === undefined) return undefined;
  try {
    const { fields: { normal }, zone } = new CronRule(rule, timezone ?? context.timezone);
    return { rule: normal, timezone: zone.name };
  } catch (error) {
    if (!(error instanceof RuleError || error instanceof RangeError)) throw error;
    return fields.report(error.message, error instanceof RuleError ? "rule" : "timezone");
  }
}

function checkInterval(fields: EntryFields): ScheduleSpec | undefined {
  if (fields.raw("timezone") !== undefined) {
    fields.report(`"timezone" is for "rule", as "every" counts elapsed time; remove it`, "timezone");
  }
  const everyMs = fields.duration("every", MIN_INTERVAL_MS);
  const from = readInstant(fields, "anchor") ?? 0;
  if (everyMs === undefined) return undefined;
  return { everyMs, anchor: ((from % everyMs) + everyMs) % everyMs };
}

/** Checks class, arguments and options as a push does. */
function checkJob(
  fields: EntryFields,
  { classes, queues, optionsOf }: EntryContext,
): Pick<CronEntry, "class" | "args" | "options"> | undefined {
  const given = fields.raw("class");
  const className = isObject(given) || typeof given === "function" ? (given as { class?: unknown }).class : given;
  const args = fields.raw("args") ?? [];
  const further = fields.get("options", "an object of further fields of the payload", isObject) ?? {};
  const reserved = Object.keys(further).filter((field) => isReserved(field));
  for (const field of reserved) {
    fields.report(`"options.${field}" is reserved; "options" is for further fields of the payload`);
  }
  const known = PUSH_OPTIONS.map((field) => [field, fields.raw(field)] as const);
  const options = Object.fromEntries([...known.filter(([, value]) => value !== undefined), ...Object.entries(further)]);
  let queue: string;
  try {
    const ofClass = typeof className === "string" ? optionsOf?.(className) : undefined;
    const request = { ...options, class: className as string };
    const prepared = prepare(ofClass === undefined ? request : merge(request, ofClass));
    queue = prepared.queue;
    argsText(args);
    checkPublicClass(request);
    checkPublicArgs(request.class, args);
    // The arguments of all runs are these.
    if (prepared.group !== undefined) groupOf(prepared.group, args);
  } catch (error) {
    if (!(error instanceof InvalidPayload)) throw error;
    return fields.report(`"${error.field}" is ${error.value}; expected ${error.expected}`, error.field);
  }
  if (classes && !classes.has(className as string) && queues?.has(queue) !== false) {
    const all = classes.size > 0 ? [...classes].sort().join(", ") : "none";
    fields.report(`no handler for class ${show(className)}; known: ${all}`, "class");
  }
  return { class: className as string, args: args as readonly unknown[], options };
}

function checkEveryProcess(fields: EntryFields): boolean {
  const everyProcess = fields.get("everyProcess", "true or false", isBoolean);
  const onOneServer = fields.get("onOneServer", "true or false", isBoolean);
  if (everyProcess !== undefined && everyProcess === onOneServer) {
    fields.report(`"everyProcess" and "onOneServer" are both ${everyProcess}; expected one of them`);
  }
  return everyProcess ?? onOneServer === false;
}

function checkOverlap(fields: EntryFields, everyProcess: boolean): Overlap {
  const choices = everyProcess ? OVERLAPS.filter((one) => one === "allow" || one === "skip") : OVERLAPS;
  const where = everyProcess ? " on every process" : "";
  const overlap = fields.get("overlap", `one of ${choices.join(", ")}${where}`, isOneOf(choices));
  const singleton = fields.get("singleton", "true or false", isBoolean);
  if (overlap !== undefined && singleton !== undefined && (overlap === "skip") !== singleton) {
    fields.report(`"overlap" is ${show(overlap)} and "singleton" ${singleton}; expected one of them`);
  }
  return overlap ?? (singleton ? "skip" : "allow");
}

/** Checks the catch-up. With `everyProcess`, each worker runs the entry itself, and a worker that was down catches up nothing. */
function checkCatchUp(fields: EntryFields, everyProcess: boolean): CatchUp {
  const choices = everyProcess ? CATCH_UPS.slice(0, 1) : CATCH_UPS;
  const expected = everyProcess ? "none, on every process" : `one of ${choices.join(", ")}`;
  const policy = fields.get("catchUp", expected, isOneOf(choices)) ?? (everyProcess ? "none" : "last");
  const windowMs = fields.duration("catchUpWindow", 0);
  if (policy === "none" && windowMs !== undefined) {
    fields.report(`"catchUpWindow" is for "catchUp" last or all; remove it`);
  }
  return { policy, windowMs: windowMs ?? DEFAULT_CATCH_UP_WINDOW_MS };
}

function checkSwitches(fields: EntryFields): void {
  const enable = fields.raw("enable");
  if (enable !== undefined && typeof enable !== "function") fields.get("enable", "true or false", isBoolean);
  fields.get("environments", "names of environments, at least one", isNames);
}

function switchedOffBy(fields: EntryFields, { environment }: EntryContext): "enable" | "environments" | undefined {
  const enable = fields.raw("enable");
  if (enable === false || (typeof enable === "function" && !enable())) return "enable";
  const environments = fields.raw("environments");
  return environments === undefined || [environments].flat().includes(environment) ? undefined : "environments";
}

function isReserved(field: string): boolean {
  return FIELDS.includes(field) || Object.hasOwn(FOREIGN_FIELDS, field) || field === "occurrence";
}

function isNames(value: unknown): value is string | string[] {
  return isText(value) || (Array.isArray(value) && value.length > 0 && value.every(isText));
}
