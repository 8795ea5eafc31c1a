/**
 * YAML with the types of JSON. A plain scalar is null, a boolean or a number only if it is written as in JSON. Dates, `yes`,
 * `0300`, `0x10` and `1_000` are text, which the checks of settings read or reject.
 *
 * @module
 */
import { LoaderState, type YamlType } from "@std/yaml";
import { parseLossless } from "../job/json.ts";

const NULLS: readonly unknown[] = [null, "~", "null", "Null", "NULL"];
const TRUE = ["true", "True", "TRUE"];
const FALSE = ["false", "False", "FALSE"];
const NUMBER = /^-?(0|[1-9]\d*)(\.\d+)?([eE][-+]?\d+)?$/;

function typeOf(
  name: string,
  resolve: (text: string) => boolean,
  construct: (text: string) => unknown,
  kind: YamlType["kind"] = "scalar",
): YamlType {
  return { tag: `tag:yaml.org,2002:${name}`, kind, resolve, construct };
}

const isNumber = (text: string) => NUMBER.test(text) && Number.isFinite(Number(text));

/** The types of plain scalars, in the order in which they are tried. */
const IMPLICIT: readonly YamlType[] = [
  typeOf("null", (text) => NULLS.includes(text), () => null),
  typeOf("bool", (text) => TRUE.includes(text) || FALSE.includes(text), (text) => TRUE.includes(text)),
  typeOf("int", isNumber, parseLossless),
  typeOf("float", isNumber, parseLossless),
  typeOf("merge", (text) => text === "<<", (text) => text),
];
const ALL: readonly YamlType[] = [
  ...IMPLICIT,
  typeOf("str", () => true, (text) => text ?? ""),
  typeOf("seq", () => true, (list) => list ?? [], "sequence"),
  typeOf("map", () => true, (object) => object ?? {}, "mapping"),
];
const byTag = (types: readonly YamlType[]) => new Map(types.map((type) => [type.tag, type]));
const SCHEMA = {
  implicitTypes: IMPLICIT,
  typeMap: {
    scalar: byTag(ALL.filter(({ kind }) => kind === "scalar")),
    sequence: byTag(ALL.filter(({ kind }) => kind === "sequence")),
    mapping: byTag(ALL.filter(({ kind }) => kind === "mapping")),
    fallback: byTag(ALL),
  },
};

/**
 * Parses one YAML document.
 *
 * @returns null if it is empty
 * @throws {SyntaxError} if it is invalid, has equal keys in an object, or several documents
 */
export function parseYaml(text: string): unknown {
  const nul = text.indexOf("\0");
  // The parser takes it for the end.
  if (nul >= 0) throw new SyntaxError(`line ${text.slice(0, nul).split("\n").length} has a NUL character`);
  const documents = new LoaderState(`${text}\n`, { schema: SCHEMA }).readDocuments({ singleDocument: true });
  const document = documents.next().value;
  documents.next();
  return document ?? null;
}
