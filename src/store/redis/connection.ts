/**
 * One connection to a server. The only file that knows the client library, which packs everything that is sent in one
 * turn of the event loop into one write.
 *
 * It does not come back by itself when it breaks: that is for the link (`link.ts`).
 *
 * @module
 */
import { Buffer } from "node:buffer";
import { isIP } from "node:net";
import { ErrorReply, RedisClient, RESP_TYPES } from "@redis/client";
import { systemClock } from "../../clock.ts";
import type { Endpoint, Login } from "./address.ts";
import { ConnectionLost, reason, Refusal } from "./refusals.ts";

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
  /** A connection that owes an answer and is silent for so long is given up (at the latest after twice as long). */
  readonly silenceMs: number;
}

/** A connection that is up, until {@linkcode Connection.lost}. */
export class Connection {
  /** Resolves with the reason when the connection is gone. */
  readonly lost: Promise<Error>;
  readonly #client: Client;
  readonly #silenceMs: number;
  #lose: (reason: Error) => void = () => {};
  #gone: Error | undefined;
  #owed = 0;
  #answers = 0;
  #watching = false;
  readonly #end = new AbortController();

  private constructor(client: Client, silenceMs: number) {
    this.#client = client;
    this.#silenceMs = silenceMs;
    this.lost = new Promise((resolve) => this.#lose = resolve);
    // Given up before it had its socket: the library would go on with it.
    client.on("connect", () => this.#gone && client.destroy());
    client.on("error", (error: Error) => this.#fail(error));
    client.on("end", () => this.#fail(new Error("closed")));
  }

  /**
   * Connects, and says who we are.
   *
   * @param signal gives up the attempt
   * @throws {Refusal} when the server does not want us
   * @throws {ConnectionLost} when it cannot be reached, or does not answer
   */
  static async dial(options: DialOptions, signal: AbortSignal): Promise<Connection> {
    const client = newClient(options);
    const connection = new Connection(client, options.silenceMs);
    const done = new AbortController();
    void systemClock.sleep(DIAL_TIMEOUT_MS, AbortSignal.any([signal, done.signal])).then(() => {
      if (!done.signal.aborted) connection.destroy(new Error(`no answer for ${DIAL_TIMEOUT_MS} ms`));
    });
    try {
      await client.connect();
      if (connection.#gone) throw connection.#gone;
      return connection;
    } catch (error) {
      connection.destroy();
      if (error instanceof ErrorReply) throw new Refusal(error.message);
      throw new ConnectionLost(reason(connection.#gone ?? error), { cause: error });
    } finally {
      done.abort();
    }
  }

  /**
   * Sends a command, and resolves with its answer. With `bytes`, strings in the answer are Buffers.
   *
   * @throws {Refusal} when the server answers with an error
   * @throws {ConnectionLost} when the connection breaks before the answer is here
   */
  send(args: readonly Arg[], bytes = false): Promise<unknown> {
    return this.#answer(() => this.#client.sendCommand(args, bytes ? AS_BYTES : undefined));
  }

  /**
   * Hears what is published on a channel.
   *
   * @throws as {@linkcode Connection.send}
   */
  subscribe(channel: string, listener: (message: string) => void): Promise<unknown> {
    return this.#answer(() => this.#client.subscribe(channel, listener));
  }

  /** Cuts the connection. Commands under way fail. */
  destroy(why = new Error("closed")): void {
    this.#fail(why);
    this.#client.destroy();
  }

  async #answer(ask: () => Promise<unknown>): Promise<unknown> {
    if (this.#gone) throw new ConnectionLost(reason(this.#gone), { cause: this.#gone });
    this.#owed++;
    if (!this.#watching) void this.#watch();
    try {
      return await ask();
    } catch (error) {
      throw translate(error);
    } finally {
      this.#owed--;
      this.#answers++;
    }
  }

  #fail(why: Error): void {
    if (this.#gone) return;
    this.#gone = why;
    this.#end.abort();
    this.#lose(why);
  }

  /** A dead peer, a cut cable or a frozen server shows only by an answer that does not come. */
  async #watch(): Promise<void> {
    this.#watching = true;
    while (this.#owed > 0 && !this.#gone) {
      const before = this.#answers;
      await systemClock.sleep(this.#silenceMs, this.#end.signal);
      if (this.#owed > 0 && this.#answers === before && !this.#gone) {
        this.destroy(new Error(`no answer for ${this.#silenceMs} ms`));
      }
    }
    this.#watching = false;
  }
}

type Client = ReturnType<typeof newClient>;

const AS_BYTES = { typeMapping: { [RESP_TYPES.BLOB_STRING]: Buffer } };
/** From the first packet until the server knows who we are. */
const DIAL_TIMEOUT_MS = 5_000;

function newClient({ endpoint, login, database, tls, name }: DialOptions) {
  const timing = { connectTimeout: DIAL_TIMEOUT_MS, reconnectStrategy: false } as const;
  // Not `createClient`: it first makes a class with a method for each of Redis's 600 commands, which takes longer than
  // connecting. We send all commands by name.
  return new RedisClient({
    ...login,
    database,
    name,
    RESP: 3,
    socket: "path" in endpoint ? { ...timing, path: endpoint.path } : {
      ...timing,
      ...endpoint,
      ...(tls
        ? {
          tls: true as const,
          ...(tls.ca === undefined ? {} : { ca: tls.ca }),
          ...(isIP(endpoint.host) ? {} : { servername: endpoint.host }),
        }
        : {}),
    },
    disableOfflineQueue: true,
    disableClientInfo: true,
    maintNotifications: "disabled",
    // The library's own timeout ends with the writing of a command; ours is the watch.
    commandOptions: { timeout: 0 },
  });
}

function translate(error: unknown): Refusal | ConnectionLost {
  if (error instanceof ErrorReply) return new Refusal(error.message);
  return new ConnectionLost(reason(error), { cause: error, underWay: true });
}
