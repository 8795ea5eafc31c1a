/**
 * What an operator does to the crontab, for pages and API alike.
 *
 * @module
 */
import { checkCrontab, CrontabError } from "../../cron/crontab.ts";
import type { CronDefinition } from "../../cron/definition.ts";
import type { CronEntryInput } from "../../cron/entry.ts";
import { entryInput } from "../../cron/entry_input.ts";
import { describeSchedule, openSchedule } from "../../cron/schedule_spec.ts";
import { writeDown } from "./audit.ts";
import type { Visitor } from "../auth/gate.ts";
import { Refusal } from "../http/body.ts";
import type { Desk } from "../services.ts";

/** What can be done with an entry. */
export type CronVerb = "run" | "pause" | "resume" | "remove";

/**
 * Does it.
 *
 * @returns of `run`: the jid
 * @throws {Refusal} when it cannot be done
 */
export async function changeCron(
  desk: Desk,
  visitor: Visitor,
  name: string,
  verb: CronVerb,
): Promise<string | undefined> {
  const action = `cron ${verb}`;
  try {
    const jid = await desk.crontab[verb](name) ?? undefined;
    await writeDown(desk, visitor, { action, name, jid }, { target: name, ...(jid && { details: `job ${jid}` }) });
    return jid;
  } catch (error) {
    if (!(error instanceof CrontabError)) throw error;
    await writeDown(desk, visitor, { action, name }, { target: name, outcome: `refused: ${error.message}` });
    throw new Refusal(await desk.crontab.get(name) === undefined ? 404 : 422, error.message);
  }
}

/** An entry that is looked at before it is added. */
export interface CronPreview {
  /** When, in plain words. */
  readonly words: string;
  /** Its next times, epoch milliseconds. */
  readonly times: readonly number[];
}

const NEXT_TIMES = 5;

/**
 * What an entry comes to.
 *
 * @throws {Refusal} that says everything that is wrong with it
 */
export function previewCron(desk: Desk, input: CronEntryInput): CronPreview {
  const { active, inactive } = checked(() => checkCrontab([input], { environment: "" }));
  const { schedule } = active[0] ?? inactive[0]!.entry;
  const opened = openSchedule(schedule);
  const times: number[] = [];
  for (let at = opened.next(desk.clock.now()); at !== undefined && times.length < NEXT_TIMES; at = opened.next(at)) {
    times.push(at);
  }
  return { words: describeSchedule(schedule), times };
}

/**
 * Adds an entry; processes that run take it up at once.
 *
 * @throws {Refusal} that says everything that is wrong with it, or that its name is taken
 */
export async function addCron(desk: Desk, visitor: Visitor, input: CronEntryInput): Promise<void> {
  await keepCron(desk, visitor, "cron add", input, false);
}

/**
 * Changes an entry that was added before: what `changed` says, the rest stays; what was masked, too.
 *
 * @throws {Refusal} when there is none, it is in a configuration, or something is wrong with it
 */
export async function editCron(
  desk: Desk,
  visitor: Visitor,
  name: string,
  changed: Partial<CronEntryInput>,
): Promise<void> {
  const before = entryInput(await definitionOf(desk, name));
  // A rule takes the place of an interval, and the other way round.
  const { rule, timezone, every, anchor, ...rest } = before;
  const when = changed.rule !== undefined
    ? { timezone }
    : changed.every !== undefined
    ? { anchor }
    : { rule, timezone, every, anchor };
  const given = Object.entries({ ...rest, ...when, ...changed, name }).filter(([, value]) => value !== undefined);
  const input = desk.mask.restore(Object.fromEntries(given), before) as CronEntryInput;
  await keepCron(desk, visitor, "cron edit", input, true);
}

/**
 * What an entry says that can be changed here.
 *
 * @throws {Refusal} when there is none, or it is in a configuration
 */
export async function definitionOf(desk: Desk, name: string): Promise<CronDefinition> {
  const entry = await desk.crontab.get(name);
  if (entry === undefined) throw new Refusal(404, `No cron entry "${name.slice(0, 80)}"`);
  const { definition } = entry;
  if (definition?.source === "runtime") return definition;
  throw new Refusal(422, `Cron entry "${name}" is in a configuration, or is not understood; change it there`);
}

async function keepCron(
  desk: Desk,
  visitor: Visitor,
  action: string,
  input: CronEntryInput,
  replace: boolean,
): Promise<void> {
  const { words } = previewCron(desk, input);
  const { name } = input;
  try {
    await desk.crontab.add(input, { replace });
  } catch (error) {
    if (!(error instanceof CrontabError)) throw error;
    await writeDown(desk, visitor, { action, name }, { target: name, outcome: `refused: ${error.message}` });
    throw new Refusal(422, error.message);
  }
  await writeDown(desk, visitor, { action, name }, { target: name, details: words });
}

function checked<Result>(check: () => Result): Result {
  try {
    return check();
  } catch (error) {
    if (error instanceof CrontabError) throw new Refusal(422, error.message);
    throw error;
  }
}
