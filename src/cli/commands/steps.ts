/** `jobs steps JID`. @module */
import { systemClock } from "../../clock.ts";
import type { Store } from "../../store/admin/store.ts";
import { stepDetails, stepJson, stepState, stepValue } from "../../text/steps.ts";
import { recordAudit } from "../shared/audit.ts";
import { readSteps } from "../shared/steps.ts";
import { withStore } from "../shared/store.ts";
import { COMMON_FLAGS, parseCommand, UsageError } from "../terminal/args.ts";
import { print, printError, printJson } from "../terminal/output.ts";
import { printTable } from "../terminal/table.ts";

/** What `--help` prints. */
export const help = `
Usage: jobs steps JID [--json]
       jobs steps clear JID [NAME]
       jobs steps wake JID

Lists the durable steps of a job. \`clear\` deletes one, or all: it runs again in the next attempt, although it was done.
\`wake\` ends the sleeps and waits of a job, as if their time had passed. Exit 1 if there was no such step.`;

/** Lists, clears or wakes. */
export async function run(argv: readonly string[]): Promise<number> {
  const { flags, args } = parseCommand("steps", argv, COMMON_FLAGS);
  const verb = args.length > 1 && (args[0] === "clear" || args[0] === "wake") ? args[0] : "list";
  const [jid, name, ...more] = verb === "list" ? args : args.slice(1);
  if (jid === undefined) throw new UsageError("Missing argument: JID; see jobs steps --help");
  const extra = verb === "clear" ? more[0] : name;
  if (extra !== undefined) throw new UsageError(`Unexpected argument "${extra}"; see jobs steps --help`);
  return await withStore(flags, async (store) => {
    if (verb === "list") return await list(store, jid, flags.json);
    const count = verb === "clear" ? await store.steps.clear(jid, name) : await store.steps.wake(jid);
    if (count === 0) {
      printError(`jobs: job "${jid}" has no ${verb === "wake" ? "sleep or wait" : name ? `step "${name}"` : "steps"}`);
      return 1;
    }
    await recordAudit(store, {
      action: `steps ${verb}`,
      target: `job:${jid}`,
      ...(name !== undefined && { details: name }),
    });
    if (flags.json) printJson({ [verb]: count });
    else print(`${count} ${count === 1 ? "step" : "steps"} ${verb === "clear" ? "cleared" : "ended"}`);
    return 0;
  });
}

async function list(store: Store, jid: string, json: boolean): Promise<number> {
  const steps = await readSteps(store, jid);
  if (json) {
    printJson(steps.map(stepJson));
    return 0;
  }
  if (steps.length === 0) {
    printError(`jobs: job "${jid}" has no steps: it used none, has ended, or is in another store`);
    return 1;
  }
  const now = systemClock.now();
  printTable(
    ["step", "state", "details", "value"],
    steps.map((step) => [step.name, stepState(step), stepDetails(step, now), stepValue(step)]),
    "",
  );
  return 0;
}
