/**
 * Selects workers for `jobs quiet`, `resume`, `stop` and `dump`, and sends them commands through the store.
 *
 * @module
 */

import { Refused } from "../../operator/actions/action.ts";
import * as actions from "../../operator/actions/workers.ts";
import type { WorkerInfo } from "../../store/port/workers.ts";
import { systemClock } from "../../clock.ts";
import { goneText } from "../../text/workers.ts";
import type { Store } from "../../store/admin/store.ts";
import { closestWord } from "../../job/suggest.ts";
import { COMMON_FLAGS, type Flag, parseCommand } from "../terminal/args.ts";
import { NotFoundError, UsageError } from "../terminal/errors.ts";
import { actHere } from "./act.ts";
import { print, printError, printJson } from "../terminal/output.ts";
import { type ConfigFlags, withStore } from "./store.ts";

/** The workers that the command line selects. */
export interface WorkerSelection {
  readonly flags: ConfigFlags & { readonly all: boolean; readonly here: boolean; readonly json: boolean };
  /** IDs, beginnings of IDs, process IDs or tags. */
  readonly names: readonly string[];
}

/** The part of help texts about selecting workers. */
export const WORKER_HELP = `WORKER is an ID as jobs workers shows it, the beginning of one, a process ID, or
a tag.

      --here             all workers on this machine
      --all              all workers`;

/** Parses `WORKER … | --here | --all`. */
export function parseWorkers(command: string, argv: readonly string[]): WorkerSelection {
  const flag: Flag & { takes: "switch" } = { takes: "switch" };
  const { flags, args: names } = parseCommand(
    command,
    argv,
    { ...COMMON_FLAGS, all: flag, here: flag },
    "[WORKER …]",
  );
  const kinds = [flags.all, flags.here, names.length > 0].filter(Boolean).length;
  const usage = `Usage: jobs ${command} WORKER … | --here | --all`;
  if (kinds === 0) {
    throw new UsageError(`Missing argument: WORKER, --here or --all (jobs workers lists them). ${usage}`);
  }
  if (kinds > 1) throw new UsageError(`Expected only one of WORKER, --here and --all. ${usage}`);
  return { flags, names };
}

/**
 * Returns the selected workers that are online.
 *
 * @throws {NotFoundError} if a name matches no worker
 * @throws {UsageError} if a name matches several workers
 */
export async function selectWorkers(store: Store, { flags, names }: WorkerSelection): Promise<WorkerInfo[]> {
  const known = await store.workers.list();
  const online = known.filter((worker) => worker.alive);
  if (flags.all) return online;
  if (flags.here) return online.filter((worker) => worker.hostname === Deno.hostname());
  return names.map((name) => {
    const exact = online.find((worker) => worker.id === name);
    if (exact) return exact;
    const fits = online.filter(({ id, pid, tag }) => id.startsWith(name) || String(pid) === name || tag === name);
    if (fits.length === 1) return fits[0]!;
    if (fits.length > 1) {
      throw new UsageError(
        `"${name}" matches ${fits.length} workers: ${fits.map(({ id }) => id).join(", ")}`,
      );
    }
    const offline = known.find(({ id, pid, tag }) => id.startsWith(name) || String(pid) === name || tag === name);
    if (offline) throw new NotFoundError(`Worker "${offline.id}" ${goneText(offline, systemClock.now())}`);
    const meant = closestWord(name, online.flatMap(({ tag, id }) => [tag, id]).filter(Boolean));
    throw new NotFoundError(`Worker "${name}" not found; ${meant ? `did you mean "${meant}"?` : "see jobs workers"}`);
  });
}

const VERBS = { quiet: "Quieting", resume: "Resuming", stop: "Stopping" } as const;

/** Sends a command to the selected workers, without waiting until they have followed it. */
export async function commandWorkers(
  verb: "quiet" | "resume" | "stop",
  selection: WorkerSelection,
): Promise<number> {
  const { one, all } = actions[verb];
  return await withStore(selection.flags, async (store) => {
    const { sent, silent } = selection.flags.all
      ? await actHere(store, all, {}).then(({ workers, unreachable }) => ({ sent: workers, silent: unreachable }))
      : await sendEach(store, one, await selectWorkers(store, selection));
    const error = silent[0] === undefined ? {} : { error: { code: "no_reply", message: silent[0] } };
    const lines = sent.map((id) => `${VERBS[verb]} worker ${id}`);
    const workers = sent.length === 0 ? [] : await store.workers.list();
    const doubts = workers.filter(({ id }) => sent.includes(id)).flatMap((worker) => {
      const gone = goneText(worker, systemClock.now());
      return gone === undefined ? [] : [`Worker "${worker.id}" ${gone}`];
    });
    if (selection.flags.json) printJson({ workers: sent, ...error });
    else if (lines.length > 0) print(lines.join("\n"));
    else if (silent.length === 0) print("No online workers");
    for (const line of [...silent, ...doubts]) printError(`jobs: ${line}`);
    return silent.length === 0 ? 0 : 1;
  });
}

/** Sends a command to workers, one by one. Returns those that have it, and why others can't follow it. */
async function sendEach(store: Store, action: typeof actions.stop.one, workers: readonly WorkerInfo[]) {
  const sent: string[] = [];
  const silent: string[] = [];
  await Promise.all(workers.map(async ({ id }) => {
    try {
      await actHere(store, action, { id });
      sent.push(id);
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      // A worker may end after it was selected.
      if (error.kind !== "missing") silent.push(error.message);
    }
  }));
  return { sent, silent };
}
