/**
 * The context that all parts of the Redis store share.
 *
 * @module
 */
import type { Buffer } from "node:buffer";
import type { Arg } from "./client/encode.ts";
import type { ReconnectingClient } from "./client/reconnecting_client.ts";
import type { Mover } from "./move.ts";
import { retryLostReply as retry } from "../ops/lost_reply.ts";
import { isOutcomeUnknown } from "./client/errors.ts";

/** Shared by all parts of the Redis store. */
export interface Context {
  /** The connection for all commands that don't block. */
  readonly client: ReconnectingClient;
  /**
   * The connection for subscriptions, made by the first one. Redis closes a subscribed connection when its output exceeds
   * `client-output-buffer-limit pubsub` (32 MB), so no command with a large reply may share it.
   */
  readonly subscriptions: ReconnectingClient;
  /** Returns a client for blocking commands. It connects at its first command. */
  blockingClient(name: string): ReconnectingClient;
  /** Whether Sentinels name the server. */
  readonly hasSentinel: boolean;
  /** Milliseconds to add to the server's time. "0" except in tests. */
  offset(): string;
  /** Longest total time that a call waits for a connection. */
  readonly waitMs: number;
  /** Sidekiq's version of the format of times in payloads. */
  readonly wire: 7 | 8;
  /** Maximum number of members of `dead`, and their maximum age, as script arguments. */
  readonly deadLimits: readonly [jobs: string, ageMs: string];
  /** Moves entries from place to place. */
  readonly mover: Mover;
}

/** Repeats a call while its reply is lost: see {@linkcode retry}. */
export function retryLostReply<T>({ waitMs, client: { clock } }: Context, attempt: () => Promise<T>): Promise<T> {
  return retry({ clock, waitMs, mayHaveRun: isOutcomeUnknown }, attempt);
}

/** Shortest time that Redis keeps a reply that may be requested again: more than its clock is set ahead at once. */
const MIN_KEEP_REPLY_MS = 120_000;

/** Returns how many milliseconds Redis keeps a reply that may be requested again, as a script argument. */
export function keepReplyMs({ waitMs }: Pick<Context, "waitMs">): string {
  return `${Math.max(MIN_KEEP_REPLY_MS, 3 * waitMs)}`;
}

/** Seconds that a blocking command blocks before it is sent again. */
export const BLOCK_S = 5;

/** A member of a list or set in Redis: its text, and the bytes to find it by. */
export interface Member {
  readonly text: string;
  /** The same as `text`, or the bytes if they aren't valid UTF-8. */
  readonly exact: Arg;
}

/** The character that replaces bytes that aren't valid UTF-8. */
const REPLACEMENT = "\ufffd";

/** Returns the member with these bytes. */
export function member(bytes: Buffer): Member {
  const text = bytes.toString();
  return { text, exact: text.includes(REPLACEMENT) ? bytes : text };
}

/** Returns the store's time in epoch milliseconds. */
export async function serverTime({ client, offset }: Context): Promise<number> {
  const [seconds, micros] = await client.call(["TIME"]) as [string, string];
  return Number(seconds) * 1000 + Math.floor(Number(micros) / 1000) + Number(offset());
}
