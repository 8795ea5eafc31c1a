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
    const { parseYaml } = await import("./yaml.ts");
    // In YAML, a file with only comments is null.
    return expand(withoutExcerpt(text, parseYaml) ?? {});
  }
  if (!file.endsWith(".jsonc")) return parseLossless(plainJson(checked(text, JSON.parse)));
  return parseLossless(plainJson(checked(text, (await import("@std/jsonc")).parse)));
}

/**
 * Parses a text. An error names the line and no part of the text, unlike those of the parsers: it is logged, and the file has
 * passwords.
 */
function withoutExcerpt(text: string, parse: (text: string) => unknown): unknown {
  try {
    return parse(text);
  } catch (error) {
    throw new SyntaxError(reasonOf((error as Error).message, text));
  }
}

/** `JSON.parse` shows this many characters before the wrong one. */
const EXCERPT_CHARS = 10;

function reasonOf(message: string, text: string): string {
  // JSON: `Unexpected token 'x', ..."a": xyz"... is not valid JSON`.
  const [, token, dots, excerpt] =
    /^Unexpected token '(.)', (\.\.\.)?"([^]*)"(?:\.\.\.)? is not valid JSON$/u.exec(message) ?? [];
  if (excerpt !== undefined) {
    const from = text.indexOf(excerpt) + (dots === undefined ? 0 : EXCERPT_CHARS);
    return `unexpected ${JSON.stringify(token)} in line ${lineOf(text, text.indexOf(token!, from))}`;
  }
  // JSON with comments: `Cannot parse JSONC: unexpected token "xyz" in JSONC at position 7`.
  const [, position] = /^Cannot parse JSONC: unexpected token [^]* at position (\d+)$/.exec(message) ?? [];
  if (position !== undefined) return `unexpected text in line ${lineOf(text, Number(position))}`;
  // YAML: the line is below the message, which may name a tag or an alias.
  return message.replace(/:?\n[^]*$/, "").replace(/ !<[^>]*>| "[^"]*"/, "");
}

function lineOf(text: string, position: number): number {
  return text.slice(0, Math.max(0, position)).split("\n").length;
}

function checked(text: string, parse: (text: string) => unknown): string {
  withoutExcerpt(text, parse);
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
