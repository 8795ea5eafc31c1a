/**
 * Opens the outbox of an application in its PostgreSQL database.
 *
 * @module
 */
import type { Outbox } from "./port/outbox.ts";

/**
 * Opens the outbox. Connects at the first call.
 *
 * @throws {StoreError} if the address is invalid
 */
export async function openOutbox(url: string): Promise<Outbox> {
  return await (await import("./postgres/outbox.ts")).PostgresOutbox.open(url);
}

/** Returns the SQL that creates the tables of an outbox. */
export async function outboxSql(): Promise<string> {
  return (await import("./postgres/outbox.ts")).OUTBOX_SQL;
}
