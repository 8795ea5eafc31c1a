/**
 * A soak on a PostgreSQL server. Each program reaches it through a separate proxy.
 *
 * @module
 */
import { openStore } from "../../src/store/open.ts";
import { parseAddress } from "../../src/store/postgres/address.ts";
import { Client } from "../../src/store/postgres/client.ts";
import { startPostgres } from "../support/postgres.ts";
import { pushRawTo, WRONG } from "../support/postgres_stores.ts";
import { lineDisturbances } from "./disturb_lines.ts";
import { postgresDisturbances } from "./disturb_postgres.ts";
import { insisting } from "./insist.ts";
import type { Ground, GroundOptions } from "./ground.ts";
import { ProxyLine } from "./proxy_line.ts";
import { ShiftedClock } from "./shifted_clock.ts";

/** Starts a server. */
export async function openPostgresGround({ incidents, folder, heartbeatTimeoutMs }: GroundOptions): Promise<Ground> {
  // The server runs as another user.
  await Deno.chmod(folder, 0o755);
  const clock = await ShiftedClock.make(folder);
  const server = await startPostgres({ env: clock?.env ?? {} });
  const database = await server.create();
  const url = server.url(database);
  const store = insisting(await openStore(url));
  const foreign = await Client.create(parseAddress(url), { waitMs: 0 });
  const lines: ProxyLine[] = [];
  return {
    kind: "postgres",
    store,
    url,
    env: {},
    disturbances: [
      ...lineDisturbances(heartbeatTimeoutMs),
      ...postgresDisturbances({ server, database, clock, incidents, heartbeatTimeoutMs }),
    ],
    leftOut: clock ? [] : ["clock jumps: no C compiler (cc)"],
    async line() {
      const line = await ProxyLine.make(server.port, (port) => server.url(database, port));
      lines.push(line);
      return line;
    },
    pushRaw: (place, payload) =>
      pushRawTo(
        (text, values) => foreign.run(text, values, { isRepeatable: false }),
        place === "scheduled" ? "default" : place.queue,
        new TextDecoder().decode(payload),
      ),
    leftovers: () => leftovers((text) => server.sql(text, database)),
    async [Symbol.asyncDispose]() {
      await foreign.close();
      await store[Symbol.asyncDispose]();
      for (const line of lines) await line[Symbol.asyncDispose]();
      await server[Symbol.asyncDispose]();
    },
  };
}

/** Tables that have rows only while a job is running, or a worker. */
const NOT_AT_REST = ["lease", "worker", "unique_lock", "command"];

async function leftovers(sql: (text: string) => Promise<string>): Promise<string[]> {
  const rows = NOT_AT_REST.map((table) => `SELECT '${table}' AS what, one::text AS row FROM jobs.${table} AS one`);
  const lines = await sql([WRONG, ...rows].join(" UNION ALL "));
  return lines.split("\n").filter((line) => line !== "");
}
