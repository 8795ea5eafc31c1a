/**
 * `make soak`: real workers on a real store, killed, frozen, cut off and starved at random, then an exact account.
 *
 *   make soak MINUTES=10 STORE=both SEED=1
 *   deno task soak --seconds 30 --store redis --seed 1 --only "kill,freeze"
 *
 * With both stores, they are soaked at the same time. Exits with 1 when something was found: a job lost or stuck, an
 * execution that the disturbances do not explain, or any other line of the report that should be 0.
 */
import { bundleForTests } from "../../scripts/testrun/bundle.ts";
import { startOf, useCommand } from "../support/command.ts";
import { MissingTool } from "../support/tools.ts";
import { readOptions } from "./options.ts";
import { isClean, report, reportLine } from "./report.ts";
import { soakAll } from "./soak.ts";

Deno.exit(await main());

async function main(): Promise<number> {
  const stop = new AbortController();
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) Deno.addSignalListener(signal, () => stop.abort());
  try {
    return await run(stop.signal);
  } catch (error) {
    if (stop.signal.aborted) return 130;
    console.error(error instanceof MissingTool || error instanceof RangeError ? `soak: ${error.message}` : error);
    return 2;
  }
}

async function run(signal: AbortSignal): Promise<number> {
  const { stores, keep, ...common } = readOptions(Deno.args);
  const folder = await Deno.makeTempDir({ prefix: "jobs-soak-" });
  console.log(
    `Soaking ${stores.join(" and ")}, ${common.durationMs / 1_000} s, seed ${common.seed}; logs in ${folder}`,
  );
  await Deno.mkdir(`${folder}/jobs`);
  useCommand(startOf(await bundleForTests(`${folder}/jobs`)));
  const results = await soakAll(stores, { ...common, folder, signal });
  for (const result of results) console.log(`\n${report(result)}`);
  console.log();
  for (const result of results) console.log(reportLine(result));
  const isOk = results.every(isClean);
  if (isOk && !keep) await Deno.remove(folder, { recursive: true });
  return isOk ? 0 : 1;
}
