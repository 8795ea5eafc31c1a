/**
 * One connection to a server. What is sent in one turn of the event loop goes in one write; answers come in the order in
 * which they were asked for.
 *
 * Of the client library this takes what reads the protocol, and is the only file that knows it. The rest of the library, a
 * function for each of Redis's 400 commands, takes longer to load than all that a push does otherwise.
 *
 * A connection does not come back by itself when it breaks: that is for the link (`reconnecting_client.ts`).
 *
 * @module
 */
import { Buffer } from "node:buffer";
import { connect as connectPlain, isIP, type Socket } from "node:net";
import { Decoder, RESP_TYPES } from "@redis/client/decoder";
import { systemClock } from "../../../clock.ts";
import type { Endpoint, Login } from "./address.ts";
import { ConnectionLost, reason, RedisError, Unsendable } from "./errors.ts";

/** One argument of a command. */
export type Arg = string | Buffer;

/** What to connect to, and as whom. */
export interface DialOptions {
  readonly endpoint: Endpoint;
  readonly login: Login;
  readonly database: number;
  /** Present: TLS; `ca` is the authority's certificate as PEM text. */
  readonly tls?: { readonly ca?: string };
  /** Shown in the server's list of clients. */
  readonly name: string;
  /**
   * Closes the connection when a reply is pending and no byte has been received, nor accepted for sending, for this long
   * (at the latest after twice as long). What the system has accepted and may still be sending gets more time, at
   * `minBytesPerMs`.
   */
  readonly silenceMs: number;
  /** The slowest line that counts as one, in bytes per millisecond. Default 250: 2 Mbit/s. */
  readonly minBytesPerMs?: number;
}

/** A command whose answer is to come. */
interface Question {
  readonly resolve: (answer: unknown) => void;
  readonly reject: (error: RedisError | ConnectionLost | Unsendable) => void;
  /** What the kinds of the protocol are read as. */
  readonly as: typeof AS_TEXT | typeof AS_BYTES;
  /** Its size, more or less. */
  readonly bytes: number;
}

/** A connection that is up, until {@linkcode Connection.lost}. */
export class Connection {
  /** Resolves with the reason when the connection is gone. */
  readonly lost: Promise<Error>;
  readonly #socket: Socket;
  readonly #silenceMs: number;
  readonly #minBytesPerMs: number;
  readonly #decoder = new Decoder({
    onReply: (answer: unknown) => this.#answered().resolve(answer),
    onErrorReply: (error) => this.#answered().reject(new RedisError(error.message)),
    onPush: (told) => this.#told(told as Buffer[]),
    getTypeMapping: () => this.#owed[this.#first]?.as ?? AS_TEXT,
  });
  #lose: (reason: Error) => void = () => {};
  #gone: Error | undefined;
  #unsent: Arg[] = [];
  #isFlushing = false;
  /** Questions in the order in which they were asked; those before `#first` are answered, and gone. */
  #owed: (Question | undefined)[] = [];
  #first = 0;
  /** How often bytes were received, or accepted for sending. */
  #signs = 0;
  /** The size of the questions that are not answered. */
  #owedBytes = 0;
  #watching = false;
  readonly #listeners = new Map<string, (message: string) => void>();
  readonly #end = new AbortController();

  private constructor(socket: Socket, { silenceMs, minBytesPerMs = MIN_BYTES_PER_MS }: DialOptions) {
    this.#socket = socket;
    this.#silenceMs = silenceMs;
    this.#minBytesPerMs = minBytesPerMs;
    this.lost = new Promise((resolve) => this.#lose = resolve);
    socket.on("data", (bytes: Buffer) => this.#read(bytes));
    socket.on("error", (error: Error) => this.#fail(error));
    socket.on("close", () => this.#fail(new Error("it closed the connection")));
  }

  /**
   * Connects, and says who we are.
   *
   * @param signal gives up the attempt
   * @throws {RedisError} when the server does not want us
   * @throws {ConnectionLost} when it cannot be reached, or does not answer
   */
  static async dial(options: DialOptions, signal: AbortSignal): Promise<Connection> {
    const socket = await openSocket(options);
    const connection = new Connection(socket, options);
    const done = new AbortController();
    void systemClock.sleep(DIAL_TIMEOUT_MS, AbortSignal.any([signal, done.signal])).then(() => {
      if (!done.signal.aborted) connection.destroy(new Error(`no answer for ${DIAL_TIMEOUT_MS} ms`));
    });
    try {
      const up = new Promise((resolve) => socket.once(options.tls ? "secureConnect" : "connect", resolve));
      await Promise.race([up, connection.lost]);
      await Promise.all(greeting(options).map((args) => connection.#ask(args)));
      if (connection.#gone) throw connection.#gone;
      return connection;
    } catch (error) {
      connection.destroy();
      if (error instanceof RedisError) throw error;
      throw new ConnectionLost(reason(connection.#gone ?? error), { cause: error });
    } finally {
      done.abort();
    }
  }

  /**
   * Sends a command, and resolves with its answer. With `bytes`, strings in the answer are Buffers.
   *
   * @throws {RedisError} when the server answers with an error
   * @throws {ConnectionLost} when the connection breaks before the answer is here
   * @throws {Unsendable} when the command is longer than {@linkcode MAX_COMMAND_BYTES}, or is none
   */
  send(args: readonly Arg[], bytes = false): Promise<unknown> {
    const answer = this.#ask(args, bytes ? AS_BYTES : AS_TEXT);
    if (!this.#watching) void this.#watch();
    return answer;
  }

  /**
   * Hears what is published on a channel.
   *
   * @throws as {@linkcode Connection.send}
   */
  subscribe(channel: string, listener: (message: string) => void): Promise<unknown> {
    this.#listeners.set(channel, listener);
    return this.send(["SUBSCRIBE", channel]);
  }

  /** Cuts the connection. Commands under way fail. */
  destroy(why = new Error("closed")): void {
    this.#fail(why);
    this.#socket.destroy();
  }

  #ask(args: readonly Arg[], as: Question["as"] = AS_TEXT): Promise<unknown> {
    return new Promise((resolve, reject) => {
      if (this.#gone) return reject(new ConnectionLost(reason(this.#gone), { cause: this.#gone }));
      // Before anything of it is to be sent: half a command would be filled up with the next one.
      const { parts, bytes } = encode(args);
      if (!this.#isFlushing) void this.#flush();
      for (const part of parts) this.#unsent.push(part);
      this.#owed.push({ resolve, reject, as, bytes });
      this.#owedBytes += bytes;
    });
  }

  /** Writes at the end of this turn what was issued in it, and what is issued until that is written. */
  async #flush(): Promise<void> {
    this.#isFlushing = true;
    await systemClock.turn();
    while (this.#unsent.length > 0 && !this.#gone) {
      const unsent = this.#unsent;
      this.#unsent = [];
      await this.#write(unsent);
    }
    this.#isFlushing = false;
  }

  /** Writes parts as one, but waits now and then until the system has accepted what is written: a sign of life. */
  async #write(parts: readonly Arg[]): Promise<void> {
    const socket = this.#socket;
    let ahead = 0;
    socket.cork();
    for (const part of parts) {
      for (let from = 0; from < part.length; from += WRITE_BYTES) {
        const piece = part.length <= WRITE_BYTES ? part : (part as Buffer).subarray(from, from + WRITE_BYTES);
        socket.write(piece);
        if ((ahead += piece.length) < MAX_WRITE_AHEAD_BYTES) continue;
        ahead = 0;
        socket.uncork();
        if (socket.writableNeedDrain) {
          await Promise.race([new Promise((resolve) => socket.once("drain", resolve)), this.lost]);
        }
        if (this.#gone) return;
        this.#signs++;
        socket.cork();
      }
    }
    socket.uncork();
  }

  #read(bytes: Buffer): void {
    this.#signs++;
    try {
      this.#decoder.write(bytes);
    } catch (error) {
      this.destroy(error as Error);
    }
  }

  /** The question that an answer belongs to. */
  #answered(): Question {
    const question = this.#owed[this.#first];
    if (question === undefined) throw new Error("it answers what nobody asked");
    this.#owedBytes -= question.bytes;
    // It would keep its answer in memory.
    this.#owed[this.#first] = undefined;
    // Taking the first out of a long array moves all others.
    if (++this.#first === MAX_ANSWERED || this.#first === this.#owed.length) {
      this.#owed.splice(0, this.#first);
      this.#first = 0;
    }
    return question;
  }

  /** What comes unasked; and that a channel is heard from now on, which has no other answer. */
  #told([kind, channel, message]: readonly Buffer[]): void {
    if (`${kind}` === "message") this.#listeners.get(`${channel}`)?.(`${message}`);
    else if (`${kind}` === "subscribe") this.#answered().resolve(undefined);
  }

  #fail(why: Error): void {
    if (this.#gone) return;
    this.#gone = why;
    this.#end.abort();
    this.#lose(why);
    const owed = this.#owed.splice(this.#first);
    this.#owed = [];
    this.#first = 0;
    for (const question of owed) question?.reject(new ConnectionLost(reason(why), { cause: why, underWay: true }));
  }

  /** A dead peer, a cut cable or a frozen server shows only by an answer that does not come. */
  async #watch(): Promise<void> {
    this.#watching = true;
    for (let silent = 0; this.#owed.length > 0 && !this.#gone;) {
      const before = this.#signs;
      await systemClock.sleep(this.#silenceMs, this.#end.signal);
      silent = this.#signs === before ? silent + this.#silenceMs : 0;
      if (this.#owed.length > 0 && silent > this.#underWayMs && !this.#gone) {
        this.destroy(new Error(`no answer for ${silent} ms`));
      }
    }
    this.#watching = false;
  }

  /** How long the system may still be sending what it has accepted. */
  get #underWayMs(): number {
    return Math.min(this.#owedBytes, MAX_WRITE_AHEAD_BYTES + SEND_BUFFER_BYTES) / this.#minBytesPerMs;
  }
}

const AS_TEXT = {};
const AS_BYTES = { [RESP_TYPES.BLOB_STRING]: Buffer };
/** From the first packet until the server knows who we are. */
const DIAL_TIMEOUT_MS = 5_000;
const MIN_BYTES_PER_MS = 250;
/** The most that the system accepts for sending before the other side has received it: `net.ipv4.tcp_wmem`'s usual maximum. */
const SEND_BUFFER_BYTES = 4 * 1024 * 1024;
/** The most that is written before it waits until the system has accepted it. */
const MAX_WRITE_AHEAD_BYTES = 1024 * 1024;
/** The size of one write. Longer arguments become Buffers, of which each write has a part. */
const WRITE_BYTES = 64 * 1024;
/**
 * The longest command. Redis closes a connection whose command is longer than 1 GB (`client-query-buffer-limit`) or has
 * an argument of more than 512 MB (`proto-max-bulk-len`), which looks like an outage, and would be retried without end.
 */
const MAX_COMMAND_BYTES = 512 * 1024 * 1024;
/** So many questions that are answered are forgotten together. */
const MAX_ANSWERED = 10_000;
/** A connection that is silent for so long is asked by the system whether it is still there. */
const KEEP_ALIVE_MS = 30_000;

async function openSocket({ endpoint, tls }: DialOptions): Promise<Socket> {
  if ("path" in endpoint) return connectPlain({ path: endpoint.path });
  const options = { ...endpoint, noDelay: true, keepAlive: true, keepAliveInitialDelay: KEEP_ALIVE_MS };
  if (!tls) return connectPlain(options);
  return (await import("node:tls")).connect({
    ...options,
    ...(tls.ca === undefined ? {} : { ca: tls.ca }),
    ...(isIP(endpoint.host) ? {} : { servername: endpoint.host }),
  });
}

/** What a connection begins with: the protocol's version, who we are, and the database. */
function greeting({ login, database, name }: DialOptions): string[][] {
  const { username = "default", password } = login;
  const hello = ["HELLO", "3", ...(password ? ["AUTH", username, password] : []), "SETNAME", name];
  return database === 0 ? [hello] : [hello, ["SELECT", `${database}`]];
}

/** A command as the protocol has it, in parts of at most {@linkcode WRITE_BYTES} or Buffers, and its size. */
function encode(args: readonly Arg[]): { readonly parts: readonly Arg[]; readonly bytes: number } {
  const sizes = args.map(sizeOf);
  const bytes = sizes.reduce((sum, size) => sum + size, 0);
  if (bytes > MAX_COMMAND_BYTES) {
    const [mb, most] = [bytes, MAX_COMMAND_BYTES].map((size) => Math.ceil(size / 1_000_000));
    throw new Unsendable(`it has ${mb} MB, expected at most ${most} MB; store fewer or smaller jobs at once`, {
      isTooLarge: true,
    });
  }
  const parts: Arg[] = [];
  let text = `*${args.length}\r\n`;
  for (const [i, arg] of args.entries()) {
    text += `$${sizes[i]}\r\n`;
    if (typeof arg === "string" && arg.length <= WRITE_BYTES / 4) text += arg;
    else {
      parts.push(text, typeof arg === "string" ? Buffer.from(arg) : arg);
      text = "";
    }
    text += "\r\n";
    if (text.length > WRITE_BYTES / 4) {
      parts.push(text);
      text = "";
    }
  }
  if (text !== "") parts.push(text);
  return { parts, bytes };
}

/** @throws {Unsendable} when it is no argument */
function sizeOf(arg: Arg): number {
  if (typeof arg === "string") return Buffer.byteLength(arg);
  if (arg instanceof Buffer) return arg.length;
  throw new Unsendable(`one of its arguments is ${typeof arg}, expected a string or a Buffer`);
}
