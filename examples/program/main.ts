/**
 * A program that pushes and performs typed jobs. It can be compiled to one binary:
 *
 *     deno compile -A --include src/server/liveness/heartbeat_worker.ts examples/program/main.ts
 *
 * It imports the library's sources, because it is in their repository. Other programs import the output of `make library`
 * (docs/guides/library.md).
 *
 * Here it pushes three jobs to itself, and ends when they are done.
 */
import { defineJob, startServer } from "../../src/mod.ts";

const Welcome = defineJob("Welcome", async (ctx, name: string, times: number) => {
  for (let i = 0; i < times; i++) ctx.log.info(`Welcome, ${name}`);
  await ctx.client.push(Report, [name]);
}, { queue: "mail", retry: 5 });

const reported: string[] = [];
const Report = defineJob("Report", (_ctx, name: string) => void reported.push(name));

const server = await startServer({ store: Deno.args[0] ?? "sqlite::memory:", jobs: [Welcome, Report] });

await server.client.push(Welcome, ["Ada", 1]);
await server.client.push(Welcome, ["Grace", 2]);
await server.client.push(Welcome, ["Barbara", 1], { in: "500ms" });

while (reported.length < 3) await new Promise((resolve) => setTimeout(resolve, 50));
await server.stop();
console.log(`reported: ${reported.join(", ")}`);
