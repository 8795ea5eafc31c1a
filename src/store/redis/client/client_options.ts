/**
 * The options of a connection that reconnects, and of its calls.
 *
 * @module
 */
import type { Clock } from "../../../clock.ts";
import type { Connection } from "./connection.ts";

/** An established connection, as the client uses it. */
export type Line = Pick<Connection, "send" | "subscribe" | "destroy" | "lost">;

/** Options of {@linkcode ReconnectingClient}. */
export interface ReconnectingClientOptions {
  /** Makes a new connection. The signal aborts the attempt. A server that can't run the probe now is an error. */
  readonly connect: (signal: AbortSignal, probe?: readonly string[]) => Promise<Line>;
  /** For its waits. Default: the system's. */
  readonly clock?: Clock;
  /** The address without its password. */
  readonly shown: string;
  /** Longest total time that a call waits for a connection. */
  readonly waitMs: number;
  /** Maximum pause between two attempts to connect, before jitter of up to a half. Default 2,000. */
  readonly maxBackoffMs?: number;
  /** Sends a PING this often, for a connection that otherwise only receives. Default: never. */
  readonly pingMs?: number;
  /** Called when the connection is lost. The client reconnects. */
  readonly onLost?: () => void;
  /** Called when the client is closed. */
  readonly onClose?: () => void;
  /** Receives a line when the connection is lost, and one when it is back. */
  readonly log?: (level: "info" | "warn" | "error", message: string) => void;
}

/** Options of one call. */
export interface CallOptions {
  /** Whether the call may be sent again if its reply was lost. Default true. */
  readonly repeatable?: boolean;
  /** Returns the strings of the reply as Buffers. Default false. */
  readonly bytes?: boolean;
  /** Writes the call at once: its caller has gathered those of a turn of the event loop already. Default false. */
  readonly atOnce?: boolean;
}
