/**
 * CPU-bound jobs, drained by one worker and then by two. Prints one line of JSON.
 *
 *     deno run -A tests/bench/processes.ts [JOBS]
 */
import { Client } from "../../src/client/client.ts";
import { openStore } from "../../src/store/open.ts";
import { denoCommand, outputOf } from "../../scripts/deno_command.ts";

const [jobs = "100"] = Deno.args;
const main = new URL("../../main.ts", import.meta.url).pathname;
const folder = await Deno.makeTempDir({ prefix: "jobs-bench-" });
const handlers = `${folder}/burn.js`;
await Deno.writeTextFile(handlers, "export function Burn() { let x = 0; for (let i = 0; i < 1e8; i++) x += i % 7; }");

/** Milliseconds per job, from the first end to the last. */
async function drain(processes: number): Promise<number> {
  const url = `sqlite:${folder}/${processes}.db`;
  await using store = await openStore(url);
  await new Client({ store }).pushBulk({ class: "Burn", args: Array.from({ length: Number(jobs) }, () => []) });
  const start = performance.now();
  const args = ["run", handlers, "--store", url, "--burst", "-c", "1", "--log-level", "error"];
  await outputOf(denoCommand("run", "-A", main, ...args, "--processes", String(processes)));
  return (performance.now() - start) / Number(jobs);
}

const [one, two] = [await drain(1), await drain(2)];
console.log(JSON.stringify({ msPerJob: { one, two }, timesAsFast: Math.round(one / two * 100) / 100 }));
await Deno.remove(folder, { recursive: true });
