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
import { recordAudit } from "./audit.ts";
import type { Visitor } from "../auth/gate.ts";
import { HttpError } from "../http/body.ts";
import type { Services } from "../services.ts";

/** What can be done with an entry. */
export type CronVerb = "run" | "pause" | "resume" | "remove";

/**
 * Does it.
 *
 * @returns of `run`: the jid
 * @throws {HttpError} when it cannot be done
 */
export async function changeCron(
  services: Services,
  visitor: Visitor,
  name: string,
  verb: CronVerb,
): Promise<string | undefined> {
  const action = `cron ${verb}`;
  try {
    const jid = await services.crontab[verb](name) ?? undefined;
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
 * @throws {HttpError} that says everything that is wrong with it
 */
export function previewCron(services: Services, input: CronEntryInput): CronPreview {
  const { active, inactive } = checked(() => checkCrontab([input], { environment: "" }));
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
 * Adds an entry; processes that run take it up at once.
 *
 * @throws {HttpError} that says everything that is wrong with it, or that its name is taken
 */
export async function addCron(services: Services, visitor: Visitor, input: CronEntryInput): Promise<void> {
  await keepCron(services, visitor, "cron add", input, false);
}

/**
 * Changes an entry that was added before: what `changed` says, the rest stays; what was masked, too.
 *
 * @throws {HttpError} when there is none, it is in a configuration, or something is wrong with it
 */
export async function editCron(
  services: Services,
  visitor: Visitor,
  name: string,
  changed: Partial<CronEntryInput>,
): Promise<void> {
  const before = entryInput(await definitionOf(services, name));
  // A rule takes the place of an interval, and the other way round.
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
 * What an entry says that can be changed here.
 *
 * @throws {HttpError} when there is none, or it is in a configuration
 */
export async function definitionOf(services: Services, name: string): Promise<CronDefinition> {
  const entry = await services.crontab.get(name);
  if (entry === undefined) throw new HttpError(404, `No cron entry "${name.slice(0, 80)}"`);
  const { definition } = entry;
  if (definition?.source === "runtime") return definition;
  throw new HttpError(422, `Cron entry "${name}" is in a configuration, or is not understood; change it there`);
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

function checked<Result>(check: () => Result): Result {
  try {
    return check();
  } catch (error) {
    if (error instanceof CrontabError) throw new HttpError(422, error.message);
    throw error;
  }
}
