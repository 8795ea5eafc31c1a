/** `jobs steps JID`. @module */
import type { Store } from "../../store/admin/store.ts";
import type { Step } from "../../job/step.ts";
import type { AnyAction, Tools } from "../../operator/actions/action.ts";
import { clearSteps, rerunSteps, wakeSteps } from "../../operator/actions/steps.ts";
import { Mask } from "../../text/mask.ts";
import { lostSteps, STEP_COLUMNS, stepJson } from "../../text/steps.ts";
import { actHere } from "../shared/act.ts";
import { readSteps, stepsOf } from "../shared/steps.ts";
import { withStore } from "../shared/store.ts";
import { COMMON_FLAGS, parseCommand, splitCommand } from "../terminal/args.ts";
import { confirm, YES } from "../terminal/confirm.ts";
import { NotFoundError, UsageError } from "../terminal/errors.ts";
import { print, printJson } from "../terminal/output.ts";
import { printList } from "../terminal/table.ts";

/** The text of `--help`. */
export const help = `
Usage: jobs steps JID [--json]
       jobs steps clear JID [NAME] [--yes]
       jobs steps rerun JID NAME [--yes]
       jobs steps wake JID [--yes]

Lists the durable steps of a job, or those in its record if it has ended, with
secrets masked. clear deletes one step, or all: they run again in the next
attempt. rerun deletes a step and all later ones, and moves a job that sleeps,
retries or is dead to its queue. wake ends the sleeps and waits of a job: it
continues as if their time had passed. Exit 1 if the job has no such step.

  -y, --yes              don't ask before

Examples
  jobs steps 1a1fd5150c39f4ae2f200001
  jobs steps clear 1a1fd5150c39f4ae2f200001 charge
  jobs steps rerun 1a1fd5150c39f4ae2f200001 reserve
  jobs steps wake 1a1fd5150c39f4ae2f200001`;

/** The arguments of each verb. */
const VERBS = { clear: "JID [NAME]", rerun: "JID NAME", wake: "JID" } as const;
type Verb = keyof typeof VERBS;
const ACTIONS: Readonly<Record<Verb, AnyAction<Tools>>> = { clear: clearSteps, rerun: rerunSteps, wake: wakeSteps };

const FLAGS = { ...COMMON_FLAGS, ...YES } as const;

/** Lists, clears, repeats or wakes steps. */
export async function run(argv: readonly string[]): Promise<number> {
  const { name: first = "", rest } = splitCommand(argv);
  const verb = Object.hasOwn(VERBS, first) ? first as Verb : undefined;
  const { flags, args } = verb === undefined
    ? parseCommand("steps", argv, FLAGS, "[clear|rerun|wake] JID [NAME]")
    : parseCommand(`steps ${verb}`, rest, FLAGS, VERBS[verb]);
  const [jid = "", name] = args;
  if (verb === undefined && name !== undefined) {
    throw new UsageError(`Unknown command "${jid}": expected ${Object.keys(VERBS).join(", ")}, or a JID alone`);
  }
  return await withStore(flags, async (store, { webMask }) => {
    const mask = new Mask(webMask, true);
    if (verb === undefined) return await list(store, jid, { json: flags.json, mask });
    const what = question(verb, await readSteps(store, jid, mask), { jid, name });
    if (what !== undefined) confirm(...what, flags);
    const { changed, queued } = await actHere(store, ACTIONS[verb], { jid, ...(name !== undefined && { name }) }, {
      mask,
    });
    const more = verb === "wake" ? "" : queued ? "; the job is queued" : "; the next attempt runs them again";
    if (flags.json) printJson({ [verb]: changed, queued });
    else print(`${verb === "wake" ? "Ended" : "Cleared"} ${changed} ${changed === 1 ? "step" : "steps"}${more}`);
    return 0;
  });
}

/** Returns verb and object of the question before a change; undefined if there is nothing to change. */
function question(
  verb: Verb,
  all: readonly Step[],
  { jid, name }: { readonly jid: string; readonly name: string | undefined },
): [verb: string, what: string] | undefined {
  if (verb === "wake") {
    const waiting = all.filter(({ state }) => state === "waiting");
    const [{ kind, key } = {}] = waiting.filter(({ kind }) => kind !== "sleep");
    if (waiting.length === 0) return undefined;
    if (kind === undefined) return ["End", `the sleep of job "${jid}"`];
    return ["Give up", `waiting for ${kind === "wait" ? `signal "${key}"` : "its child"} in job "${jid}"`];
  }
  const from = all.findIndex((step) => step.name === name);
  const lost = verb === "rerun" ? all.slice(from < 0 ? all.length : from) : from < 0 ? all : [all[from]!];
  if (lost.length === 0 || name !== undefined && from < 0) return undefined;
  const [steps, run] = lost.length === 1 ? ["the step", "runs"] : ["steps", "run"];
  return ["Delete", `${steps} of job "${jid}", which ${run} again: ${lostSteps(lost)}`];
}

async function list(
  store: Store,
  jid: string,
  { json, mask }: { readonly json: boolean; readonly mask: Mask },
): Promise<number> {
  const steps = await stepsOf(store, jid, mask);
  if (steps.length === 0) {
    throw new NotFoundError(
      `Job "${jid}" has no steps: it used none, has finished without a record, or is in another store`,
    );
  }
  if (json) {
    printJson({ steps: steps.map(stepJson) });
    return 0;
  }
  printList(STEP_COLUMNS, steps, "");
  return 0;
}
