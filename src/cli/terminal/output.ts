/**
 * Printing of commands: results on stdout, remarks and errors on stderr. With `log.ts`, the only file that prints.
 *
 * @module
 */
import { dim, getColorEnabled, setColorEnabled } from "@std/fmt/colors";
import { CONTROLS, escapeControl } from "../../log/control_characters.ts";
import { writeStdout } from "../../log/stdout.ts";
import { Interrupted } from "./errors.ts";

const encoder = new TextEncoder();

/** A result can't be written, for example because the disk is full. The message has the reason. */
export class OutputFailed extends Error {
  override readonly name = "OutputFailed";
}

/** The reader of the output, such as `head`, has closed it. */
export class OutputClosed extends Error {
  override readonly name = "OutputClosed";
}

/**
 * Prints a result, and a line break. Its control characters are escaped, except line breaks.
 *
 * @throws {OutputClosed}
 * @throws {OutputFailed}
 */
export function print(text: string): void {
  printPart(text + "\n");
}

/** Prints a value as indented JSON. */
export function printJson(value: unknown): void {
  print(JSON.stringify(value, (_key, inner) => typeof inner === "bigint" ? String(inner) : inner, 2));
}

/** Prints a value for a program, and a line break: exactly, unless stdout is a terminal. */
export function printExact(text: string): void {
  printExactPart(`${text}\n`);
}

/** The same without the line break. */
export function printExactPart(text: string): void {
  if (Deno.stdout.isTerminal()) printPart(text);
  else writeResult(text);
}

/** Prints a line that is dimmed on a terminal. */
export function printFaint(text: string): void {
  printPainted(Deno.stdout.isTerminal() ? dim(escapeControls(text)) : escapeControls(text));
}

/** Prints text with colors, and a line break. The caller has removed the control characters of foreign text. */
export function printPainted(text: string): void {
  writeResult(text + "\n");
}

/**
 * Prints a remark or an error on one line. Its control characters are escaped: names of queues and jobs may contain terminal
 * sequences. Ignores a closed stderr.
 */
export function printError(text: string): void {
  writeRemark(escapeControls(text, ""));
}

/** Prints the banner, with its colors, on stderr. */
export function printBanner(banner: string): void {
  writeRemark(banner);
}

/** Escapes control characters as JSON does, which keeps JSON text valid. Line breaks stay, as `kept` has them. */
export function escapeControls(text: string, kept = "\n"): string {
  return text.replace(CONTROLS, (c) => c === kept ? c : c === "\n" ? "\\n" : escapeControl(c));
}

function writeRemark(text: string): void {
  try {
    write(Deno.stderr, text + "\n");
  } catch {
    // stderr is closed.
  }
}

/** Returns the width of the terminal that stdout is; undefined if it isn't one, or its width is unknown. */
export function terminalColumns(): number | undefined {
  return Deno.stdout.isTerminal() ? Deno.consoleSize().columns || undefined : undefined;
}

/** Turns colors off, for `--no-color`. */
export function disableColor(): void {
  setColorEnabled(false);
}

/** Returns whether colors are on: neither `NO_COLOR` nor `--no-color` is given. */
export function hasColor(): boolean {
  return getColorEnabled();
}

/** Prints text without a line break, for output that is written in parts. Its control characters are escaped, except line breaks. */
export function printPart(text: string): void {
  writeResult(escapeControls(text));
}

function writeResult(text: string): void {
  try {
    writeStdout(encoder.encode(text));
  } catch (error) {
    if (error instanceof Deno.errors.BrokenPipe) throw new OutputClosed("The output is closed", { cause: error });
    throw new OutputFailed(`Can't write the output: ${(error as Error).message}`, { cause: error });
  }
}

/** Replaces control characters by blanks: payloads may contain terminal sequences. */
export function blankControls(text: string): string {
  return text.replace(CONTROLS, " ");
}

function write(to: { writeSync(bytes: Uint8Array): number }, text: string): void {
  let bytes = encoder.encode(text);
  while (bytes.length > 0) bytes = bytes.subarray(to.writeSync(bytes));
}

/** Returns the width of the terminal that stderr is, for a status line; undefined if it isn't one. */
export function statusColumns(): number | undefined {
  return Deno.stderr.isTerminal() ? Deno.consoleSize().columns || 80 : undefined;
}

/** Overwrites the current line of stderr, which is a terminal. Ignores a closed stderr. */
export function redraw(text: string): void {
  try {
    write(Deno.stderr, `\r\x1b[K${text}`);
  } catch {
    // stderr is closed.
  }
}

/** Prints a question on stderr and reads a line from stdin; undefined at its end. */
export function ask(question: string): string | undefined {
  write(Deno.stderr, escapeControls(question));
  const bytes: number[] = [];
  const one = new Uint8Array(1);
  for (;;) {
    const read = Deno.stdin.readSync(one);
    if (read === null) return bytes.length === 0 ? undefined : new TextDecoder().decode(Uint8Array.from(bytes));
    if (one[0] === 10) return new TextDecoder().decode(Uint8Array.from(bytes)).trim();
    bytes.push(one[0]!);
  }
}

const [CTRL_C, CTRL_D, BACKSPACE, LINE_FEED, RETURN, CTRL_U, DELETE] = [3, 4, 8, 10, 13, 21, 127];

/**
 * Prints questions on stderr and reads a line for each from the terminal without showing it. Returns their bytes.
 *
 * @throws {Interrupted} on Ctrl-C
 */
export function askHidden(questions: readonly string[]): Uint8Array[] {
  // Before the first question: an early answer isn't shown either.
  Deno.stdin.setRaw(true);
  try {
    return questions.map((question) => {
      write(Deno.stderr, escapeControls(question));
      try {
        return readHidden();
      } finally {
        writeRemark("\r");
      }
    });
  } finally {
    Deno.stdin.setRaw(false);
  }
}

function readHidden(): Uint8Array {
  const bytes: number[] = [];
  const one = new Uint8Array(1);
  for (;;) {
    const byte = Deno.stdin.readSync(one) === null ? CTRL_D : one[0]!;
    if (byte === CTRL_C) throw new Interrupted("Interrupted");
    if (byte === CTRL_D || byte === LINE_FEED || byte === RETURN) return Uint8Array.from(bytes);
    if (byte === CTRL_U) bytes.length = 0;
    else if (byte === BACKSPACE || byte === DELETE) {
      // All bytes of the last character.
      while ((bytes.at(-1)! & 0xc0) === 0x80) bytes.pop();
      bytes.pop();
    } else bytes.push(byte);
  }
}

/**
 * Writes terminal sequences to stdout, for `jobs top`.
 *
 * @throws {OutputClosed} if the terminal is closed
 */
export function draw(sequences: string): void {
  try {
    write(Deno.stdout, sequences);
  } catch (error) {
    throw new OutputClosed("The terminal is closed", { cause: error });
  }
}
