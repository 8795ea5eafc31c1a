/**
 * The health of the file: its durability, and the users that may read it.
 *
 * @module
 */
import type { Health, HealthFinding } from "../admin/health.ts";
import type { Context } from "./context.ts";

/** See `HealthReader.health`. */
export async function health({ sql, read, now, database }: Context): Promise<Health> {
  const { version, synchronous, mode } = await read(() => ({
    version: String(sql("SELECT sqlite_version() AS version").get()!["version"]),
    synchronous: Number(Object.values(sql("PRAGMA synchronous").get()!)[0]),
    mode: String(Object.values(sql("PRAGMA journal_mode").get()!)[0]),
  }));
  const path = database.location();
  return {
    version: `SQLite ${version}`,
    // A store in memory survives nothing.
    durability: path === null
      ? "none"
      : synchronous >= 2
      ? "full"
      : synchronous === 1 && mode === "wal"
      ? "normal"
      : "none",
    now: now(),
    findings: path === null ? [] : await findings(path),
  };
}

async function findings(path: string): Promise<HealthFinding[]> {
  const { mode } = await Deno.stat(path);
  return mode !== null && (mode & 0o044) !== 0
    ? [{ message: `other users of this machine may read the jobs in "${path}"`, cure: `chmod 600 "${path}"` }]
    : [];
}
