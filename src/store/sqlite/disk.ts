/**
 * Checks how full the disk of the file is: on a full one no job is stored, and none that runs can end.
 *
 * @module
 */
import { statfs } from "node:fs/promises";
import { dirname } from "node:path";
import { formatBytes } from "../../job/bytes.ts";
import type { HealthFinding } from "../admin/health.ts";

/** A fuller disk is a finding. */
const MAX_SHARE = 0.9;

/** The space of a file system, as `df` reads it. */
interface Space {
  readonly bsize: number;
  readonly blocks: number;
  readonly bfree: number;
  /** Those that programs without privileges may use. */
  readonly bavail: number;
}

/** Returns a finding if the disk of a file is nearly full. None where that can't be read. */
export async function diskFindings(
  path: string,
  read: (folder: string) => Promise<Space> = statfs,
): Promise<HealthFinding[]> {
  const folder = dirname(path);
  const space = await read(folder).catch(() => undefined);
  if (space === undefined) return [];
  const used = space.blocks - space.bfree;
  const share = used / (used + space.bavail);
  if (!(share >= MAX_SHARE)) return [];
  return [{
    title: "The disk of the store is nearly full",
    message: `its disk is ${Math.floor(share * 100)} % full, ${
      formatBytes(space.bavail * space.bsize)
    } are free: on a full one no job is pushed, and none that runs can end`,
    cure: `df -h "${folder}"`,
    isAlert: true,
  }];
}
