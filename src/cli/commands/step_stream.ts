/** `jobs step stream`, in a program: adds to the stream of its job. @module */
import { MAX_CHUNK_CHARACTERS } from "../../handlers/stream_writer.ts";
import { requestStep } from "../shared/step_client.ts";
import { COMMON_FLAGS, parseCommand } from "../terminal/args.ts";
import { printError } from "../terminal/output.ts";

/** A text of this length has at most {@linkcode MAX_CHUNK_CHARACTERS} as JSON, where a character may take six. */
const MAX_TEXT_LENGTH = Math.floor(MAX_CHUNK_CHARACTERS / 6) - 1;

/** Adds a text, or what arrives on stdin as it arrives. Exit 1 if it is refused. */
export async function stream(argv: readonly string[]): Promise<number> {
  const { args: [text] } = parseCommand("step stream", argv, COMMON_FLAGS, "[TEXT]");
  if (text !== undefined) return await add(text) ? 0 : 1;
  // The program writes no faster than the worker stores: a pipe holds 64 KiB.
  for await (const part of Deno.stdin.readable.pipeThrough(new TextDecoderStream())) {
    if (!await add(part)) return 1;
  }
  return 0;
}

/** Adds a text, in chunks. Returns false after a refusal, which it prints. */
async function add(text: string): Promise<boolean> {
  for (let from = 0; from < text.length;) {
    const to = endOfChunk(text, from);
    const { failed } = await requestStep({ kind: "stream", chunk: JSON.stringify(text.slice(from, to)) });
    if (failed !== undefined) {
      printError(`jobs: ${failed}`);
      return false;
    }
    from = to;
  }
  return true;
}

/** Returns where a chunk ends that begins at `from`: between two characters, of which some have two units. */
function endOfChunk(text: string, from: number): number {
  const to = from + MAX_TEXT_LENGTH;
  return (text.codePointAt(to - 1) ?? 0) > 0xffff ? to - 1 : to;
}
