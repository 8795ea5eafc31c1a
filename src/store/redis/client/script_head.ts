/**
 * The head of a script: the names of its keys and arguments. From it follow the variables of the script, in Lua, and the order in
 * which the client sends the arguments.
 *
 * @module
 */
import type { Arg } from "./encode.ts";

/** Keys and arguments of a script by their names. `undefined` and `false` are passed as "", `true` as "1". */
export interface Args {
  readonly [name: string]: Value | readonly (Value | Args)[];
}

type Value = Arg | number | boolean | undefined;

/** A key or an argument. A list has fields: none if its items are texts. */
interface Field {
  readonly name: string;
  fields?: readonly Field[];
}

/** The names of a script's keys and arguments. Lists come last, also within lists. */
export interface Head {
  /** Texts; the last one may be a list of texts. */
  readonly keys: readonly Field[];
  readonly args: readonly Field[];
}

/** Parses a head: `leases, steps[]; now, limit, nodes[name, needs], names[]`. */
export function parseHead(text: string): Head {
  const [keys, args] = text.split(";").map((part) => fieldsIn(part.match(/\w+|[[\]]/g) ?? []));
  return { keys: keys!, args: args! };
}

/** Parses fields up to the end of a list. Removes the tokens. */
function fieldsIn(tokens: string[]): Field[] {
  const fields: Field[] = [];
  for (let token = tokens.shift(); token !== undefined && token !== "]"; token = tokens.shift()) {
    if (token === "[") fields.at(-1)!.fields = fieldsIn(tokens);
    else fields.push({ name: token });
  }
  return fields;
}

/** Returns the Lua that makes variables of the keys and arguments. */
export function variablesOf({ keys, args }: Head): string {
  const lines = keys.map(({ name, fields }, i) =>
    `local ${name} = ${fields ? `{ unpack(KEYS, ${i + 1}) }` : `KEYS[${i + 1}]`}`
  );
  const texts = args.filter(({ fields }) => !fields);
  for (const [i, { name }] of texts.entries()) {
    if (name === "now") lines.push("local time = redis.call('TIME')");
    const value = name === "now" ? `time[1] * 1000 + math.floor(time[2] / 1000) + ARGV[${i + 1}]` : `ARGV[${i + 1}]`;
    lines.push(`local ${name} = ${value}`);
  }
  if (texts.length < args.length) lines.push(`local given, lastRead = ARGV, ${texts.length}`);
  for (const { name, fields } of args) if (fields) lines.push(`local ${name} = {}`, ...reading(name, fields));
  return lines.map((line) => `${line}\n`).join("");
}

/** Returns the Lua that fills a list: its length comes after `given[lastRead]`, then its items. */
function reading(list: string, fields: readonly Field[], depth = 1): string[] {
  const [i, item] = [`i${depth}`, `item${depth}`];
  const begin = ["lastRead = lastRead + 1", `for ${i} = 1, given[lastRead] do`];
  if (fields.length === 0) {
    return [...begin, `${list}[${i}] = given[lastRead + ${i}]`, "end", `lastRead = lastRead + #${list}`];
  }
  const texts = fields.filter(({ fields }) => !fields).length;
  const values = fields.map(({ name, fields }, k) => `${name} = ${fields ? "{}" : `given[lastRead + ${k + 1}]`}`);
  return [
    ...[...begin, `local ${item} = { ${values.join(", ")} }`, `lastRead = lastRead + ${texts}`],
    ...fields.flatMap(({ name, fields }) => fields ? reading(`${item}.${name}`, fields, depth + 1) : []),
    ...[`${list}[${i}] = ${item}`, "end"],
  ];
}

/**
 * Adds keys and arguments to a command: the number of keys, the keys, then the arguments, of a list first its length.
 *
 * @throws {TypeError} if a name is unknown or missing
 */
export function pack(script: string, { keys, args }: Head, values: Args, command: Arg[]): void {
  const count = command.push("");
  for (const { name, fields } of keys) {
    const key = valueOf(script, values, name);
    if (fields) command.push(...key as readonly Arg[]);
    else command.push(key as Arg);
  }
  command[count - 1] = `${command.length - count}`;
  packFields(script, args, values, command);
  checkCount(script, values, [...keys, ...args]);
}

/** Adds arguments in the order of their fields. Workers pack one call for every few jobs. */
function packFields(script: string, fields: readonly Field[], values: Args, command: Arg[]): void {
  for (const { name, fields: inner } of fields) {
    const value = valueOf(script, values, name);
    if (!inner) {
      command.push(textOf(value as Value));
      continue;
    }
    const items = value as readonly (Value | Args)[];
    command.push(`${items.length}`);
    for (const item of items) {
      if (inner.length === 0) {
        command.push(textOf(item as Value));
        continue;
      }
      packFields(script, inner, item as Args, command);
      checkCount(script, item as Args, inner);
    }
  }
}

function valueOf(script: string, values: Args, name: string): Args[string] {
  const value = values[name];
  if (value === undefined && !(name in values)) throw wrongName(script, name);
  return value;
}

/** Throws if there are more values than fields. */
function checkCount(script: string, values: Args, fields: readonly Field[]): void {
  const names = Object.keys(values);
  if (names.length === fields.length) return;
  throw wrongName(script, names.find((name) => fields.every((field) => field.name !== name))!);
}

function wrongName(script: string, name: string): TypeError {
  return new TypeError(`Script ${script}: "${name}" is unknown or missing`);
}

function textOf(value: Value): Arg {
  if (typeof value === "boolean") return value ? "1" : "";
  return typeof value === "number" ? `${value}` : value ?? "";
}
