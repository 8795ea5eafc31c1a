/**
 * The tests of one client: the conformance table on both stores, a step for each case.
 *
 * @module
 */
import { startRedis } from "../../support/redis.ts";
import { requireTool } from "../../support/tools.ts";
import { runCases } from "./run.ts";

/** Registers the tests. */
export function testClient(name: string, runtime: string, file: URL): void {
  for (const kind of ["SQLite", "Redis"] as const) {
    Deno.test(`a worker in ${name} passes the conformance table, on ${kind}`, async (t) => {
      requireTool(runtime);
      await using redis = kind === "Redis" ? await startRedis() : undefined;
      for (const { does, error } of await runCases([runtime, file.pathname], { url: redis?.url })) {
        await t.step(does, () => {
          if (error !== undefined) throw error;
        });
      }
    });
  }
}
