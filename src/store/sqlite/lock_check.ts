/**
 * Checks whether another program holds the write lock of the file, and which one.
 *
 * @module
 */
import type { DatabaseSync } from "node:sqlite";
import { systemClock } from "../../clock.ts";
import type { HealthFinding } from "../admin/health.ts";
import { isBusy } from "./errors.ts";

/** A lock that is held for longer holds up pushes and workers. Those of a bulk push last for 10 ms. */
const MAX_HELD_MS = 1_000;
const PAUSE_MS = 20;
/** The byte of the file `-shm` that a writer locks, from https://www.sqlite.org/walformat.html */
const WRITE_LOCK_BYTE = 120;

/** Returns a finding if the write lock isn't free for a moment within {@linkcode MAX_HELD_MS}. */
export async function lockFindings(database: DatabaseSync, path: string): Promise<HealthFinding[]> {
  const began = systemClock.monotonic();
  while (systemClock.monotonic() - began < MAX_HELD_MS) {
    if (isWritable(database)) return [];
    await systemClock.sleep(PAUSE_MS);
  }
  const pid = await writerOf(`${path}-shm`).catch(() => undefined);
  return [{
    message: `another program${
      pid === undefined ? "" : ` (PID ${pid})`
    } has locked the file for over 1s: no job is pushed or fetched, and heartbeats are late`,
    cure: pid === undefined ? `fuser -v ${path}-shm` : `ps -fp ${pid}`,
    isStall: true,
  }];
}

function isWritable(database: DatabaseSync): boolean {
  try {
    database.exec("BEGIN IMMEDIATE; ROLLBACK");
    return true;
  } catch (error) {
    if (!isBusy(error)) throw error;
    return false;
  }
}

/** Returns the process that has locked the file for writing, as Linux tells. */
async function writerOf(path: string): Promise<number | undefined> {
  const { ino } = await Deno.stat(path);
  for (const line of (await Deno.readTextFile("/proc/locks")).split("\n")) {
    // 1: POSIX  ADVISORY  WRITE 4711 fe:01:131094 120 120
    const [, pid, inode, from, to] = /WRITE (\d+) \w+:\w+:(\d+) (\d+) (\d+)$/.exec(line) ?? [];
    if (Number(inode) !== ino || Number(from) > WRITE_LOCK_BYTE || Number(to) < WRITE_LOCK_BYTE) continue;
    return Number(pid) > 0 ? Number(pid) : undefined;
  }
  return undefined;
}
