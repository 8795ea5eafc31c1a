/**
 * The time from a push by one process to the start of the job in another, idle process. Prints one line of JSON.
 *
 *     deno run -A tests/bench/latency.ts STORE-URL [N]
 */
import { Client } from "../../src/client/client.ts";
import { openStore } from "../../src/store/open.ts";

const ROOT = new URL("../../", import.meta.url).pathname;
const [url, count = "300"] = Deno.args;
const folder = await Deno.makeTempDir({ prefix: "jobs-latency-" });
const out = `${folder}/times`;
await Deno.writeTextFile(
  `${folder}/handlers.js`,
  `export function Stamp(_ctx, file, pushed) {
     Deno.writeTextFileSync(file, (performance.timeOrigin + performance.now() - pushed) + "\\n", { append: true });
   }`,
);
const server = new Deno.Command(`${ROOT}jobs`, {
  args: ["run", `${folder}/handlers.js`, "--store", url!, "--log-level", "error"],
  stdin: "null",
}).spawn();
try {
  await using store = await openStore(url!);
  const client = new Client({ store });
  while ((await store.workers.list()).length === 0) await new Promise((resolve) => setTimeout(resolve, 50));
  await new Promise((resolve) => setTimeout(resolve, 500));
  for (let i = 0; i < Number(count); i++) {
    await client.push({ class: "Stamp", args: [out, performance.timeOrigin + performance.now()] });
    // Not in step with the worker's intervals.
    await new Promise((resolve) => setTimeout(resolve, 20 + Math.random() * 20));
  }
  await new Promise((resolve) => setTimeout(resolve, 200));
  const times = (await Deno.readTextFile(out)).trim().split("\n").map(Number).sort((a, b) => a - b);
  const at = (share: number) => times[Math.min(times.length - 1, Math.floor(times.length * share))]!;
  console.log(JSON.stringify({ count: times.length, p50: at(0.5), p99: at(0.99), most: times.at(-1) }));
} finally {
  server.kill("SIGTERM");
  await server.status;
  await Deno.remove(folder, { recursive: true });
}
