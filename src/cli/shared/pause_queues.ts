/**
 * Shared part of `jobs pause` and `jobs resume`.
 *
 * @module
 */
import type { WorkerInfo } from "../../store/port/workers.ts";
import { closestWord } from "../../job/suggest.ts";
import type { AnyAction, Tools } from "../../operator/actions/action.ts";
import * as queues from "../../operator/actions/queues.ts";
import type { QueueInfo } from "../../store/admin/admin.ts";
import { ALL_QUEUES } from "../../store/port/paused_queues.ts";
import { UsageError } from "../terminal/errors.ts";
import { print, printError, printJson } from "../terminal/output.ts";
import { actHere, inputOf } from "./act.ts";
import { report } from "./report.ts";
import { shellWord } from "../../text/shell.ts";
import { shownQueue } from "../../text/queues.ts";
import { type ConfigFlags, withStore } from "./store.ts";
import { remarkUndo } from "./undo.ts";

const ACTIONS = {
  pause: { all: queues.pauseAll, queue: queues.pauseQueue, group: queues.pauseGroup, past: "Paused" },
  resume: { all: queues.resumeAll, queue: queues.resumeQueue, group: queues.resumeGroup, past: "Resumed" },
} as const;

interface PauseFlags extends ConfigFlags {
  readonly json: boolean;
  readonly for?: string | undefined;
  readonly group?: string | undefined;
}

/** Pauses or resumes the named queues, all queues if none is named, or a group of one. */
export async function changePauses(
  verb: "pause" | "resume",
  flags: PauseFlags,
  names: readonly string[],
): Promise<number> {
  if (flags.group !== undefined) return await changeGroupPause(verb, flags, names);
  const { all, queue, past } = ACTIONS[verb];
  const action: AnyAction<Tools> = names.length === 0 ? all : queue;
  const queues = names.length > 0 ? names : [ALL_QUEUES];
  const inputs = (names.length > 0 ? names : [undefined])
    .map((name) => inputOf(action.takes, { name, for: flags.for }, WORDS));
  return await withStore(flags, async (store) => {
    const [{ queues: before }, workers] = await Promise.all([store.admin.stats(), store.workers.list()]);
    for (const input of inputs) await actHere(store, action, input);
    const remarks = queues.map((queue) =>
      verb === "pause" ? unknownQueue(queue, before, workers) : notPaused(queue, before)
    );
    await report(
      () =>
        flags.json
          ? printJson({ [past.toLowerCase()]: queues })
          : print(queues.map((queue) => `${past} ${queueText(queue)}`).join("\n")),
      ...remarks.map((remark) => () => remark !== undefined && printError(`jobs: ${remark}`)),
      () => verb === "resume" && remarkQuiet(workers),
      () => verb === "pause" && !flags.json && remarkUndo(["jobs resume", ...names.map(shellWord)].join(" ")),
    );
    return 0;
  }, { make: verb === "pause" ? "unnamed" : "never" });
}

const WORDS = { args: { name: "queue" } } as const;

async function changeGroupPause(
  verb: "pause" | "resume",
  flags: PauseFlags,
  [queue, more]: readonly string[],
): Promise<number> {
  const { group = "" } = flags;
  if (queue === undefined) throw new UsageError(`Missing argument: QUEUE. Usage: jobs ${verb} QUEUE --group NAME`);
  if (more !== undefined) throw new UsageError(`Unexpected argument "${more}": --group belongs to one queue`);
  const { group: action, past } = ACTIONS[verb];
  const input = inputOf(action.takes, { name: queue, group, for: flags.for }, WORDS);
  return await withStore(flags, async (store) => {
    const [before] = (await store.admin.groups(queue, { group })).groups;
    await actHere(store, action, input);
    const named = `group "${group}" of queue "${queue}"`;
    await report(
      () => flags.json ? printJson({ [past.toLowerCase()]: [queue], group }) : print(`${past} ${named}`),
      () => verb === "resume" && !before?.paused && printError(`jobs: ${named} wasn't paused`),
      () =>
        verb === "pause" && !flags.json &&
        remarkUndo(`jobs resume ${shellWord(queue)} --group ${shellWord(group)}`),
    );
    return 0;
  }, { make: verb === "pause" ? "unnamed" : "never" });
}

/** Names what a resume of queues leaves as it is. */
function remarkQuiet(workers: readonly WorkerInfo[]): void {
  const quiet = workers.filter((worker) => worker.alive && worker.quiet && !worker.stopping).length;
  if (quiet === 0) return;
  const subject = quiet === 1 ? "1 worker is quiet and fetches" : `${quiet} workers are quiet and fetch`;
  printError(`jobs: ${subject} nothing; jobs resume --all-workers resumes them`);
}

function queueText(queue: string): string {
  return queue === ALL_QUEUES ? "all queues" : `queue "${queue}"`;
}

/** Remarks on a queue that doesn't exist yet: pausing it is valid, but the name may be misspelled. */
function unknownQueue(
  queue: string,
  queues: readonly QueueInfo[],
  workers: readonly WorkerInfo[],
): string | undefined {
  const known = [
    ...queues.map(({ name }) => name),
    ...workers.filter(({ alive }) => alive).flatMap(({ queues }) => queues),
  ];
  if (queue === ALL_QUEUES || known.includes(queue)) return undefined;
  const meant = closestWord(queue, known.filter((name) => name !== ALL_QUEUES));
  return `queue "${queue}" is new: it has no jobs and no worker yet` +
    (meant ? `; did you mean "${meant}"? (jobs resume ${queue} undoes this)` : "");
}

function notPaused(queue: string, queues: readonly QueueInfo[]): string | undefined {
  const paused = queues.filter((info) => info.paused).map(({ name }) => name);
  if (paused.includes(queue)) {
    const named = queue === ALL_QUEUES ? paused.filter((name) => name !== ALL_QUEUES) : [];
    return named.length === 0 ? undefined : `still paused by name: ${named.map(shownQueue).join(", ")}`;
  }
  const others = paused.length === 0 ? "" : `; paused: ${paused.map(shownQueue).join(", ")}`;
  return `${queueText(queue)} ${queue === ALL_QUEUES ? "weren't paused as a whole" : "wasn't paused"}${others}`;
}
