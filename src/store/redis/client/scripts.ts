/**
 * The Lua scripts. Each is one atomic step of the store. The head of each describes its arguments and its result.
 *
 * A file of `lua/` has the scripts of one subject, and parts that they share. The line before each names it, its flags, and the
 * parts that it uses: `--- script NAME FLAGS: PART PART`, `--- part NAME: PART`. A part brings the parts that it uses itself.
 *
 * The keys and arguments of a script may follow its name: `NAME(key; now, limit, nodes[name, needs], names[])`. Its text then has
 * local variables of these names, and the client passes the arguments by name. `now` is the time, from the offset of the clock. Lists
 * come last: `nodes` has tables with these fields, `names` has texts.
 *
 * The text of a script begins with `#!lua`: Redis then decides before the first line whether it can run the script. A server that
 * is out of memory, or has become a replica, rejects a script as a whole and never in the middle.
 *
 * @module
 */
import { createHash } from "node:crypto";
import type { Arg } from "./encode.ts";
import batches from "../lua/batches.lua" with { type: "text" };
import classes from "../lua/classes.lua" with { type: "text" };
import cron from "../lua/cron.lua" with { type: "text" };
import debounce from "../lua/debounce.lua" with { type: "text" };
import enqueue from "../lua/enqueue.lua" with { type: "text" };
import entries from "../lua/entries.lua" with { type: "text" };
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
import take from "../lua/take.lua" with { type: "text" };
import transfer from "../lua/transfer.lua" with { type: "text" };
import turns from "../lua/turns.lua" with { type: "text" };
import workers from "../lua/workers.lua" with { type: "text" };

/** Arguments of a script by their names. `undefined` and `false` are passed as "", `true` as "1". */
export interface Args {
  readonly [name: string]: Value | readonly (Value | Args)[];
}

type Value = Arg | number | boolean | undefined;

/** An argument of a script. A list has fields: none if its items are texts. */
interface Field {
  readonly name: string;
  fields?: readonly Field[];
}

/** A script or a part of `lua/`. */
export interface Section {
  /** Of Redis, such as "no-writes"; "" for none. */
  readonly flags: string;
  /** The names of the parts that it uses. */
  readonly parts: readonly string[];
  /** The arguments of a script that names them. */
  readonly args?: readonly Field[];
  readonly text: string;
}

const files: string[] = [];
let sections: Map<string, Section> | undefined;

/** Returns all scripts and parts, by "script NAME" and "part NAME". The files are split by the first call: `jobs push` runs one script. */
export function readSections(): ReadonlyMap<string, Section> {
  return sections ??= new Map(files.flatMap((file) => file.slice(4).split("\n--- ").map(sectionIn)));
}

const HEAD = /^(\w+ \w+)(?:\(([^;]*);([^)]*)\))?(?: ([\w-]+))?(?:: (.*))?\n/;

function sectionIn(section: string): [string, Section] {
  const [head, name, keys, names, flags = "", parts] = HEAD.exec(section)!;
  const text = section.slice(head.length);
  const used = parts?.split(" ") ?? [];
  if (names === undefined) return [name!, { flags, parts: used, text }];
  const args = fieldsIn(names.match(/\w+|[[\]]/g) ?? []);
  const hasLists = args.some(({ fields }) => fields);
  return [name!, { flags, parts: hasLists ? ["lists", ...used] : used, args, text: variables(keys!, args) + text }];
}

/** Parses arguments up to the end of a list. Removes the tokens. */
function fieldsIn(tokens: string[]): Field[] {
  const fields: Field[] = [];
  for (let token = tokens.shift(); token !== undefined && token !== "]"; token = tokens.shift()) {
    if (token === "[") fields.at(-1)!.fields = fieldsIn(tokens);
    else fields.push({ name: token });
  }
  return fields;
}

/** Returns the Lua that makes variables of the keys and arguments. */
function variables(keys: string, args: readonly Field[]): string {
  const lines = keys === "" ? [] : [`local ${keys} = ${keys.split(",").map((_, i) => `KEYS[${i + 1}]`).join(", ")}`];
  const texts = args.filter(({ fields }) => !fields);
  for (const [i, { name }] of texts.entries()) {
    if (name === "now") lines.push("local time = redis.call('TIME')");
    const value = name === "now" ? `time[1] * 1000 + math.floor(time[2] / 1000) + ARGV[${i + 1}]` : `ARGV[${i + 1}]`;
    lines.push(`local ${name} = ${value}`);
  }
  if (texts.length < args.length) lines.push(`local readList = listsFrom(${texts.length + 1})`);
  const shapeOf = (fields: readonly Field[]): string =>
    `{${fields.map(({ name, fields }) => fields ? `{'${name}',${shapeOf(fields)}}` : `'${name}'`).join(",")}}`;
  for (const { name, fields } of args) if (fields) lines.push(`local ${name} = readList(${shapeOf(fields)})`);
  return lines.map((line) => `${line}\n`).join("");
}

/** Adds arguments in the order of their fields; of a list first its length. Workers pack one call for every few jobs. */
function pack(script: string, fields: readonly Field[], args: Args, packed: Arg[]): void {
  let known = 0;
  for (const { name, fields: inner } of fields) {
    const value = args[name];
    if (value !== undefined || name in args) known++;
    else throw wrongName(script, name);
    if (!inner) {
      packed.push(textOfValue(value as Value));
      continue;
    }
    const items = value as readonly (Value | Args)[];
    packed.push(`${items.length}`);
    for (const item of items) {
      if (inner.length === 0) packed.push(textOfValue(item as Value));
      else pack(script, inner, item as Args, packed);
    }
  }
  if (Object.keys(args).length > known) {
    throw wrongName(script, Object.keys(args).find((name) => fields.every((field) => field.name !== name))!);
  }
}

function wrongName(script: string, name: string): TypeError {
  return new TypeError(`Script ${script}: "${name}" is unknown or missing`);
}

function textOfValue(value: Value): Arg {
  if (typeof value === "boolean") return value ? "1" : "";
  return typeof value === "number" ? `${value}` : value ?? "";
}

/** A script. Its text and digest are made when it first runs: those of all scripts take as long as a tenth of `jobs push`. */
export class Script {
  readonly name: string;
  #args: readonly Field[] | undefined;
  #text: string | undefined;
  #sha: string | undefined;

  constructor(name: string) {
    this.name = name;
  }

  /** Returns the arguments as Redis receives them. @throws {TypeError} if a name is unknown or missing */
  pack(args: Args): readonly Arg[] {
    const packed: Arg[] = [];
    pack(this.name, this.#args ??= readSections().get(`script ${this.name}`)!.args ?? [], args, packed);
    return packed;
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
  const { flags, parts, text } = all.get(`script ${name}`)!;
  const included = new Set<string>();
  const include = (part: string) => {
    const { parts, text } = all.get(`part ${part}`)!;
    parts.forEach(include);
    included.add(text);
  };
  parts.forEach(include);
  return [`#!lua${flags && ` flags=${flags}`}\n`, ...included, text].join("");
}

/** Returns the scripts of a file by their names. A test compares the names with those in the file. */
function scripts<Name extends string>(file: string, ...names: readonly Name[]): Record<Name, Script> {
  files.push(file);
  return Object.fromEntries(names.map((name) => [name, new Script(name)])) as Record<Name, Script>;
}

export const SCRIPTS = {
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
  ...scripts(classes, "declareClasses"),
  ...scripts(cron, "cronRead", "cronWrite"),
  ...scripts(debounce),
  ...scripts(enqueue, "enqueue"),
  ...scripts(entries, "readDue", "readEntries"),
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
