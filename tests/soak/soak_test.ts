/**
 * A short soak on each store: what `make soak` does, for long enough to kill, freeze and cut off something.
 *
 * @module
 */
import { assertEquals } from "@std/assert";
import { requireTool } from "../support/tools.ts";
import { denoCommand, outputOf } from "../../scripts/deno_command.ts";

/** The plan of this seed has most kinds of disturbances, on both stores. */
const OPTIONS = ["--seconds", "15", "--seed", "23080", "--workers", "3", "--rate", "40"];

Deno.test("soak: workers, lines and stores that fail at random lose nothing, leave nothing stuck, and repeat only what they interrupt", async () => {
  requireTool("redis-server");
  const program = new URL("./main.ts", import.meta.url).pathname;
  const { code, stdout, stderr } = await outputOf(denoCommand("run", "-A", program, "--store", "both", ...OPTIONS));
  assertEquals(code, 0, stdout + stderr);
});
