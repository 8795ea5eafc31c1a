/**
 * `make soak`: real workers on a real store, killed, frozen, cut off and starved at random, then an exact account.
 *
 *   make soak MINUTES=10 STORE=both SEED=1
 *   deno task soak --seconds 30 --store redis --seed 1 --only "kill,freeze"
 *
 * With both stores, they are soaked at the same time. Exits with 1 when something was found: a job lost or stuck, an
 * execution that the disturbances do not explain, or any other line of the report that should be 0.
 */
import { type CommandLine, readOptions } from "./options.ts";
import { isClean, report, reportLine } from "./report.ts";
import { soakAll } from "./soak.ts";

Deno.exit(await main());

async function main(): Promise<number> {
  let options: CommandLine;
  try {
    options = readOptions(Deno.args);
  } catch (error) {
    console.error(`soak: ${(error as Error).message}`);
    return 2;
  }
  const folder = await Deno.makeTempDir({ prefix: "jobs-soak-" });
  const { stores, ...common } = options;
  console.log(
    `Soaking ${stores.join(" and ")}, ${common.durationMs / 1_000} s, seed ${common.seed}; logs in ${folder}`,
  );
  const results = await soakAll(stores, { ...common, folder });
  for (const result of results) console.log(`\n${report(result)}`);
  console.log();
  for (const result of results) console.log(reportLine(result));
  const isOk = results.every(isClean);
  if (isOk) await Deno.remove(folder, { recursive: true });
  return isOk ? 0 : 1;
}
