/**
 * The stores that a simulation can have, by name.
 *
 * @module
 */
import type { Ground } from "./ground.ts";

export const GROUNDS: Readonly<Record<string, () => Promise<Ground>>> = {
  sqlite: async () => await (await import("./sqlite_ground.ts")).SqliteGround.open(),
  redis: async () => await (await import("./redis/ground.ts")).RedisGround.open(),
};
