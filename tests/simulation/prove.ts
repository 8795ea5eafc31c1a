/**
 * Puts mended defects back, one after the other, and measures how long the simulation takes to find each, on all processors:
 * `make prove`.
 *
 * @module
 */
import { type Defect, DEFECTS, putBack } from "./defects.ts";
import { PROCESSES } from "./ground.ts";
import { configuredDeno } from "../../scripts/deno_command.ts";

/** A defect must be found within this time, in milliseconds. */
const MAX_MS = Number(Deno.env.get("MINUTES") ?? 10) * 60_000;

let missed = 0;
for (const defect of DEFECTS) {
  if (Deno.args.length > 0 && !Deno.args.includes(defect.name)) continue;
  const began = performance.now();
  const found = await find(defect);
  if (found === "") missed++;
  const seconds = Math.ceil((performance.now() - began) / 1_000);
  console.log(`${defect.name.padEnd(24)} ${found === "" ? "NOT FOUND" : `${seconds} s, ${found}`}\n  ${defect.fault}`);
}
if (missed > 0) Deno.exit(1);

/** Returns the first failure; empty if there is none in time. */
async function find(defect: Defect): Promise<string> {
  const folder = await putBack(defect);
  const parts = Array.from({ length: PROCESSES[defect.store]! }, (_, part) => {
    const args = ["--store", defect.store, "--seeds", "999999999", "--part", `${part}`, "--brief"];
    const [program, ...rest] = configuredDeno(folder, "run", "-A", "--no-check", "tests/simulation/main.ts", ...args);
    return new Deno.Command(program, { args: rest, cwd: folder, stdout: "piped" }).spawn();
  });
  const timer = setTimeout(() => parts.forEach((one) => one.kill()), MAX_MS);
  const [first = ""] = (await Promise.race(parts.map((one) => new Response(one.stdout).text()))).split("\n");
  clearTimeout(timer);
  for (const one of parts) {
    try {
      one.kill();
    } catch {
      // It has ended.
    }
    await one.status;
  }
  await Deno.remove(folder, { recursive: true });
  return first;
}
