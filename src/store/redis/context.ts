/**
 * What every part of the Redis store shares.
 *
 * @module
 */
import type { Buffer } from "node:buffer";
import { systemClock } from "../../clock.ts";
import type { Arg } from "./client/connection.ts";
import type { ReconnectingClient } from "./client/reconnecting_client.ts";
import type { Mover } from "./move.ts";
import { isUnknown } from "./client/errors.ts";

/** What every part of the Redis store shares. */
export interface Context {
  /** The connection for everything that does not block. */
  readonly link: ReconnectingClient;
  /**
   * The connection for subscriptions, made when the first one is. Redis closes a subscribed connection when more than
   * `client-output-buffer-limit pubsub` (32 MB) waits for it, so no command with a large reply may share it.
   */
  readonly subscriptions: ReconnectingClient;
  /** Makes a link for what blocks: its connection is made when it is first used. */
  blockingLink(name: string): ReconnectingClient;
  /** Milliseconds to add to the server's time; "0" but for tests. */
  offset(): string;
  /** How long a call waits for a connection in all. */
  readonly waitMs: number;
  /** How payload times are written. */
  readonly wire: 7 | 8;
  /** Most members of `dead`, and their greatest age: as scripts take them. */
  readonly deadLimits: readonly [jobs: string, ageMs: string];
  /** Moves entries from place to place. */
  readonly mover: Mover;
}

/**
 * Makes an attempt, and makes it again as long as its answers are lost and there is time. For what cannot simply be sent
 * again: the attempt itself sees to it that nothing happens twice.
 */
export async function insist<T>({ waitMs }: Context, attempt: () => Promise<T>): Promise<T> {
  const end = systemClock.monotonic() + waitMs;
  for (;;) {
    try {
      return await attempt();
    } catch (error) {
      if (!isUnknown(error) || systemClock.monotonic() >= end) throw error;
    }
  }
}

/** The least time for which Redis remembers an answer that may be requested again. */
const MIN_REMEMBER_MS = 60_000;

/** For how many milliseconds Redis remembers an answer that may be requested again, as scripts take it. */
export function rememberMs({ waitMs }: Context): string {
  return `${Math.max(MIN_REMEMBER_MS, 3 * waitMs)}`;
}

/** How long a blocking command blocks before it is sent again, in seconds. */
export const BLOCK_S = 5;

/** A member as it stands in Redis: the text to work with, and the bytes to find it by. */
export interface Member {
  readonly text: string;
  /** The same as `text`, or bytes that are no UTF-8 and that no text can name. */
  readonly exact: Arg;
}

/** The character that stands for bytes that are no UTF-8. */
const REPLACEMENT = "\ufffd";

/** What was read as bytes. */
export function member(bytes: Buffer): Member {
  const text = bytes.toString();
  return { text, exact: text.includes(REPLACEMENT) ? bytes : text };
}

/** The store's time. */
export async function serverTime({ link, offset }: Context): Promise<number> {
  const [seconds, micros] = await link.call(["TIME"]) as [string, string];
  return Number(seconds) * 1000 + Math.floor(Number(micros) / 1000) + Number(offset());
}
