/**
 * The console of handlers. Its output never decides about a job: a line that cannot be written, because the disk is full or the
 * terminal is closed, is dropped. Lines are sanitised as those of the log are, and have no colors.
 *
 * @module
 */
import { plain } from "./format.ts";

type Methods = Record<string, unknown>;
/** Deno's class of `console`, which formats every method's arguments and passes the text on. */
type ConsoleClass = new (print: (text: string, level: number) => void) => Methods;

/** From this level on, the text is for stderr: `warn`, `error`, `trace`. */
const MIN_STDERR_LEVEL = 2;
// deno-lint-ignore no-control-regex -- colors
const COLORS = /\x1b\[[\d;]*m/g;

/** Makes the global console write to the streams of this process without throwing. */
export function guardConsole(): void {
  const internal = (Deno as unknown as Record<symbol, { readonly Console?: ConsoleClass } | undefined>)[
    (Deno as unknown as { readonly internal: symbol }).internal
  ];
  if (internal?.Console === undefined) return;
  const guarded = new internal.Console((text, level) =>
    print(level >= MIN_STDERR_LEVEL ? Deno.stderr : Deno.stdout, sanitised(text))
  );
  const global = globalThis.console as unknown as Methods;
  for (const name of Object.keys(global)) {
    if (typeof global[name] === "function" && typeof guarded[name] === "function") global[name] = guarded[name];
  }
}

/** Returns text whose lines control no terminal. */
function sanitised(text: string): string {
  return text.replace(COLORS, "").split("\n").map(plain).join("\n");
}

function print(stream: { writeSync(bytes: Uint8Array): number }, text: string): void {
  const bytes = new TextEncoder().encode(text);
  try {
    for (let sent = 0; sent < bytes.length;) sent += stream.writeSync(bytes.subarray(sent));
  } catch {
    // Dropped.
  }
}
