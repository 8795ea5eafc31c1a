/**
 * The server of a store, for tests that run on several.
 *
 * @module
 */
import { startPostgres } from "./postgres.ts";
import { startRedis } from "./redis.ts";

/** The stores. */
export const STORES = ["sqlite", "redis", "postgres"] as const;
export type StoreKind = typeof STORES[number];

/** A server with an empty store, which loses nothing when it is killed. */
export interface Server extends AsyncDisposable {
  readonly port: number;
  /** Returns the address of the store, or that of a proxy on another port. */
  url(port?: number): string;
  kill(): Promise<void>;
  /** Starts it again. */
  start(): Promise<void>;
}

/** Starts a server. Returns undefined for SQLite. */
export async function startServer(kind: StoreKind): Promise<Server | undefined> {
  if (kind === "sqlite") return undefined;
  if (kind === "postgres") {
    const server = await startPostgres();
    return { ...server, url: (port) => server.url("postgres", port) };
  }
  // It writes each change to its file before it replies.
  const server = await startRedis({ aof: "always" });
  return {
    port: server.port,
    url: (port = server.port) => `redis://127.0.0.1:${port}/0`,
    kill: () => server.kill(),
    start: () => server.start(),
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}
