/**
 * What commands print: results on stdout, remarks and errors on stderr. With `log.ts`, the only file that prints.
 *
 * @module
 */
import { bold, dim } from "@std/fmt/colors";

const encoder = new TextEncoder();

/** Whoever read the output has closed it, as `head` does: it has seen enough. */
export class OutputClosed extends Error {
  override readonly name = "OutputClosed";
}

/**
 * Prints a result, and a line break.
 *
 * @throws {OutputClosed}
 */
export function print(text: string): void {
  try {
    write(Deno.stdout, text + "\n");
  } catch (error) {
    throw error instanceof Deno.errors.BrokenPipe ? new OutputClosed("The output is closed", { cause: error }) : error;
  }
}

/** Prints a value as JSON, for programs. */
export function printJson(value: unknown): void {
  print(JSON.stringify(value, (_key, inner) => typeof inner === "bigint" ? String(inner) : inner, 2));
}

/** Prints a remark or an error, and a line break; where it cannot be heard, that stops nothing. */
export function remark(text: string): void {
  try {
    write(Deno.stderr, text + "\n");
  } catch {
    // There is nobody left to tell.
  }
}

/**
 * Prints rows under their headings, in aligned columns; numbers to the right. On a terminal, rows are cut to its width.
 *
 * @param none what to print when there are no rows
 */
export function printTable(headings: readonly string[], rows: readonly (readonly unknown[])[], none: string): void {
  if (rows.length === 0) return print(none);
  const cells = rows.map((row) => row.map((cell) => plain(cell === undefined ? "" : String(cell))));
  const widths = headings.map((heading, i) => Math.max(heading.length, ...cells.map((row) => row[i]?.length ?? 0)));
  const right = headings.map((_, i) => rows.every((row) => typeof row[i] === "number"));
  const terminal = Deno.stdout.isTerminal();
  const columns = terminal && Deno.consoleSize().columns || Infinity; // a terminal that does not know says 0
  const line = (row: readonly string[]) => {
    const text = row.map((cell, i) =>
      right[i] ? cell.padStart(widths[i]!) : i === row.length - 1 ? cell : cell.padEnd(widths[i]!)
    ).join("  ").trimEnd();
    return text.slice(0, columns);
  };
  const head = line(headings);
  print([terminal ? bold(head) : head, ...cells.map(line)].join("\n"));
}

/** Text set back, on a terminal. */
export function faint(text: string): string {
  return Deno.stdout.isTerminal() ? dim(text) : text;
}

/** Without control characters: what is in a store may be hostile to a terminal. */
export function plain(text: string): string {
  // deno-lint-ignore no-control-regex -- they are what is taken out
  return text.replace(/[\u0000-\u001f\u007f-\u009f\u2028-\u202e\u2066-\u2069]/g, " ");
}

function write(to: { writeSync(bytes: Uint8Array): number }, text: string): void {
  let bytes = encoder.encode(text);
  while (bytes.length > 0) bytes = bytes.subarray(to.writeSync(bytes));
}

/**
 * Writes over the last line on stderr, where that is a terminal.
 *
 * @param last whether a line break follows: nothing is written over it any more
 */
export function redraw(text: string, last: boolean): void {
  if (Deno.stderr.isTerminal()) write(Deno.stderr, `\r\x1b[K${text}${last ? "\n" : ""}`);
}
