/**
 * Finds the master through Sentinel, and follows its failovers.
 *
 * @module
 */
import { systemClock } from "../../../clock.ts";
import { type Endpoint, type SentinelGroup, showEndpoint } from "./address.ts";
import { Connection, type ConnectOptions } from "./connection.ts";
import { ConnectionLost, reason } from "./errors.ts";
import { ReconnectingClient } from "./reconnecting_client.ts";

const REPLY_TIMEOUT_MS = 2_000;
/** Longest time that a reported failover takes, after which the old master may be the master again. */
const STALE_MS = 15_000;
/** A subscription can be silent for months. A ping at this interval detects a lost connection. */
const PING_MS = 15_000;
/** A Sentinel that is down is followed again whenever it is back. */
const FOREVER_MS = 2 ** 31 - 1;

/** The part of the connection's options that is the same for a Sentinel and for the master. */
export type SentinelConnectOptions = Pick<ConnectOptions, "name" | "tls">;

/** See {@linkcode SentinelMaster.follow}. */
export interface FailoverListener {
  readonly onReplaced: (why: string) => void;
  readonly onReady: () => void;
  readonly onDeaf: (why: string) => void;
}

/** Reports of a Sentinel: a failover begins, it is over, or it is given up. */
const BEGINS = "+elected-leader";
const ENDS = "+switch-master";
const FAILS = ["-failover-abort-no-good-slave", "-failover-abort-slave-timeout"];

/** The master of one name, as its Sentinels report it. */
export class SentinelMaster {
  readonly #group: SentinelGroup;
  /** The one that answered last comes first: one whose machine is gone would delay each connection by its timeout. */
  #nodes: readonly Endpoint[];
  /** The address of a master that is being replaced, or was, and when that was reported. */
  #replaced: { readonly address: string; readonly at: number } | undefined;
  readonly #clients: ReconnectingClient[] = [];

  constructor(group: SentinelGroup) {
    this.#group = group;
    this.#nodes = group.nodes;
  }

  /**
   * Connects to the master that the first Sentinel names which has one, beginning with the one that named it last.
   *
   * @throws {ConnectionLost} if no Sentinel has it, or a failover is replacing it
   */
  async connect(
    options: SentinelConnectOptions,
    signal: AbortSignal,
    connect: (endpoint: Endpoint) => Promise<Connection>,
  ): Promise<Connection> {
    const endpoint = await this.#find(options, signal);
    const connection = await connect(endpoint);
    if (!this.#isReplaced(showEndpoint(endpoint))) return connection;
    connection.destroy();
    throw new ConnectionLost(`Sentinel replaces the master ${showEndpoint(endpoint)}`);
  }

  /**
   * Follows failovers until {@linkcode SentinelMaster.close}. From the first report of one, no connection to the old master is
   * made: it accepts writes for some seconds more, and loses them.
   *
   * @param onReplaced called when the master is being replaced: its connections must be closed
   * @param onReady called when a server may be the master, for which connections wait
   * @param onDeaf receives the reason if a Sentinel denies its reports: failovers are then noticed by a rejected write
   */
  follow(options: SentinelConnectOptions, { onReplaced, onReady, onDeaf }: FailoverListener): void {
    const replace = (name: string | undefined, address: string) => {
      if (name !== this.#group.master) return;
      const isKnown = this.#isReplaced(address);
      this.#replaced = { address, at: systemClock.monotonic() };
      if (!isKnown) onReplaced(`Sentinel replaces the master ${address}`);
    };
    const listeners: Record<string, (words: readonly string[]) => void> = {
      [BEGINS]: ([_master, name, host, port]) => replace(name, `${host}:${port}`),
      [ENDS]: ([name, host, port]) => {
        replace(name, `${host}:${port}`);
        onReady();
      },
    };
    for (const channel of FAILS) {
      listeners[channel] = ([_master, name]) => {
        if (name === this.#group.master) this.#replaced = undefined;
        onReady();
      };
    }
    for (const node of this.#group.nodes) {
      const client = new ReconnectingClient({
        connect: (signal) => this.#connectTo(node, options, signal),
        shown: showEndpoint(node),
        waitMs: FOREVER_MS,
        pingMs: PING_MS,
      });
      this.#clients.push(client);
      const subscribed = Object.entries(listeners).map(([channel, listener]) =>
        client.subscribe(channel, (message) => listener(message.split(" ")))
      );
      Promise.all(subscribed).catch((error) => {
        if (!client.closed) onDeaf(`Sentinel ${showEndpoint(node)} denies its reports of failovers: ${reason(error)}`);
      });
    }
  }

  /** Ends what {@linkcode SentinelMaster.follow} began. */
  async close(): Promise<void> {
    await Promise.all(this.#clients.map((client) => client.close()));
  }

  #isReplaced(address: string): boolean {
    const replaced = this.#replaced;
    return replaced?.address === address && systemClock.monotonic() - replaced.at < STALE_MS;
  }

  async #find(options: SentinelConnectOptions, signal: AbortSignal): Promise<Endpoint> {
    const { master } = this.#group;
    const failures: string[] = [];
    for (const node of this.#nodes) {
      try {
        const endpoint = await this.#masterFrom(node, options, signal);
        if (endpoint && !this.#isReplaced(showEndpoint(endpoint))) {
          this.#nodes = [node, ...this.#nodes.filter((other) => other !== node)];
          return endpoint;
        }
        failures.push(
          `${showEndpoint(node)} ${endpoint ? "names one that is being replaced" : `has no master "${master}"`}`,
        );
      } catch (error) {
        failures.push(`${showEndpoint(node)}: ${reason(error)}`);
      }
    }
    throw new ConnectionLost(`no Sentinel has the master "${master}" (${failures.join("; ")})`);
  }

  async #masterFrom(
    node: Endpoint,
    options: SentinelConnectOptions,
    signal: AbortSignal,
  ): Promise<Endpoint | undefined> {
    const connection = await this.#connectTo(node, options, signal);
    try {
      const reply = await connection.send(["SENTINEL", "GET-MASTER-ADDR-BY-NAME", this.#group.master]);
      const [host, port] = reply as [string, string] | null ?? [];
      return host && port ? { host, port: Number(port) } : undefined;
    } finally {
      connection.destroy();
    }
  }

  #connectTo(endpoint: Endpoint, options: SentinelConnectOptions, signal: AbortSignal): Promise<Connection> {
    const { login } = this.#group;
    return Connection.connect({ ...options, endpoint, login, database: 0, replyTimeoutMs: REPLY_TIMEOUT_MS }, signal);
  }
}
