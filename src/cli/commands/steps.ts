/** `jobs steps JID`. @module */
import { systemClock } from "../../clock.ts";
import type { Store } from "../../store/admin/store.ts";
import { stepDetails, stepJson, stepState, stepValue } from "../../text/steps.ts";
import { recordAudit } from "../shared/audit.ts";
import { readSteps } from "../shared/steps.ts";
import { withStore } from "../shared/store.ts";
import { COMMON_FLAGS, parseCommand } from "../terminal/args.ts";
import { NotFoundError, UsageError } from "../terminal/errors.ts";
import { print, printJson } from "../terminal/output.ts";
import { printTable } from "../terminal/table.ts";

/** The text of `--help`. */
export const help = `
Usage: jobs steps JID [--json]
       jobs steps clear JID [NAME]
       jobs steps wake JID

Lists the durable steps of a job. clear deletes one step, or all: they run again
in the next attempt. wake ends the sleeps and waits of a job. Exit 1 if the job
has no such step.

Examples
  jobs steps 1a1fd5150c39f4ae2f200001
  jobs steps clear 1a1fd5150c39f4ae2f200001 charge
  jobs steps wake 1a1fd5150c39f4ae2f200001`;

/** Lists, clears or wakes steps. */
export async function run(argv: readonly string[]): Promise<number> {
  const { flags, args } = parseCommand("steps", argv, COMMON_FLAGS, "JID [JID] [NAME]");
  const verb = args.length > 1 && (args[0] === "clear" || args[0] === "wake") ? args[0] : "list";
  const [jid = "", name, ...more] = verb === "list" ? args : args.slice(1);
  const extra = verb === "clear" ? more[0] : name;
  if (extra !== undefined) throw new UsageError(`Unexpected argument "${extra}". Usage: jobs steps [clear|wake] JID`);
  return await withStore(flags, async (store) => {
    if (verb === "list") return await list(store, jid, flags.json);
    const count = verb === "clear" ? await store.steps.clear(jid, name) : await store.steps.wake(jid);
    if (count === 0) {
      throw new NotFoundError(
        `Job "${jid}" has no ${verb === "wake" ? "sleep or wait" : name ? `step "${name}"` : "steps"}`,
      );
    }
    await recordAudit(store, {
      action: `steps ${verb}`,
      target: `job:${jid}`,
      ...(name !== undefined && { details: name }),
    });
    if (flags.json) printJson({ [verb]: count });
    else print(`${verb === "clear" ? "Cleared" : "Ended"} ${count} ${count === 1 ? "step" : "steps"}`);
    return 0;
  });
}

async function list(store: Store, jid: string, json: boolean): Promise<number> {
  const steps = await readSteps(store, jid);
  if (steps.length === 0) {
    throw new NotFoundError(`Job "${jid}" has no steps: it used none, has finished, or is in another store`);
  }
  if (json) {
    printJson(steps.map(stepJson));
    return 0;
  }
  const now = systemClock.now();
  printTable(
    ["step", "state", "details", "value"],
    steps.map((step) => [step.name, stepState(step), stepDetails(step, now), stepValue(step)]),
    "",
  );
  return 0;
}
