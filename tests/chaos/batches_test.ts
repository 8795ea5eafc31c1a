/** A random program of batches and flows on workers that are killed, frozen and cut off, compared with a model. */
import { assert } from "@std/assert";
import { runProgram } from "./batches/stage.ts";

const SHORT = { seed: 1, steps: 60, disturbEvery: 15, quietEvery: 60, workers: 2 };

for (const store of ["sqlite", "redis"] as const) {
  Deno.test(`counts each member once and pushes each callback once on ${store}, while workers are killed and frozen`, async () => {
    const { batches, members, disturbances } = await runProgram({ ...SHORT, store });
    assert(batches > 10 && members > 100 && disturbances["freeze"]! > 0, "it did something");
  });
}
