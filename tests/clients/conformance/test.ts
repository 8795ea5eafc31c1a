/**
 * The test of one client: the conformance table, a step for each case.
 *
 * @module
 */
import { startRedis } from "../../support/redis.ts";
import { requireTool } from "../../support/tools.ts";
import { runCases } from "./run.ts";

/**
 * Registers the test.
 *
 * @param kind the store of the gateways. A client can't see it, so one client on each store shows what two would. `make clients` tries a client
 *   on both.
 */
export function testClient(name: string, runtime: string, file: URL, kind: "SQLite" | "Redis"): void {
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
