/**
 * The text of a configuration file, as JSON values: whatever the format, the checks of settings meet the same types.
 *
 * @module
 */
import { parseLossless } from "../job/json.ts";

/** A file with more values repeats itself through anchors. */
const MAX_VALUES = 100_000;
const MAX_LEVELS = 100;

/**
 * Parses YAML, JSON with comments, or JSON, by the file's extension.
 *
 * @throws {SyntaxError} if it is invalid, has two equal keys in an object, or anchors that contain or multiply themselves
 */
export async function parseDocument(file: string, text: string): Promise<unknown> {
  if (/\.ya?ml$/.test(file)) {
    // In YAML, a file with only comments is null.
    return expand((await import("./yaml.ts")).parseYaml(text) ?? {});
  }
  if (!file.endsWith(".jsonc")) return parseLossless(plainJson(checked(text, JSON.parse)));
  return parseLossless(plainJson(checked(text, (await import("@std/jsonc")).parse)));
}

function checked(text: string, parse: (text: string) => unknown): string {
  parse(text);
  return text;
}

/** The tokens of valid JSON with comments. */
const TOKENS = /"(?:[^"\\]|\\.)*"|\/\/[^\n\r]*|\/\*[^]*?\*\/|[{}[\],:]|[^\s{}[\],:"/]+/g;

/**
 * Returns valid JSON without comments and trailing commas.
 *
 * @throws {SyntaxError} if an object has two equal keys: `JSON.parse` keeps the last
 */
function plainJson(text: string): string {
  const tokens = Array.from(text.matchAll(TOKENS)).filter(([token]) => !token.startsWith("/"));
  const objects: (Set<string> | undefined)[] = [];
  let plain = "";
  for (const [i, { 0: token, index }] of tokens.entries()) {
    const next = tokens[i + 1]?.[0];
    if (token === "{" || token === "[") objects.push(token === "{" ? new Set() : undefined);
    else if (token === "}" || token === "]") objects.pop();
    if (token === "," && (next === "}" || next === "]")) continue;
    if (token.startsWith('"') && next === ":") {
      const key = JSON.parse(token) as string;
      if (objects.at(-1)!.has(key)) {
        throw new SyntaxError(`the key ${token} is given twice (line ${text.slice(0, index).split("\n").length})`);
      }
      objects.at(-1)!.add(key);
    }
    plain += token;
  }
  return plain;
}

/** Returns a copy in which each use of an anchor is a separate value. */
function expand(document: unknown): unknown {
  let count = 0;
  const copy = (value: unknown, level: number): unknown => {
    if (typeof value !== "object" || value === null) return value;
    if (level > MAX_LEVELS) throw new SyntaxError(`more than ${MAX_LEVELS} levels; an anchor may contain itself`);
    const entries = Object.entries(value).map(([key, inner]) => {
      if (++count > MAX_VALUES) throw new SyntaxError(`more than ${MAX_VALUES} values; anchors multiply each other`);
      return [key, copy(inner, level + 1)] as const;
    });
    return Array.isArray(value) ? entries.map(([, inner]) => inner) : Object.fromEntries(entries);
  };
  return copy(document, 0);
}
