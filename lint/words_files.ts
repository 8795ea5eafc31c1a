/**
 * Applies the table of `lint/words.ts` to the files that `deno lint` doesn't read: Markdown, Lua and SQL.
 *
 *     deno run --allow-read=. lint/words_files.ts
 *
 * @module
 */
import { join, resolve } from "node:path";
import { bannedPhrases, type Finding, isCovered } from "./words.ts";

const ROOT = resolve(import.meta.dirname!, "..");

/** Folders that hold no files of the project. */
const SKIPPED = new Set(["node_modules", "dist", "coverage", "tmp"]);

/** Returns each banned phrase in the prose of a file: all of Markdown but its code, the comments of Lua and SQL. */
export function phrasesInFile(path: string, text: string): Finding[] {
  return bannedPhrases(path.endsWith(".md") ? withoutCode(text) : commentsOf(text), "prose");
}

/** Blanks out fenced code, HTML comments and the targets of links. */
function withoutCode(text: string): string {
  return text.replace(/^(\s*)(```|~~~).*?^\s*\2\s*$|<!--.*?-->|\]\([^)]*\)/gms, (code) => code.replace(/[^\n]/g, " "));
}

/** Blanks out everything except the comments, which begin with `--`. */
function commentsOf(text: string): string {
  return text.split("\n").map((line) => {
    const start = line.indexOf("--");
    return start < 0 ? " ".repeat(line.length) : " ".repeat(start + 2) + line.slice(start + 2);
  }).join("\n");
}

/** Yields the paths of Markdown, Lua and SQL files, relative to the project's folder. */
async function* files(folder = ""): AsyncGenerator<string> {
  for await (const { name, isDirectory } of Deno.readDir(join(ROOT, folder))) {
    if (name.startsWith(".") || SKIPPED.has(name)) continue;
    if (isDirectory) yield* files(join(folder, name));
    else if (/\.(md|lua|sql)$/.test(name)) yield join(folder, name);
  }
}

if (import.meta.main) {
  let count = 0;
  for await (const path of files()) {
    if (!isCovered(path)) continue;
    const text = await Deno.readTextFile(join(ROOT, path));
    for (const { index, phrase, instead } of phrasesInFile(path, text)) {
      const line = text.slice(0, index).split("\n").length;
      console.error(`${path}:${line}: "${phrase}": write ${instead}`);
      count++;
    }
  }
  if (count > 0) {
    console.error(`${count} phrases that lint/words.ts bans`);
    Deno.exit(1);
  }
}
