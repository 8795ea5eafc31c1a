/**
 * The Lua scripts. Each is one atomic step of the store. The head of each describes its arguments and its result.
 *
 * A file of `lua/` has the scripts of one subject, and parts that they share. The line before each names it, its flags, and the
 * parts that it uses: `--- script NAME FLAGS: PART PART`, `--- part NAME: PART`. A part brings the parts that it uses itself.
 *
 * The keys and arguments of a script follow its name: `NAME(key, others[]; now, limit, nodes[name, needs], names[])`. Its text has
 * local variables of these names, and the client passes the values by name. `now` is the time, from the offset of the clock. Lists
 * come last: `nodes` has tables with these fields, `names` has texts.
 *
 * The text of a script begins with `#!lua`: Redis then decides before the first line whether it can run the script. A server that
 * is out of memory, or has become a replica, rejects a script as a whole and never in the middle.
 *
 * @module
 */
import { createHash } from "node:crypto";
import type { Arg } from "./encode.ts";
import { type Args, type Head, pack, parseHead, variablesOf } from "./script_head.ts";
import asides from "../lua/asides.lua" with { type: "text" };
import batches from "../lua/batches.lua" with { type: "text" };
import classes from "../lua/classes.lua" with { type: "text" };
import cron from "../lua/cron.lua" with { type: "text" };
import debounce from "../lua/debounce.lua" with { type: "text" };
import enqueue from "../lua/enqueue.lua" with { type: "text" };
import entries from "../lua/entries.lua" with { type: "text" };
import events from "../lua/events.lua" with { type: "text" };
import flows from "../lua/flows.lua" with { type: "text" };
import groups from "../lua/groups.lua" with { type: "text" };
import leases from "../lua/leases.lua" with { type: "text" };
import limits from "../lua/limits.lua" with { type: "text" };
import mailbox from "../lua/mailbox.lua" with { type: "text" };
import move from "../lua/move.lua" with { type: "text" };
import pauses from "../lua/pauses.lua" with { type: "text" };
import payloads from "../lua/payloads.lua" with { type: "text" };
import queues from "../lua/queues.lua" with { type: "text" };
import records from "../lua/records.lua" with { type: "text" };
import replace from "../lua/replace.lua" with { type: "text" };
import rescue from "../lua/rescue.lua" with { type: "text" };
import scratch from "../lua/scratch.lua" with { type: "text" };
import series from "../lua/series.lua" with { type: "text" };
import settle from "../lua/settle.lua" with { type: "text" };
import steps from "../lua/steps.lua" with { type: "text" };
import streams from "../lua/streams.lua" with { type: "text" };
import take from "../lua/take.lua" with { type: "text" };
import transfer from "../lua/transfer.lua" with { type: "text" };
import turns from "../lua/turns.lua" with { type: "text" };
import webhooks from "../lua/webhooks.lua" with { type: "text" };
import workers from "../lua/workers.lua" with { type: "text" };

/** A script or a part of `lua/`. */
export interface Section {
  /** Of Redis, such as "no-writes"; "" for none. */
  readonly flags: string;
  /** The names of the parts that it uses. */
  readonly parts: readonly string[];
  /** The keys and arguments of a script. */
  readonly head?: Head;
  readonly text: string;
}

const files: string[] = [];
let sections: Map<string, Section> | undefined;

/** Returns all scripts and parts, by "script NAME" and "part NAME". The files are split by the first call: `jobs push` runs one script. */
export function readSections(): ReadonlyMap<string, Section> {
  return sections ??= new Map(files.flatMap((file) => file.slice(4).split("\n--- ").map(sectionIn)));
}

const HEAD = /^(\w+ \w+)(?:\(([^)]*)\))?(?: ([\w-]+))?(?:: (.*))?\n/;

function sectionIn(section: string): [string, Section] {
  const [line, name, head, flags = "", parts] = HEAD.exec(section)!;
  const text = section.slice(line.length);
  return [name!, { flags, parts: parts?.split(" ") ?? [], ...(head !== undefined && { head: parseHead(head) }), text }];
}

/** A script. Its text and digest are made when it first runs: those of all scripts take as long as a tenth of `jobs push`. */
export class Script {
  readonly name: string;
  #head: Head | undefined;
  #text: string | undefined;
  #sha: string | undefined;

  constructor(name: string) {
    this.name = name;
  }

  /** Returns the command that runs the script, by its digest or its text. @throws {TypeError} if a name is unknown or missing */
  command(values: Args, by: "digest" | "text" = "digest"): Arg[] {
    const command: Arg[] = by === "text" ? ["EVAL", this.text] : ["EVALSHA", this.sha];
    pack(this.name, this.#head ??= readSections().get(`script ${this.name}`)!.head!, values, command);
    return command;
  }

  get text(): string {
    return this.#text ??= textOf(this.name);
  }

  /** The SHA-1 of the text, by which Redis runs the script (`EVALSHA`). */
  get sha(): string {
    return this.#sha ??= createHash("sha1").update(this.text).digest("hex");
  }
}

function textOf(name: string): string {
  const all = readSections();
  const { flags, parts, head, text } = all.get(`script ${name}`)!;
  const included = new Set<string>();
  const include = (part: string) => {
    const { parts, text } = all.get(`part ${part}`)!;
    parts.forEach(include);
    included.add(text);
  };
  parts.forEach(include);
  return [`#!lua${flags && ` flags=${flags}`}\n`, ...included, variablesOf(head!), text].join("");
}

/** Returns the scripts of a file by their names. A test compares the names with those in the file. */
function scripts<Name extends string>(file: string, ...names: readonly Name[]): Record<Name, Script> {
  files.push(file);
  return Object.fromEntries(names.map((name) => [name, new Script(name)])) as Record<Name, Script>;
}

export const SCRIPTS = {
  ...scripts(asides, "returnAsides"),
  ...scripts(
    batches,
    "batchAdmit",
    "batchClose",
    "batchCorrect",
    "batchCount",
    "batchCreate",
    "batchPage",
    "batchTend",
  ),
  ...scripts(classes, "declareClasses", "declareWebhooks"),
  ...scripts(webhooks),
  ...scripts(cron, "cronClaim", "cronPage", "cronRead", "cronReplan", "cronSurvey", "cronWrite"),
  ...scripts(debounce),
  ...scripts(enqueue, "enqueue"),
  ...scripts(entries, "readDue", "readEntries"),
  ...scripts(events, "eventsKeep", "eventsRead"),
  ...scripts(flows, "flowAdd"),
  ...scripts(groups, "readGroupRows", "slowestGroup", "wakeGroups"),
  ...scripts(leases, "countLeases", "readLeases", "reconcileLeases", "stillLeased"),
  ...scripts(limits, "limitGroup", "limitQueue", "readBlockedQueues"),
  ...scripts(mailbox, "reply", "send"),
  ...scripts(move, "move"),
  ...scripts(pauses, "forgetQueue", "hasQueuedJobs", "pauseGroup", "pauseQueue"),
  ...scripts(payloads),
  ...scripts(queues, "readQueueRows", "stats"),
  ...scripts(records, "readRecords"),
  ...scripts(replace),
  ...scripts(rescue, "readOfflineLeases", "rescue"),
  ...scripts(scratch, "claimScratch"),
  ...scripts(series, "recordMetrics", "sampleQueues"),
  ...scripts(settle, "settle"),
  ...scripts(steps, "signal", "stepClear", "stepRemember", "stepWait", "stepWaits", "stepWake"),
  ...scripts(streams, "importStream", "streamAppend", "streamRead"),
  ...scripts(take, "take"),
  ...scripts(
    transfer,
    "announce",
    "flowImport",
    "importJobs",
    "importSteps",
    "importThrottles",
    "migrateOut",
    "readThrottles",
  ),
  ...scripts(turns),
  ...scripts(workers, "claim", "deregister", "heartbeat", "note"),
};
