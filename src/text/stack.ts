/**
 * Stacks of failed handlers, apart into the frames of the handler and those of this program and its runtime.
 *
 * @module
 */

/** Successive lines of a stack. */
export interface StackPart {
  readonly lines: readonly string[];
  /** Whether they are frames of this program or of the runtime: they say nothing about the failure. */
  readonly isFolded: boolean;
}

/** The folder of this program: `src/`, or that of a bundle. */
const ROOT = import.meta.url.replace(/(\/src\/)text\/stack\.ts$|\/[^/]*$/, (_, src?: string) => src ?? "/");
/** Frames of another copy or version of this program, and of the runtimes. */
const FRAMES = /\(?(?:ext:|node:)|\bProcessor\.#?\w+ |\/src\/(?:server|handlers)\/\w+\/[\w.]+\.ts:\d+/;

/** Returns the parts of a stack. */
export function stackParts(lines: readonly string[]): StackPart[] {
  const parts: { lines: string[]; isFolded: boolean }[] = [];
  for (const line of lines) {
    const isFolded = /^\s*at /.test(line) && (line.includes(ROOT) || FRAMES.test(line));
    const last = parts.at(-1);
    if (last?.isFolded === isFolded) last.lines.push(line);
    else parts.push({ lines: [line], isFolded });
  }
  // A handler of which no frame is left has the whole stack.
  return parts.some((part) => !part.isFolded) ? parts : [{ lines, isFolded: false }].filter(() => lines.length > 0);
}

/** Returns `9 frames of jobs`. */
export function foldedText({ lines }: StackPart): string {
  return `${lines.length} ${lines.length === 1 ? "frame" : "frames"} of jobs`;
}
