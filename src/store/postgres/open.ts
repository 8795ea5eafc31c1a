/**
 * Opens a store in a PostgreSQL database, and creates or migrates its schema.
 *
 * @module
 */
import { systemClock } from "../../clock.ts";
import type { Store } from "../admin/store.ts";
import type { StoreOptions } from "../open.ts";
import { parseAddress } from "./address.ts";
import { Client } from "./client.ts";
import { Runner } from "./engine.ts";
import { type Access, prepare } from "./migrations.ts";
import { postgresStore } from "./store.ts";

const DEFAULT_WAIT_MS = 10_000;
const DEFAULT_DEAD_MAX_JOBS = 10_000;
const DEFAULT_DEAD_MAX_AGE_MS = 180 * 24 * 3_600_000;

/**
 * Opens the store. Creates its schema if it doesn't exist, unless `create` is false.
 *
 * @throws {StoreError} if it can't be reached, or isn't a store
 */
export async function openPostgres(url: string, options: StoreOptions): Promise<Store> {
  const { waitMs = DEFAULT_WAIT_MS, log } = options;
  const client = await Client.create(parseAddress(url), { waitMs, log });
  const access = await prepare(client, options.create ?? true).catch(async (error) => {
    await client.close();
    throw error;
  });
  return storeOn(client, access, options);
}

/** Returns the store that a client connects to, in a schema of this version. */
export function storeOn(client: Client, { access }: Access, options: StoreOptions): Store {
  const { log, clock = systemClock } = options;
  return postgresStore(new Runner(client, clock), {
    access,
    wire: options.sidekiqWire ?? 7,
    deadMaxJobs: options.deadMaxJobs ?? DEFAULT_DEAD_MAX_JOBS,
    deadMaxAgeMs: options.deadMaxAgeMs ?? DEFAULT_DEAD_MAX_AGE_MS,
    log: (message) => log?.("warn", message),
  });
}
