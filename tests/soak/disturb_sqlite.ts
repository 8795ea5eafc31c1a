/**
 * Disturbances of a SQLite file.
 *
 * @module
 */
import { DatabaseSync } from "node:sqlite";
import type { Disturbance } from "./disturbance.ts";
import type { GroundOptions } from "./ground.ts";
import type { ShiftedClock } from "./shifted_clock.ts";
import { pause } from "./uptime.ts";

/** As an NTP step or a resumed virtual machine does; longer than the default heartbeat timeout. */
const JUMP_S = 30;
/** Another program, say a backup, waits this long for the file. */
const LOCK_WITHIN_MS = 60_000;

/** The services of these disturbances. */
interface Options extends Omit<GroundOptions, "folder"> {
  readonly file: string;
  /** Leaves no room on the disk, and makes room again; absent where the disk is not ours alone. */
  readonly disk: { fill(): Promise<void>; free(): Promise<void> } | undefined;
  readonly clock: ShiftedClock | undefined;
}

/** @returns what can be done to the file; a full disk and clock jumps only where there is a disk or a clock for that */
export function sqliteDisturbances({ file, disk, clock, incidents, heartbeatTimeoutMs }: Options): Disturbance[] {
  const kind = (name: string, weight: number, forMs: readonly [number, number], run: Disturbance["run"]) =>
    ({ name, weight, hits: "store", forMs, run }) as const;
  const lock: Disturbance["run"] = ({ forMs }) =>
    incidents.outage("file locked", async () => {
      const database = new DatabaseSync(file);
      try {
        await begin(database);
        await pause(forMs);
        database.exec("ROLLBACK");
      } finally {
        database.close();
      }
    });
  return [
    kind("lock the file", 2, [300, 2_000], lock),
    kind("lock the file past the timeout", 4, [heartbeatTimeoutMs + 1_000, heartbeatTimeoutMs + 9_000], lock),
    ...(disk === undefined ? [] : [
      kind("full disk", 3, [500, heartbeatTimeoutMs + 3_000], ({ forMs }) =>
        incidents.outage("full disk", async () => {
          await disk.fill();
          await pause(forMs);
          await disk.free();
        })),
    ]),
    ...(clock === undefined ? [] : [
      kind("jump of the clock", 1, [0, 0], () => {
        incidents.jumped(JUMP_S);
        return Promise.resolve(clock.jump(JUMP_S));
      }),
    ]),
  ];
}

/** Does not block this program while another holds the file. */
async function begin(database: DatabaseSync): Promise<void> {
  const end = performance.now() + LOCK_WITHIN_MS;
  for (;;) {
    try {
      return database.exec("BEGIN IMMEDIATE");
    } catch (error) {
      if (performance.now() > end) throw error;
      await pause(3);
    }
  }
}
