/**
 * The topic generated from the table of `--json` output.
 *
 * @module
 */
import { SHAPES } from "./json_shapes.ts";

/** `jobs help json`. */
export function jsonText(): string {
  return `Output for programs

With --json a command prints its result as JSON on stdout, and nothing else
there. A failed command prints {"error":{"code":…,"message":…}}. Times are ISO
8601 in UTC. Fields stay; new ones may be added. A ? marks fields that may be
absent. docs/reference/json.md describes each field.

${
    SHAPES.map(({ command, prints, fields }) => `${command}: ${prints}\n    ${wrapped(Object.keys(fields))}`)
      .join("\n\n")
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
