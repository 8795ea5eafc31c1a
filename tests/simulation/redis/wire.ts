/**
 * A connection that waits for its replies as a function waits for another: in a simulation nothing else may happen meanwhile, and
 * turns of the event loop would take longer than the commands.
 *
 * @module
 */
import { Buffer } from "node:buffer";
import { Decoder, RESP_TYPES } from "@redis/client/decoder";
import { type Arg, encode } from "../../../src/store/redis/client/encode.ts";
import { RedisError } from "../../../src/store/redis/client/errors.ts";

const AF_UNIX = 1;
const SOCK_STREAM = 1;
const NO_FLAGS = 0;
/** Of the address of a socket with a path (`sun_path`). */
const MAX_PATH_BYTES = 108;
const READ_BYTES = 1024 * 1024;

type Libc = Deno.DynamicLibrary<typeof FUNCTIONS>;

const FUNCTIONS = {
  socket: { parameters: ["i32", "i32", "i32"], result: "i32" },
  connect: { parameters: ["i32", "buffer", "u32"], result: "i32" },
  send: { parameters: ["i32", "buffer", "usize", "i32"], result: "isize" },
  recv: { parameters: ["i32", "buffer", "usize", "i32"], result: "isize" },
  close: { parameters: ["i32"], result: "i32" },
} as const;

export class Wire implements Disposable {
  readonly #libc: Libc;
  readonly #socket: number;
  readonly #received = Buffer.alloc(READ_BYTES);
  readonly #decoder = new Decoder({
    onReply: (reply: unknown) => void this.#replies.push(reply),
    onErrorReply: ({ message }) => void this.#replies.push(new RedisError(message)),
    onPush: () => {},
    getTypeMapping: () => this.#replies.length === this.#bytesOf ? { [RESP_TYPES.BLOB_STRING]: Buffer } : {},
  });
  #replies: unknown[] = [];
  #bytesOf = -1;

  private constructor(libc: Libc, socket: number) {
    this.#libc = libc;
    this.#socket = socket;
  }

  /** Connects to a server's socket. */
  static open(path: string): Wire {
    const libc = Deno.dlopen("libc.so.6", FUNCTIONS);
    const address = Buffer.alloc(2 + MAX_PATH_BYTES);
    address.writeUInt16LE(AF_UNIX);
    address.write(path, 2);
    const socket = libc.symbols.socket(AF_UNIX, SOCK_STREAM, 0);
    if (libc.symbols.connect(socket, address, address.length) !== 0) throw new Error(`Redis doesn't listen at ${path}`);
    const wire = new Wire(libc, socket);
    wire.perform([["HELLO", "3"]]);
    return wire;
  }

  /**
   * Sends commands together, and returns their replies. That of a command that failed is its error.
   *
   * @param bytesOf the command whose strings are returned as Buffers
   * @throws {Error} if the server has ended
   */
  perform(commands: readonly (readonly Arg[])[], bytesOf = -1): unknown[] {
    this.#bytesOf = bytesOf;
    this.#replies = [];
    const parts = commands.flatMap((args) => encode(args).parts);
    const isText = parts.every((part) => typeof part === "string");
    this.#send(isText ? Buffer.from(parts.join("")) : Buffer.concat(parts.map((part) => Buffer.from(part as Buffer))));
    while (this.#replies.length < commands.length) {
      const count = Number(this.#libc.symbols.recv(this.#socket, this.#received, BigInt(READ_BYTES), NO_FLAGS));
      if (count <= 0) throw new Error("Redis has ended");
      this.#decoder.write(Buffer.from(this.#received.subarray(0, count)));
    }
    return this.#replies;
  }

  #send(bytes: Buffer): void {
    for (let sent = 0; sent < bytes.length;) {
      const rest = bytes.subarray(sent);
      const count = Number(this.#libc.symbols.send(this.#socket, rest, BigInt(rest.length), NO_FLAGS));
      if (count <= 0) throw new Error("Redis has ended");
      sent += count;
    }
  }

  [Symbol.dispose](): void {
    this.#libc.symbols.close(this.#socket);
    this.#libc.close();
  }
}
