/**
 * Encodes commands in the Redis protocol.
 *
 * @module
 */
import { Buffer } from "node:buffer";
import { Unsendable } from "./errors.ts";

/** One argument of a command. */
export type Arg = string | Buffer;

/** A command as bytes on the wire. */
export interface EncodedCommand {
  /** Texts of at most {@linkcode WRITE_BYTES}, and Buffers of any length. */
  readonly parts: readonly Arg[];
  /** The total length of the arguments. */
  readonly bytes: number;
}

/** The size of one write to the socket. Longer arguments become Buffers, which can be cut without a copy. */
export const WRITE_BYTES = 64 * 1024;
/** A text of at most this many characters has at most {@linkcode WRITE_BYTES}. */
export const MAX_TEXT = WRITE_BYTES / 4;

/**
 * Longest command. Redis closes a connection whose command is longer than 1 GB (`client-query-buffer-limit`) or has
 * an argument of more than 512 MB (`proto-max-bulk-len`). The client couldn't tell that from an outage, and would
 * resend the command.
 */
const MAX_COMMAND_BYTES = 512 * 1024 * 1024;

/**
 * Returns a command as the protocol writes it.
 *
 * @throws {Unsendable} if the command is longer than {@linkcode MAX_COMMAND_BYTES}, or an argument is neither a string
 * nor a Buffer
 */
export function encode(args: readonly Arg[]): EncodedCommand {
  const sizes = args.map(sizeOf);
  let bytes = 0;
  for (const size of sizes) bytes += size;
  if (bytes > MAX_COMMAND_BYTES) {
    const [mb, max] = [bytes, MAX_COMMAND_BYTES].map((size) => Math.ceil(size / 1_000_000));
    throw new Unsendable(`it has ${mb} MB, expected at most ${max} MB; store fewer or smaller jobs at once`, {
      isTooLarge: true,
    });
  }
  const parts: Arg[] = [];
  let text = `*${args.length}\r\n`;
  for (let i = 0; i < args.length; i++) {
    const arg = args[i]!;
    text += `$${sizes[i]}\r\n`;
    if (typeof arg === "string" && arg.length <= MAX_TEXT) text += arg;
    else {
      parts.push(text, typeof arg === "string" ? Buffer.from(arg) : arg);
      text = "";
    }
    text += "\r\n";
    if (text.length > MAX_TEXT) {
      parts.push(text);
      text = "";
    }
  }
  if (text !== "") parts.push(text);
  return { parts, bytes };
}

function sizeOf(arg: Arg): number {
  if (typeof arg === "string") return Buffer.byteLength(arg);
  if (arg instanceof Buffer) return arg.length;
  throw new Unsendable(`one of its arguments is ${typeof arg}, expected a string or a Buffer`);
}
