/**
 * The random program of batches and flows for longer: thousands of steps, on the stores given (default: SQLite and Redis). Exits with 1 if a
 * store is not as the model has it. The seed repeats the steps; the order in which workers run jobs varies.
 *
 *   STEPS=3000 SEED=1 deno run -A tests/chaos/batches_soak.ts sqlite redis postgres
 *
 * @module
 */
import { bundleForTests } from "../../scripts/testrun/bundle.ts";
import { startOf, useCommand } from "../support/command.ts";
import { temporaryFolder } from "../support/process.ts";
import type { StoreKind } from "../support/servers.ts";
import { runProgram } from "./batches/stage.ts";

const setting = (name: string, usual: number) => Number(Deno.env.get(name) || usual);
const STEPS = setting("STEPS", 1_000);
const SEED = setting("SEED", Math.floor(Math.random() * 1e6));
const PROGRAM = { seed: SEED, steps: STEPS, disturbEvery: 20, quietEvery: 100, workers: 3 };

await using folder = await temporaryFolder();
await Deno.mkdir(`${folder.path}/jobs`);
useCommand(startOf(await bundleForTests(`${folder.path}/jobs`)));
for (const store of Deno.args.length > 0 ? Deno.args : ["sqlite", "redis"]) {
  console.log(`${STEPS} steps of batches and flows on ${store}, seed ${SEED}`);
  try {
    console.log(await runProgram({ ...PROGRAM, store: store as StoreKind }));
  } catch (error) {
    console.log(error);
    Deno.exitCode = 1;
  }
}
