/**
 * The topic that is made from the table of what `--json` prints.
 *
 * @module
 */
import { SHAPES } from "./json_shapes.ts";

/** `jobs help json`. */
export function jsonText(): string {
  return `Output for programs

With --json a command prints its result as JSON on stdout, and nothing else there. Fields that are listed here stay; new
ones may come. A ? means: left out where there is nothing to say. docs/reference/json.md says what each means.

${
    SHAPES.map(({ command, prints, fields }) => `${command}: ${prints}\n    ${wrapped(Object.keys(fields))}`)
      .join("\n\n")
  }`;
}

/** In lines of at most 110 characters. */
function wrapped(words: readonly string[]): string {
  const lines: string[] = [];
  for (const word of words) {
    const last = lines.at(-1);
    if (last === undefined || last.length + word.length > 106) lines.push(word);
    else lines[lines.length - 1] = `${last}, ${word}`;
  }
  return lines.join(",\n    ");
}
