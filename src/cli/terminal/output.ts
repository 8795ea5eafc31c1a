/**
 * What commands print: results on stdout, remarks and errors on stderr. With `log.ts`, the only file that prints.
 *
 * @module
 */
import { dim } from "@std/fmt/colors";
import { CONTROLS, escapeControl } from "../../log/control_characters.ts";

const encoder = new TextEncoder();

/** A result could not be written: the disk is full. The message says why. */
export class OutputFailed extends Error {
  override readonly name = "OutputFailed";
}

/** Whoever read the output has closed it, as `head` does: it has seen enough. */
export class OutputClosed extends Error {
  override readonly name = "OutputClosed";
}

/**
 * Prints a result, and a line break.
 *
 * @throws {OutputClosed}
 * @throws {OutputFailed}
 */
export function print(text: string): void {
  try {
    write(Deno.stdout, text + "\n");
  } catch (error) {
    if (error instanceof Deno.errors.BrokenPipe) throw new OutputClosed("The output is closed", { cause: error });
    throw new OutputFailed(`The output cannot be written: ${(error as Error).message}`, { cause: error });
  }
}

/** Prints a value as JSON, for programs. */
export function printJson(value: unknown): void {
  print(escapeJson(JSON.stringify(value, (_key, inner) => typeof inner === "bigint" ? String(inner) : inner, 2)));
}

/** JSON text of the same value, with nothing in it that a terminal obeys: in a store may be what is hostile to one. */
export function escapeJson(text: string): string {
  return text.replace(CONTROLS, (c) => c === "\n" ? c : escapeControl(c));
}

/** Prints a remark or an error, and a line break; where it cannot be heard, that stops nothing. */
export function printError(text: string): void {
  try {
    write(Deno.stderr, text + "\n");
  } catch {
    // There is nobody left to tell.
  }
}

/** How many columns the terminal has on which results are printed; undefined where that is none, or it does not know. */
export function terminalColumns(): number | undefined {
  return Deno.stdout.isTerminal() ? Deno.consoleSize().columns || undefined : undefined;
}

/** Text set back, on a terminal. */
export function faint(text: string): string {
  return Deno.stdout.isTerminal() ? dim(text) : text;
}

/** Without control characters: what is in a store may be hostile to a terminal. */
export function blankControls(text: string): string {
  return text.replace(CONTROLS, " ");
}

function write(to: { writeSync(bytes: Uint8Array): number }, text: string): void {
  let bytes = encoder.encode(text);
  while (bytes.length > 0) bytes = bytes.subarray(to.writeSync(bytes));
}

/** The line that is written over on stderr, where that is a terminal, and how wide it may be; else undefined. */
export function statusColumns(): number | undefined {
  return Deno.stderr.isTerminal() ? Deno.consoleSize().columns || 80 : undefined;
}

/** Writes over the last line on stderr; for terminals. Where it cannot be seen, that stops nothing. */
export function redraw(text: string): void {
  try {
    write(Deno.stderr, `\r\x1b[K${text}`);
  } catch {
    // There is nobody left to look.
  }
}

/** Asks on stderr, and reads a line from standard input; undefined when that has ended. */
export function ask(question: string): string | undefined {
  write(Deno.stderr, question);
  const bytes: number[] = [];
  const one = new Uint8Array(1);
  for (;;) {
    const read = Deno.stdin.readSync(one);
    if (read === null) return bytes.length === 0 ? undefined : new TextDecoder().decode(Uint8Array.from(bytes));
    if (one[0] === 10) return new TextDecoder().decode(Uint8Array.from(bytes)).trim();
    bytes.push(one[0]!);
  }
}

/**
 * Writes to the terminal as it is, sequences included: for who has the whole screen (`top/`).
 *
 * @throws {OutputClosed} when the terminal is gone
 */
export function draw(sequences: string): void {
  try {
    write(Deno.stdout, sequences);
  } catch (error) {
    throw new OutputClosed("The terminal is closed", { cause: error });
  }
}
