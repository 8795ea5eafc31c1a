/**
 * A web shop: a worker with its dashboard in one program, and producers in Node and Python. Run it with
 * `deno run -A examples/shop/main.ts`, and open the address that it prints. Arguments: the store (default: one in memory), and
 * the number of newsletters to send.
 */
import { startServer } from "@jobs/jobs";
import { shopJobs } from "./jobs.ts";

const [store = "sqlite::memory:", readers = "50000"] = Deno.args;
let sent = 0;
let outages = 3;
const jobs = shopJobs({
  mail: () => Promise.resolve(void sent++),
  charge: (order) => {
    if (outages-- > 0) return Promise.reject(new Error("Payment API", { cause: new TypeError("fetch failed") }));
    return Promise.resolve(`payment-${order}`);
  },
});

await using server = await startServer({
  store,
  jobs: Object.values(jobs),
  web: "127.0.0.1:0",
  signals: true,
  log: { level: "warn" },
});
console.log(`Dashboard: ${server.url}`);
await server.store.admin.limit("news", { starts: { count: 100, perMs: 1_000 } }); // 100 a second

const { client } = server;
await client.push(jobs.Charge, [7, "ada@example.com"], { id: "order-7" });
await client.push(jobs.Charge, [7, "ada@example.com"], { id: "order-7" }); // the form was sent twice: charged once
const stock = await client.push(jobs.Stock, [42]);
const results = await client.pushBulk(
  jobs.Newsletter,
  Array.from({ length: Number(readers) }, (_, i) => [i] as [number]),
);
console.log(`Stored ${results.filter(({ jid }) => jid !== undefined).length} newsletters`);
console.log("Stock:", (await client.result(stock!))?.result);

// Other programs push over HTTP.
for (const [command, file] of [["node", "producer.mjs"], ["python3", "producer.py"]] as const) {
  const args = [new URL(file, import.meta.url).pathname, server.url!];
  await new Deno.Command(command, { args, stdout: "inherit", stderr: "inherit" }).output()
    .catch((error) => console.log(`${file} not run: ${error.message}`));
}

// A program that only works would wait for `server.finished`; the demo ends when everything is done.
if (Deno.args.length > 1) {
  for (;;) {
    const { enqueued, leased, scheduled, retry } = await server.store.admin.stats();
    if (enqueued + leased + scheduled + retry === 0) break;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  console.log(`Sent ${sent} mails`);
} else await server.finished;
