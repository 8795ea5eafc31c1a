/**
 * A soak on a SQLite file. As root, it is on a small separate disk, which can be filled.
 *
 * @module
 */
import { DatabaseSync } from "node:sqlite";
import { openStore } from "../../src/store/open.ts";
import { checkPlaces, pushRaw } from "../support/stores.ts";
import { sqliteDisturbances } from "./disturb_sqlite.ts";
import { insisting } from "./insist.ts";
import type { Ground, GroundOptions } from "./ground.ts";
import { isWriter } from "./processes.ts";
import { ShiftedClock } from "./shifted_clock.ts";
import { pause } from "./uptime.ts";

const PUSH_ATTEMPTS = 50;
const DISK_BYTES = 512 * 1024 ** 2;

/** Makes the file. */
export async function openSqliteGround({ incidents, folder, heartbeatTimeoutMs }: GroundOptions): Promise<Ground> {
  incidents.locksStore = isWriter;
  const disk = await Disk.mount(`${folder}/disk`);
  const clock = await ShiftedClock.make(folder);
  const file = `${disk?.folder ?? folder}/jobs.db`;
  const url = `sqlite:${file}`;
  const store = insisting(await openStore(url));
  return {
    kind: "sqlite",
    store,
    url,
    env: clock?.env ?? {},
    disturbances: sqliteDisturbances({ file, disk, clock, incidents, heartbeatTimeoutMs }),
    leftOut: [
      ...(disk ? [] : ["full disk: only root may mount one"]),
      ...(clock ? [] : ["clock jumps: no C compiler (cc)"]),
    ],
    line: () => Promise.resolve({ url, clear: () => {} }),
    async pushRaw(place, payload) {
      const queue = place === "scheduled" ? "default" : place.queue;
      const text = new TextDecoder().decode(payload);
      for (let attempt = 1;; attempt++) {
        try {
          return pushRaw(file, queue, text, 0);
        } catch (error) {
          // A wait within SQLite would keep the soak from ending what locks the file.
          if (attempt === PUSH_ATTEMPTS) throw error;
          await pause(20);
        }
      }
    },
    leftovers: () => Promise.resolve(leftovers(file)),
    async [Symbol.asyncDispose]() {
      await store[Symbol.asyncDispose]();
      await disk?.[Symbol.asyncDispose]();
    },
  };
}

/** Tables that have rows only while a job is running, or a worker. */
const NOT_AT_REST = ["lease", "worker", "unique_lock", "command"];

function leftovers(file: string): string[] {
  checkPlaces(file);
  using database = new DatabaseSync(file);
  return NOT_AT_REST.flatMap((table) =>
    database.prepare(`SELECT * FROM ${table}`).all().map((row) => `${table} ${JSON.stringify(row)}`)
  );
}

/** A file system in memory, that holds nothing else. */
class Disk implements AsyncDisposable {
  readonly folder: string;

  private constructor(folder: string) {
    this.folder = folder;
  }

  /** @returns undefined where this user may not mount one */
  static async mount(folder: string): Promise<Disk | undefined> {
    await Deno.mkdir(folder);
    const isMounted = await run("mount", "-t", "tmpfs", "-o", `size=${DISK_BYTES}`, "tmpfs", folder);
    return isMounted ? new Disk(folder) : undefined;
  }

  async fill(): Promise<void> {
    using ballast = await Deno.open(`${this.folder}/ballast`, { write: true, create: true });
    const zeros = new Uint8Array(1024 ** 2);
    try {
      for (;;) await ballast.write(zeros);
    } catch {
      // Full.
    }
  }

  async free(): Promise<void> {
    await Deno.remove(`${this.folder}/ballast`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await run("umount", "--lazy", this.folder);
  }
}

async function run(command: string, ...args: string[]): Promise<boolean> {
  return await new Deno.Command(command, { args, stdout: "null", stderr: "null" }).output()
    .then(({ success }) => success, () => false);
}
