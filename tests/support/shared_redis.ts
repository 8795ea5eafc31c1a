/**
 * One Redis server for all tests of a file, with a separate database for each test.
 *
 * @module
 */
import { type RedisServer, startRedis } from "./redis.ts";

const DATABASES = 1_000;

/** Rejected where Redis is missing: only the tests that use it fail then. */
let starting: Promise<RedisServer> | undefined;
let used = 0;
let isShared = false;

/**
 * Starts a server before the first test of the file, and stops it after the last. Call it where the file registers its
 * tests; calls after the first do nothing.
 */
export function shareRedis(): void {
  if (isShared) return;
  isShared = true;
  Deno.test.beforeAll(async () => {
    starting = startRedis({ config: { databases: `${DATABASES}` } });
    await starting.catch(() => {});
  });
  Deno.test.afterAll(async () => {
    const server = await starting?.catch(() => undefined);
    await server?.[Symbol.asyncDispose]();
  });
}

/**
 * Returns the address of an empty database on the shared server; undefined without {@linkcode shareRedis}.
 *
 * @throws {MissingTool} if Redis is missing
 */
export async function sharedRedisUrl(): Promise<string | undefined> {
  const server = await starting;
  if (used >= DATABASES) throw new Error(`All ${DATABASES} databases of the shared Redis are used`);
  return server?.url.replace(/\d+$/, `${used++}`);
}
