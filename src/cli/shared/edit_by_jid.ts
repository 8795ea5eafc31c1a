/**
 * The commands that act on jobs, by jid: acts on those in a fitting state, and reports the others.
 *
 * @module
 */
import { systemClock } from "../../clock.ts";
import { getField } from "../../job/raw.ts";
import { editJids } from "../../operator/actions/job_ids.ts";
import { editJobs } from "../../operator/actions/jobs.ts";
import type { Store } from "../../store/admin/store.ts";
import { stallsOf } from "../../store/ops/stalls.ts";
import { stallCure, stallText } from "../../text/stalls.ts";
import { jobCount } from "../terminal/confirm.ts";
import { print, printError, printJson } from "../terminal/output.ts";
import { actHere } from "./act.ts";
import type { EditCommand, EditFlags } from "./edit_command.ts";
import { attempt } from "./report.ts";

/** Acts on the jobs with these jids. Returns the exit code: 1 if a job isn't found or can't be changed. */
export async function editByJid(
  store: Store,
  { name: action, queue, words: [imperative, , past], suffix = "" }: EditCommand,
  jids: readonly string[],
  flags: EditFlags,
): Promise<number> {
  const isDry = flags["dry-run"];
  const given = { action, jids, ...(queue !== undefined && { queue }) };
  const { changed = 0, aborted = 0, failures = [] } = isDry
    ? await editJids({ store, clock: systemClock }, given, { isDry })
    : await actHere(store, editJobs, given);
  for (const { message } of failures) printError(`jobs: ${message}`);
  if (flags.json) {
    const [first] = failures;
    printJson({
      [isDry ? "matched" : past.toLowerCase()]: changed,
      ...(isDry && { dryRun: true }),
      ...(first && { error: { code: first.code, message: first.message }, errors: failures }),
    });
  } else if (isDry) print(`Would ${imperative.toLowerCase()} ${jobCount(changed)}${suffix}`);
  else if (changed > 0 || failures.length === 0) print(`${past} ${jobCount(changed)}${suffix}`);
  if (aborted > 0 && !flags.json) await attempt(() => reportAborted(store, aborted, jids));
  return failures.length === 0 ? 0 : 1;
}

/** Tells when running jobs that were cancelled end, and which of them can't: their workers are blocked. */
async function reportAborted(store: Store, count: number, jids: readonly string[]): Promise<void> {
  const it = count === 1 ? "it" : "each";
  printError(
    `jobs: ${jobCount(count, "running")} aborted: ${it} ends when its handler heeds its signal; jobs show ${
      jids.length === 1 ? jids[0] : "JID"
    }`,
  );
  const workers = (await store.workers.list()).filter(({ work }) =>
    work.some(({ payload }) => jids.includes(String(getField(payload, "jid"))))
  );
  for (const stall of stallsOf(workers)) {
    if (stall.is === "blocked") printError(`jobs: ${stallText(stall, systemClock.now())}: ${stallCure(stall)}`);
  }
}
