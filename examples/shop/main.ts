/**
 * A web shop: a worker with its dashboard in one program, next to it workers and producers in Node and Python, which reach it over HTTP.
 * Run it with `make shop`, and open the address that it prints. It ends when its newsletters are sent: 50,000 at 100 a second, or as many
 * as the second argument says. The first argument is the store (default: one in memory).
 */
import { fileURLToPath } from "node:url";
import { startServer } from "@jobs/jobs";
import { shopJobs } from "./jobs.ts";

const [store = "sqlite::memory:", count = "50000"] = Deno.args;
const readers = Array.from({ length: Number(count) }, (_, i) => ({ id: i + 1 }));
let outages = 3;
const jobs = shopJobs({
  mail: () => Promise.resolve(),
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
await server.store.admin.configure("news", { limit: { starts: { count: 100, perMs: 1_000 } } }); // 100 a second

// The worker in Node makes pictures, the one in Python writes invoices.
await using workers = new AsyncDisposableStack();
const others: [name: string, queue: string][] = [];
for (
  const [command, file, name, queue] of [
    ["node", "worker.mjs", "Pictures", "pictures"],
    ["python3", "worker.py", "Invoice", "books"],
  ] as const
) {
  try {
    workers.use(program(command, file).spawn());
    others.push([name, queue]);
  } catch (error) {
    console.log(`${file} not started: ${(error as Error).message}`);
  }
}

const { client } = server;
const order = await client.push(jobs.Charge, [7, "ada@example.com"], { id: "order-7" });
await client.push(jobs.Charge, [7, "ada@example.com"], { id: "order-7" }); // the form was sent twice: charged once
const stock = await client.push(jobs.Stock, [42]);
const issue = await client.batches.open({ name: "newsletter" });
const results = await client.pushBulk(jobs.Newsletter, readers.map(({ id }) => [id]), { batch: issue.id });
await issue.close();
console.log(`Stored ${results.filter(({ jid }) => jid !== undefined).length} newsletters`);
console.log("Stock:", (await client.result(stock!))?.result);

// Other programs push over HTTP.
for (const [command, file] of [["node", "producer.mjs"], ["python3", "producer.py"]] as const) {
  await program(command, file).output().catch((error) => console.log(`${file} not run: ${error.message}`));
}
for (const [name, queue] of others) {
  const jid = await client.push(name, [7], { queue, result_ttl: "1h" });
  console.log(`${name}:`, (await client.result(jid!))?.result);
}

console.log("Order 7:", (await client.result(order!))?.result);
const ended = await Promise.race([client.batches.wait(issue.id), server.finished.then(() => undefined)]); // or Ctrl-C
console.log(`Sent ${ended?.succeeded ?? 0} newsletters`);

function program(command: string, file: string): Deno.Command {
  const args = [fileURLToPath(new URL(file, import.meta.url)), server.url!];
  return new Deno.Command(command, { args, stdin: "null", stdout: "inherit", stderr: "inherit" });
}
