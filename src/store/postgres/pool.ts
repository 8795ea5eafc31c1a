/**
 * Connections of the driver.
 *
 * @module
 */
import type driver from "postgres";
import type { Endpoint, PostgresAddress } from "./address.ts";
import { decode } from "./values.ts";

/** The driver. */
export type Postgres = typeof driver;
/** Connections of the driver. */
export type Pool = ReturnType<Postgres>;

/** Options of connections. */
export interface PoolOptions {
  /** Instead of the hosts of the address. */
  readonly only?: Endpoint | undefined;
  readonly max?: number;
  /** Called when a connection is lost. */
  readonly onclose?: () => void;
}

const CONNECT_TIMEOUT_S = 5;

/** Loads the driver, which takes 5 ms. */
export async function loadDriver(): Promise<Postgres> {
  return (await import("postgres")).default;
}

/** Returns connections, which are opened when they are needed. */
export function createPool(postgres: Postgres, address: PostgresAddress, { only, max, onclose }: PoolOptions): Pool {
  const { hosts, user, password, database, tls } = address;
  const endpoints = only === undefined ? hosts : [only];
  const [first] = endpoints;
  return postgres(
    {
      ...(first!.host.startsWith("/")
        ? { path: `${first!.host}/.s.PGSQL.${first!.port}` }
        : { host: endpoints.map(({ host }) => host), port: endpoints.map(({ port }) => port) }),
      ...(endpoints.length > 1 && { target_session_attrs: "read-write" }),
      username: user,
      ...(password !== undefined && { password }),
      database,
      ssl: tls === undefined ? false : tls === "require" ? { rejectUnauthorized: false } : "verify-full",
      max,
      fetch_types: false,
      prepare: address.prepare,
      connect_timeout: CONNECT_TIMEOUT_S,
      // A connection that is established while the pool ends would not stop its timer.
      max_lifetime: null,
      backoff: () => 0,
      ...(onclose && { onclose }),
      onnotice: () => {},
      connection: { application_name: "jobs" },
      types: {
        number: { to: 20, from: [20, 1700], serialize: String, parse: Number },
        text: { to: 25, from: [25, 1043], serialize: String, parse: decode },
      },
    } as unknown as Parameters<Postgres>[0],
  );
}
