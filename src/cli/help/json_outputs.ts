/**
 * The output of every command with `--json`. docs/reference/json.md is generated from this table, and a test checks each
 * command against it. Fields stay, with their meaning; new ones may be added.
 *
 * @module
 */
import { batchListShape, flowListShape, shownBatchShape, shownFlowShape } from "../../operator/shapes/batches.ts";
import * as changes from "../../operator/shapes/changes.ts";
import { cronCheckShape, entryPageShape, historyShape, nextRunsShape } from "../../operator/shapes/cron.ts";
import { eventShape } from "../../operator/shapes/events.ts";
import { finishedPageShape, finishedShape } from "../../operator/shapes/finished.ts";
import { errorsShape, foundShape, jobPageShape, shownJobShape } from "../../operator/shapes/jobs.ts";
import { outboxShape, retriedRowsShape } from "../../operator/shapes/outbox.ts";
import { groupPageShape, limitListShape, queueShape } from "../../operator/shapes/queues.ts";
import { rowsOf } from "../../operator/shapes/rows.ts";
import { list, object, type Shape } from "../../operator/shapes/shape.ts";
import { statsShape, topShape } from "../../operator/shapes/stats.ts";
import { signalPageShape, stepListShape } from "../../operator/shapes/steps.ts";
import * as upkeep from "../../operator/shapes/upkeep.ts";
import { text } from "../../operator/shapes/values.ts";
import { commandedShape, dumpsShape, workerListShape } from "../../operator/shapes/workers.ts";

/** The output of one command. */
export interface Output {
  /** As typed, without `--json`. */
  readonly command: string;
  readonly shape: Shape<unknown>;
  /** Whether it prints an object a line. */
  readonly isLines?: true;
  /** A remark. */
  readonly note?: string;
}

/** The table, by command in the order of `jobs help`. */
export const OUTPUTS: readonly Output[] = [
  { command: "jobs init", shape: upkeep.initShape },
  { command: "jobs push CLASS", shape: changes.pushedShape },
  {
    command: "jobs push --bulk FILE",
    shape: changes.pushedLineShape,
    isLines: true,
    note: "Invalid lines are named on stderr.",
  },
  { command: "jobs push CLASS --wait", shape: finishedShape },
  { command: "jobs list STATE", shape: jobPageShape },
  { command: "jobs list finished", shape: finishedPageShape },
  { command: "jobs list groups QUEUE", shape: groupPageShape },
  { command: "jobs list signals", shape: signalPageShape },
  { command: "jobs find", shape: foundShape },
  {
    command: "jobs show JID",
    shape: shownJobShape,
    note:
      "`jobs`, a list of such objects, if several jobs have that jid. Of a finished job, the output of `push --wait`.",
  },
  { command: "jobs errors", shape: errorsShape },
  {
    command: "jobs queues",
    shape: object("", {
      queues: list(
        "the queues, by name",
        object("", {
          ...queueShape.fields,
          workers: list("the IDs of the online workers that fetch from it and are not quiet", text("")),
        }),
      ),
    }),
  },
  { command: "jobs cron list", shape: entryPageShape },
  { command: "jobs cron next NAME", shape: nextRunsShape },
  { command: "jobs cron history NAME", shape: historyShape },
  { command: "jobs cron run NAME", shape: changes.doneShape("jid", "the enqueued job") },
  { command: "jobs cron add NAME CLASS", shape: changes.doneShape("added", "the entry") },
  { command: "jobs cron pause NAME", shape: changes.doneShape("paused", "the entry") },
  { command: "jobs cron resume NAME", shape: changes.doneShape("resumed", "the entry") },
  { command: "jobs cron remove NAME", shape: changes.doneShape("removed", "the entry") },
  { command: "jobs cron add --bulk FILE", shape: changes.countShape("entries were added or replaced") },
  { command: "jobs cron pause --prefix TEXT", shape: changes.countShape("entries were paused") },
  { command: "jobs cron resume --prefix TEXT", shape: changes.countShape("entries were resumed") },
  { command: "jobs cron remove --prefix TEXT", shape: changes.countShape("entries were removed") },
  { command: "jobs cron check", shape: cronCheckShape },
  { command: "jobs workers", shape: workerListShape },
  { command: "jobs stats", shape: statsShape },
  { command: "jobs events", shape: eventShape, isLines: true },
  { command: "jobs top --once", shape: topShape },
  { command: "jobs retry", shape: changes.editedShape("retried") },
  { command: "jobs kill", shape: changes.editedShape("killed") },
  { command: "jobs cancel", shape: changes.editedShape("cancelled") },
  { command: "jobs delete", shape: changes.editedShape("deleted") },
  { command: "jobs move", shape: changes.editedShape("moved") },
  { command: "jobs clear QUEUE", shape: changes.clearedShape },
  { command: "jobs pause", shape: changes.queuesShape("paused") },
  { command: "jobs resume", shape: changes.queuesShape("resumed") },
  { command: "jobs limit", shape: limitListShape },
  { command: "jobs quiet|stop", shape: commandedShape, note: "`jobs resume --worker` prints the same." },
  { command: "jobs dump", shape: dumpsShape },
  { command: "jobs batch open", shape: changes.doneShape("id", "the batch's ID") },
  { command: "jobs batch close ID", shape: changes.closedShape },
  { command: "jobs batch list", shape: batchListShape },
  { command: "jobs batch show ID", shape: shownBatchShape },
  { command: "jobs batch cancel ID", shape: changes.cancelledShape("batch", "members") },
  { command: "jobs batch retry ID", shape: changes.retriedShape("members") },
  { command: "jobs batch check ID", shape: changes.checkedShape },
  { command: "jobs flow push FILE", shape: changes.pushedFlowShape },
  { command: "jobs flow list", shape: flowListShape },
  { command: "jobs flow show ID", shape: shownFlowShape },
  { command: "jobs flow cancel ID", shape: changes.cancelledShape("flow", "nodes") },
  { command: "jobs flow retry ID", shape: changes.retriedShape("nodes") },
  { command: "jobs steps JID", shape: stepListShape },
  { command: "jobs steps clear JID", shape: changes.clearedStepsShape },
  { command: "jobs steps rerun JID NAME", shape: changes.rerunShape },
  { command: "jobs steps wake JID", shape: changes.wokenShape },
  { command: "jobs signal KEY", shape: changes.signalledShape },
  { command: "jobs backup FILE", shape: upkeep.backupShape },
  { command: "jobs restore FILE", shape: upkeep.restoredShape },
  { command: "jobs outbox", shape: outboxShape },
  { command: "jobs outbox retry", shape: retriedRowsShape },
  { command: "jobs migrate", shape: upkeep.migratedShape },
  { command: "jobs web --new-user NAME", shape: upkeep.userShape },
  { command: "jobs web --new-token NAME", shape: upkeep.tokenShape },
  { command: "jobs bench", shape: upkeep.benchShape },
  { command: "jobs doctor", shape: upkeep.doctorShape },
  { command: "jobs doctor --ready", shape: upkeep.readyShape },
  { command: "jobs version", shape: upkeep.versionShape },
];

/** Returns the kind of an output, in words. A list is a field of an object: what belongs to all of it can be added. */
export function printsOf({ isLines }: Output): string {
  return isLines ? "an object a line" : "an object";
}

/** `jobs help json`. */
export function jsonText(): string {
  return `Output for programs

With --json a command prints its result as one JSON object on stdout, and
nothing else there. A list is a field of it. A failed command prints
{"error":{"code":…,"message":…}}. Times are ISO 8601 in UTC. Fields stay; new
ones may be added. A ? marks fields that may be absent.
docs/reference/json.md describes each field.

${
    OUTPUTS.map((output) => {
      const paths = rowsOf(output.shape).map(([path]) => path);
      return `${output.command}: ${printsOf(output)}\n    ${wrapped(paths)}`;
    }).join("\n\n")
  }`;
}

/** Wraps to lines of at most 80 characters. */
function wrapped(words: readonly string[]): string {
  const lines: string[] = [];
  for (const word of words) {
    const last = lines.at(-1);
    if (last === undefined || last.length + word.length > 72) lines.push(word);
    else lines[lines.length - 1] = `${last}, ${word}`;
  }
  return lines.join(",\n    ");
}
