/**
 * What an operator does to the crontab, for pages and API alike.
 *
 * @module
 */
import { CrontabError } from "../cron/crontab.ts";
import { writeDown } from "./audit.ts";
import type { Visitor } from "./auth/gate.ts";
import { Refusal } from "./body.ts";
import type { Desk } from "./desk.ts";

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
    throw new Refusal(422, error.message);
  }
}
