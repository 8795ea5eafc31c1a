/**
 * Actions on cron entries, for pages and the API.
 *
 * @module
 */
import { createHash } from "node:crypto";
import { CrontabError } from "../../cron/crontab.ts";
import type { CronDefinition } from "../../cron/definition.ts";
import type { CronEntryInput } from "../../cron/entry.ts";
import { checkEntries } from "../../cron/entry_check.ts";
import type { CronProblem } from "../../cron/entry_fields.ts";
import { entryInput } from "../../cron/entry_input.ts";
import { describeSchedule, openSchedule } from "../../cron/schedule_spec.ts";
import { recordAudit } from "../audit.ts";
import type { Visitor } from "../auth/gate.ts";
import { HttpError } from "../http/body.ts";
import type { Services } from "../services.ts";

/** Rejects an entry with problems; the message has a line for each. */
export class InvalidCronEntry extends HttpError {
  readonly problems: readonly CronProblem[];

  /** @param problems at least one */
  constructor(problems: readonly CronProblem[]) {
    super(
      422,
      problems.map(({ message }) => message).join("\n"),
      problems.find(({ field }) => field !== undefined)?.field,
    );
    this.problems = problems;
  }
}

/** An action on an existing entry. */
export type CronVerb = "run" | "pause" | "resume" | "remove";

/**
 * Runs, pauses, resumes or removes an entry.
 *
 * @param once identifies a run: repeated, the action enqueues one job
 * @returns the jid of the new job for `run`; otherwise undefined
 * @throws {HttpError} if the entry doesn't exist, or doesn't allow the action
 */
export async function changeCron(
  services: Services,
  visitor: Visitor,
  name: string,
  verb: CronVerb,
  once?: string | null,
): Promise<string | undefined> {
  const action = `cron ${verb}`;
  try {
    const jid = verb === "run"
      ? await services.crontab.run(name, { jid: once ? runJid(name, once) : undefined })
      : await services.crontab[verb](name) ?? undefined;
    await recordAudit(services, visitor, { action, name, jid }, {
      target: name,
      ...(jid && { details: `job ${jid}` }),
    });
    return jid;
  } catch (error) {
    if (!(error instanceof CrontabError)) throw error;
    await recordAudit(services, visitor, { action, name }, { target: name, outcome: `refused: ${error.message}` });
    throw new HttpError(await services.crontab.get(name) === undefined ? 404 : 422, error.message);
  }
}

/** Returns the jid of a run that a form or a program identifies. */
function runJid(name: string, once: string): string {
  return createHash("sha256").update(JSON.stringify([name, once])).digest("hex").slice(0, 24);
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
 * @throws {HttpError} with all errors in the entry
 */
export function previewCron(services: Services, input: CronEntryInput): CronPreview {
  const { active, inactive, problems } = checkEntries([input], { environment: "", isSingle: true });
  if (problems.length > 0) throw new InvalidCronEntry(problems);
  const { schedule } = active[0] ?? inactive[0]!.entry;
  const opened = openSchedule(schedule);
  const times: number[] = [];
  for (
    let at = opened.next(services.clock.now());
    at !== undefined && times.length < NEXT_TIMES;
    at = opened.next(at)
  ) {
    times.push(at);
  }
  return { words: describeSchedule(schedule), times };
}

/**
 * Adds an entry. Running workers pick it up at once.
 *
 * @throws {HttpError} with all errors in the entry, or if its name is taken
 */
export async function addCron(services: Services, visitor: Visitor, input: CronEntryInput): Promise<void> {
  await keepCron(services, visitor, "cron add", input, false);
}

/**
 * Changes the given fields of an entry that was added at run time. Masked values stay as they were.
 *
 * @throws {HttpError} if the entry doesn't exist, belongs to a configuration file, or becomes invalid
 */
export async function editCron(
  services: Services,
  visitor: Visitor,
  name: string,
  changed: Partial<CronEntryInput>,
): Promise<void> {
  const before = entryInput(await definitionOf(services, name));
  // A cron expression replaces an interval, and vice versa.
  const { rule, timezone, every, anchor, ...rest } = before;
  const when = changed.rule !== undefined
    ? { timezone }
    : changed.every !== undefined
    ? { anchor }
    : { rule, timezone, every, anchor };
  const given = Object.entries({ ...rest, ...when, ...changed, name }).filter(([, value]) => value !== undefined);
  const input = services.mask.restore(Object.fromEntries(given), before) as CronEntryInput;
  await keepCron(services, visitor, "cron edit", input, true);
}

/**
 * Returns the definition of an entry that can be changed at run time.
 *
 * @throws {HttpError} if the entry doesn't exist, or belongs to a configuration file
 */
export async function definitionOf(services: Services, name: string): Promise<CronDefinition> {
  const entry = await services.crontab.get(name);
  if (entry === undefined) throw new HttpError(404, `No cron entry "${name.slice(0, 80)}"`);
  const { definition } = entry;
  if (definition?.source === "runtime") return definition;
  throw new HttpError(422, `Cron entry "${name}" is defined in a configuration file: change it there`);
}

async function keepCron(
  services: Services,
  visitor: Visitor,
  action: string,
  input: CronEntryInput,
  replace: boolean,
): Promise<void> {
  const { words } = previewCron(services, input);
  const { name } = input;
  try {
    await services.crontab.add(input, { replace });
  } catch (error) {
    if (!(error instanceof CrontabError)) throw error;
    await recordAudit(services, visitor, { action, name }, { target: name, outcome: `refused: ${error.message}` });
    throw new HttpError(422, error.message);
  }
  await recordAudit(services, visitor, { action, name }, { target: name, details: words });
}
