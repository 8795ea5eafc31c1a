/**
 * A pipelined connection to one Redis server. Commands issued in the same turn of the event loop share a write, or a few if they
 * are long. Replies arrive in command order.
 *
 * Uses only the RESP decoder of `@redis/client`: loading the whole client takes longer than the rest of a push. No other
 * file knows that library. A connection doesn't reconnect; `ReconnectingClient` does.
 *
 * @module
 */
import { Buffer } from "node:buffer";
import type { Socket } from "node:net";
import { Decoder, RESP_TYPES } from "@redis/client/decoder";
import { type Clock, systemClock } from "../../../clock.ts";
import type { Endpoint, Login } from "./address.ts";
import { type Arg, encode, MAX_TEXT, WRITE_BYTES } from "./encode.ts";
import { greeting, openSocket } from "./login.ts";
import { ConnectionLost, isTransient, reason, RedisError, type Unsendable } from "./errors.ts";

/** The server to connect to, and the login. */
export interface ConnectOptions {
  readonly endpoint: Endpoint;
  readonly login: Login;
  readonly database: number;
  /** Present: TLS; `ca` is the authority's certificate as PEM text. */
  readonly tls?: { readonly ca?: string };
  /** Shown in the server's list of clients. */
  readonly name: string;
  /**
   * Closes the connection when a reply is pending and no byte has been received, nor accepted for sending, for this long
   * (at the latest after twice as long). Bytes that the system has accepted and may still be sending get more time, at
   * `minBytesPerMs`.
   */
  readonly replyTimeoutMs: number;
  /** The slowest line that is supported, in bytes per millisecond. Default 250: 2 Mbit/s. */
  readonly minBytesPerMs?: number;
  /** For the reply timeout. Default: the system's. */
  readonly clock?: Clock;
  /** A command that the server must be able to run now. Default PING, which a server rejects while it loads its data. */
  readonly probe?: readonly string[];
}

/** A command waiting for its reply. */
interface PendingCommand {
  readonly resolve: (reply: unknown) => void;
  readonly reject: (error: RedisError | ConnectionLost | Unsendable) => void;
  /** The JavaScript types that the decoder returns. */
  readonly types: typeof TEXT_TYPES | typeof BYTES_TYPES;
  /** Approximate size. */
  readonly bytes: number;
}

/** An established connection. It works until {@linkcode Connection.lost} resolves. */
export class Connection {
  /** Resolves with the reason when the connection is lost or closed. */
  readonly lost: Promise<Error>;
  readonly #socket: Socket;
  readonly #clock: Clock;
  readonly #replyTimeoutMs: number;
  readonly #minBytesPerMs: number;
  readonly #decoder = new Decoder({
    onReply: (reply: unknown) => this.#takePending().resolve(reply),
    onErrorReply: (error) => this.#takePending().reject(new RedisError(error.message)),
    onPush: (message) => this.#receivePush(message as Buffer[]),
    getTypeMapping: () => this.#pending[this.#head]?.types ?? TEXT_TYPES,
  });
  #resolveLost: (reason: Error) => void = () => {};
  #lostReason: Error | undefined;
  #unsent: Arg[] = [];
  #isFlushing = false;
  /** Begins the next write before the end of the turn. */
  #beginWrite: () => void = () => {};
  /** Pending commands in send order. Entries before `#head` are done. */
  #pending: (PendingCommand | undefined)[] = [];
  #head = 0;
  /** Counts the times that bytes were received, or accepted for sending. */
  #progress = 0;
  /** Total size of the pending commands. */
  #pendingBytes = 0;
  #isWatched = false;
  readonly #listeners = new Map<string, (message: string) => void>();
  readonly #end = new AbortController();

  private constructor(
    socket: Socket,
    { clock = systemClock, replyTimeoutMs, minBytesPerMs = MIN_BYTES_PER_MS }: ConnectOptions,
  ) {
    this.#clock = clock;
    this.#socket = socket;
    this.#replyTimeoutMs = replyTimeoutMs;
    this.#minBytesPerMs = minBytesPerMs;
    this.lost = new Promise((resolve) => this.#resolveLost = resolve);
    socket.on("data", (bytes: Buffer) => this.#read(bytes));
    socket.on("error", (error: Error) => this.#fail(error));
    socket.on("close", () => this.#fail(new Error("it closed the connection")));
  }

  /**
   * Connects, authenticates and selects the database.
   *
   * @param signal aborts the attempt
   * @throws {RedisError} if the server rejects the login, or cannot run the probe now
   * @throws {ConnectionLost} if the server is unreachable or doesn't reply
   */
  static async connect(options: ConnectOptions, signal: AbortSignal): Promise<Connection> {
    const socket = await openSocket(options);
    const connection = new Connection(socket, options);
    const done = new AbortController();
    void systemClock.sleep(CONNECT_TIMEOUT_MS, AbortSignal.any([signal, done.signal])).then(() => {
      if (!done.signal.aborted) connection.destroy(new Error(`no reply for ${CONNECT_TIMEOUT_MS} ms`));
    });
    try {
      const up = new Promise((resolve) => socket.once(options.tls ? "secureConnect" : "connect", resolve));
      await Promise.race([up, connection.lost]);
      const login = greeting(options).map((args) => connection.#enqueue(args));
      await Promise.all([...login, connection.#probe(options.probe ?? ["PING"])]);
      if (connection.#lostReason) throw connection.#lostReason;
      return connection;
    } catch (error) {
      connection.destroy();
      if (error instanceof RedisError) throw error;
      throw new ConnectionLost(reason(connection.#lostReason ?? error), { cause: error });
    } finally {
      done.abort();
    }
  }

  /**
   * Sends a command, and resolves with its reply.
   *
   * @param options.bytes returns the strings of the reply as Buffers. Default false
   * @param options.atOnce writes it without waiting for the end of the turn, together with those issued before. Default false
   * @throws {RedisError} if the server replies with an error
   * @throws {ConnectionLost} if the connection breaks before the reply arrives
   * @throws {Unsendable} if the command is too long or malformed (see {@linkcode encode}); nothing of it is sent
   */
  send(
    args: readonly Arg[],
    { bytes = false, atOnce = false }: { readonly bytes?: boolean; readonly atOnce?: boolean } = {},
  ): Promise<unknown> {
    const reply = this.#enqueue(args, bytes ? BYTES_TYPES : TEXT_TYPES);
    if (atOnce) this.#beginWrite();
    if (!this.#isWatched) void this.#watch();
    return reply;
  }

  /**
   * Subscribes to a channel.
   *
   * @throws as {@linkcode Connection.send}
   */
  subscribe(channel: string, listener: (message: string) => void): Promise<unknown> {
    this.#listeners.set(channel, listener);
    return this.send(["SUBSCRIBE", channel]);
  }

  /** Closes the connection. Pending commands fail. */
  destroy(why = new Error("closed")): void {
    this.#fail(why);
    this.#socket.destroy();
  }

  /** Rejects if the server cannot run the command now. A server that denies it for another reason may be usable. */
  async #probe(args: readonly string[]): Promise<void> {
    try {
      await this.#enqueue(args);
    } catch (error) {
      if (!(error instanceof RedisError) || isTransient(error)) throw error;
    }
  }

  #enqueue(args: readonly Arg[], types: PendingCommand["types"] = TEXT_TYPES): Promise<unknown> {
    return new Promise((resolve, reject) => {
      if (this.#lostReason) return reject(new ConnectionLost(reason(this.#lostReason), { cause: this.#lostReason }));
      // Encode all of it before sending any: the server would complete half a command with the next one.
      const { parts, bytes } = encode(args);
      if (!this.#isFlushing) void this.#flush();
      for (const part of parts) this.#append(part);
      this.#pending.push({ resolve, reject, types, bytes });
      this.#pendingBytes += bytes;
    });
  }

  /** Adds a part to those that are unsent. Short texts are joined: each part takes the system as long as many bytes. */
  #append(part: Arg): void {
    const last = this.#unsent.at(-1);
    if (typeof part === "string" && typeof last === "string" && last.length + part.length <= MAX_TEXT) {
      this.#unsent[this.#unsent.length - 1] = last + part;
    } else this.#unsent.push(part);
    if (this.#unsent[0]!.length >= EARLY_WRITE_CHARACTERS) this.#beginWrite();
  }

  /**
   * Writes the commands of this turn at its end, or as soon as they are long: the server performs them while the rest of the turn
   * runs. Then writes those issued in the meantime.
   */
  async #flush(): Promise<void> {
    this.#isFlushing = true;
    await new Promise<void>((resolve) => {
      this.#beginWrite = resolve;
      void systemClock.turn().then(resolve);
    });
    while (this.#unsent.length > 0 && !this.#lostReason) {
      const unsent = this.#unsent;
      this.#unsent = [];
      await this.#write(unsent);
    }
    this.#isFlushing = false;
  }

  /** Writes parts together. Waits after each {@linkcode MAX_WRITE_AHEAD_BYTES} until the system has accepted them. */
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
        if (this.#lostReason) return;
        this.#progress++;
        socket.cork();
      }
    }
    socket.uncork();
  }

  #read(bytes: Buffer): void {
    this.#progress++;
    try {
      this.#decoder.write(bytes);
    } catch (error) {
      this.destroy(error as Error);
    }
  }

  /** Removes and returns the command that the next reply belongs to. */
  #takePending(): PendingCommand {
    const command = this.#pending[this.#head];
    if (command === undefined) throw new Error("unexpected reply");
    this.#pendingBytes -= command.bytes;
    // The entry would keep the reply in memory.
    this.#pending[this.#head] = undefined;
    // Removing the first element of a long array moves all others.
    if (++this.#head === MAX_DONE_COMMANDS || this.#head === this.#pending.length) {
      this.#pending.splice(0, this.#head);
      this.#head = 0;
    }
    return command;
  }

  /** Handles a push message. A subscription has no other reply than its push message. */
  #receivePush([kind, channel, message]: readonly Buffer[]): void {
    if (`${kind}` === "message") this.#listeners.get(`${channel}`)?.(`${message}`);
    else if (`${kind}` === "subscribe") this.#takePending().resolve(undefined);
  }

  #fail(why: Error): void {
    if (this.#lostReason) return;
    this.#lostReason = why;
    this.#end.abort();
    this.#resolveLost(why);
    const pending = this.#pending.splice(this.#head);
    this.#pending = [];
    this.#head = 0;
    for (const command of pending) command?.reject(new ConnectionLost(reason(why), { cause: why, wasSent: true }));
  }

  /** Detects a dead peer, a cut cable or a frozen server: a missing reply is the only sign of them. */
  async #watch(): Promise<void> {
    this.#isWatched = true;
    for (let silentMs = 0; this.#pending.length > 0 && !this.#lostReason;) {
      const before = this.#progress;
      await this.#clock.sleep(this.#replyTimeoutMs, this.#end.signal);
      silentMs = this.#progress === before ? silentMs + this.#replyTimeoutMs : 0;
      if (this.#pending.length > 0 && silentMs > this.#sendingMs && !this.#lostReason) {
        this.destroy(new Error(`no reply for ${silentMs} ms`));
      }
    }
    this.#isWatched = false;
  }

  /** The longest time that the system may still be sending the bytes it has accepted. */
  get #sendingMs(): number {
    return Math.min(this.#pendingBytes, MAX_WRITE_AHEAD_BYTES + SEND_BUFFER_BYTES) / this.#minBytesPerMs;
  }
}

const TEXT_TYPES = {};
const BYTES_TYPES = { [RESP_TYPES.BLOB_STRING]: Buffer };
/** From the first packet to the end of the login. */
const CONNECT_TIMEOUT_MS = 5_000;
const MIN_BYTES_PER_MS = 250;
/** Maximum number of bytes that the system buffers until the peer has received them: the usual maximum of `net.ipv4.tcp_wmem`. */
const SEND_BUFFER_BYTES = 4 * 1024 * 1024;
/** Maximum number of bytes that are written before the system has accepted them. */
const MAX_WRITE_AHEAD_BYTES = 1024 * 1024;
/** This many unsent characters are written before the end of the turn. */
const EARLY_WRITE_CHARACTERS = 4 * 1024;
/** Commands that are done are removed from the list at the latest after this many. */
const MAX_DONE_COMMANDS = 10_000;
