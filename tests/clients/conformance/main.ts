/**
 * `make clients CLIENT="ruby worker.rb"`: runs the conformance table against a client, on both stores.
 *
 *   deno run -A tests/clients/conformance/main.ts "ruby worker.rb" [PART OF A CASE'S SENTENCE]
 *
 * Exits with 1 when a case doesn't hold. docs/reference/worker-protocol.md describes the program that the command starts.
 */
import { startRedis } from "../../support/redis.ts";
import { MissingTool } from "../../support/tools.ts";
import { runCases } from "./run.ts";

Deno.exit(await main());

async function main(): Promise<number> {
  const [command = "", only = ""] = Deno.args;
  const words = command.split(" ").filter((word) => word !== "");
  if (words.length === 0) {
    console.error(
      'conformance: Missing argument: COMMAND; expected one that starts your worker, such as "ruby worker.rb"',
    );
    return 2;
  }
  let failed = 0;
  for (const store of ["sqlite", "redis"]) {
    await using redis = store === "redis" ? await redisIfThere() : undefined;
    if (store === "redis" && redis === undefined) {
      console.log("redis-server isn't installed: only SQLite was tried");
      continue;
    }
    const results = await runCases(words, {
      url: redis?.url,
      only,
      onResult: ({ does, error, ms }) => {
        console.log(`${error === undefined ? "ok    " : "FAILED"} ${store}: ${does} (${Math.round(ms)} ms)`);
        if (error !== undefined) console.log(`${(error as Error).message}\n`.replace(/^/gm, "       "));
      },
    });
    failed += results.filter(({ error }) => error !== undefined).length;
    console.log(`${results.length} cases on ${store}`);
  }
  console.log(failed === 0 ? "The client conforms" : `${failed} failed`);
  return failed === 0 ? 0 : 1;
}

async function redisIfThere() {
  try {
    return await startRedis();
  } catch (error) {
    if (error instanceof MissingTool) return undefined;
    throw error;
  }
}
