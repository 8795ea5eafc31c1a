/**
 * docs/reference/json.md, generated from src/cli/help/json_outputs.ts. `deno task docs` writes it, and a test fails if it is
 * out of date.
 *
 * @module
 */
import { type Output, OUTPUTS, printsOf } from "../src/cli/help/json_outputs.ts";
import { rowsOf } from "../src/operator/shapes/rows.ts";

/** The page. */
export const PAGE: URL = new URL("../docs/reference/json.md", import.meta.url);

const HEAD = `# Output for programs

<!-- Written by \`deno task docs\` from src/cli/help/json_outputs.ts -->

With \`--json\`, every command that prints a result prints it as one JSON object on standard output, and nothing else there. A list is a
field of it: \`jobs queues --json | jq '.queues[].name'\`. Remarks and errors are on standard error. The exit code shows the outcome (\`jobs help exit-codes\`).

- A field that is listed here keeps its name and its meaning. New ones may be added: ignore unknown fields.
- A field with a \`?\` may be absent. Only \`any\` may be \`null\`: a result that is.
- \`time\` is a text of ISO 8601 in UTC; durations are milliseconds.
- \`any\` is not described further: a payload as it was pushed, a result as it was returned. Integers beyond 2^53 in
  a payload are texts.
- \`entries[].jid\` is the field \`jid\` of each element of \`entries\`; \`{}\` is each value of an object by name.
- \`jobs run --json\` logs in JSON, a line for each record.
`;

/** Returns the current page. */
export function page(): string {
  return `${HEAD}\n${OUTPUTS.map(section).join("\n\n")}\n`;
}

function section(output: Output): string {
  const { command, note } = output;
  const rows = rowsOf(output.shape).map((
    [path, type, about],
  ) => [`\`${path}\``, type, about.replaceAll("|", "\\|")]);
  const all = [["field", "type", "meaning"], ...rows];
  const widths = [0, 1, 2].map((column) => Math.max(...all.map((row) => row[column]!.length)));
  const line = (cells: readonly string[]) => `| ${cells.map((cell, i) => cell.padEnd(widths[i]!)).join(" | ")} |`;
  const table = [line(all[0]!), line(widths.map((width) => "-".repeat(width))), ...all.slice(1).map(line)];
  return [`## ${command}`, "", `Prints ${printsOf(output)}.${note ? ` ${note}` : ""}`, "", ...table].join("\n");
}

if (import.meta.main) await Deno.writeTextFile(PAGE, page());
