/**
 * Listens for notifications on a connection by itself, and on a new one whenever that is lost.
 *
 * The driver's `listen` connects again without a pause while the server is down. It listens no more when a server has rejected that, as a
 * replica does before it is promoted.
 *
 * @module
 */
import type { Clock } from "../../clock.ts";
import type { Pool } from "./pool.ts";

/** A connection that listens. */
export interface Listening {
  /** Resolves when it does. Never rejects. */
  readonly ready: Promise<void>;
  readonly stop: () => Promise<void>;
}

/** Options of {@linkcode listen}. */
export interface ListenOptions {
  readonly channel: string;
  readonly onMessage: (payload: string) => void;
  /** Called whenever notifications may have been missed: at the start, and after a loss of the connection. */
  readonly onReady: () => void;
  readonly clock: Clock;
  /** Returns a pool of one connection. */
  readonly create: (onnotify: (channel: string, payload: string) => void, onLoss: () => void) => Pool;
  /** Returns an answer. Without one, it fails after a while. */
  readonly answered: <T>(answer: PromiseLike<T>) => Promise<T>;
  /** Interval of the statements that detect a lost connection. Default 15 s. */
  readonly pingMs?: number | undefined;
}

/** A connection that only receives doesn't notice that its line is dead. The system would, after twelve minutes. */
const PING_MS = 15_000;
const MIN_PAUSE_MS = 20;
const MAX_PAUSE_MS = 5_000;

/** Begins to listen, and tries again after each failure. Other calls report a server that fails. */
export function listen(
  { channel, onMessage, onReady, clock, create, answered, pingMs = PING_MS }: ListenOptions,
): Listening {
  const end = new AbortController();
  const { promise: ready, resolve } = Promise.withResolvers<void>();
  let pool: Pool | undefined;
  let pause = MIN_PAUSE_MS;

  const close = () => pool?.end({ timeout: 0 }).catch(() => {});
  const listenOnce = async () => {
    const lost = new AbortController();
    const signal = AbortSignal.any([end.signal, lost.signal]);
    const current = pool = create((_, payload) => onMessage(payload), () => lost.abort());
    await answered(current.unsafe(`LISTEN "${channel}"`));
    onReady();
    resolve();
    for (;;) {
      await clock.sleep(pingMs, signal);
      if (signal.aborted) return;
      await answered(current.unsafe("SELECT 1"));
      // A server that closes each connection gets growing pauses, too.
      pause = MIN_PAUSE_MS;
    }
  };
  const run = async () => {
    while (!end.signal.aborted) {
      await listenOnce().catch(() => {});
      await close();
      await clock.sleep(pause * (0.5 + Math.random()), end.signal);
      pause = Math.min(MAX_PAUSE_MS, 2 * pause);
    }
  };
  const ended = run();
  return {
    ready,
    async stop() {
      end.abort();
      await close();
      await ended;
    },
  };
}
