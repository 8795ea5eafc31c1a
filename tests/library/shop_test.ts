/** The shop in examples/shop: its handlers without a store, and the whole program as in its readme. */
import { assertEquals, assertMatch } from "@std/assert";
import { fakeClient } from "../../src/testing/mod.ts";
import { shopJobs } from "../../examples/shop/jobs.ts";
import { startRedis } from "../support/redis.ts";
import { requireTool } from "../support/tools.ts";
import { denoCommand, outputOf } from "../../scripts/deno_command.ts";

Deno.test("an order is charged despite outages, and its receipt is sent once", async () => {
  const mails: string[] = [];
  let outages = 2;
  const jobs = shopJobs({
    mail: (to, text) => Promise.resolve(void mails.push(`${to}: ${text}`)),
    charge: () => outages-- > 0 ? Promise.reject(new Error("down")) : Promise.resolve("paid"),
  });
  const client = fakeClient({ jobs: Object.values(jobs) });
  await client.push(jobs.Charge, [7, "ada@example.com"]);
  await client.push(jobs.Charge, [7, "ada@example.com"]); // a second charge of the same order
  await client.drain({ until: "1h" });
  assertEquals(mails, ["ada@example.com: Receipt of order 7"]);
  assertEquals((await client.pushed(jobs.Charge)).map(({ state, result }) => [state, result]), [
    ["succeeded", "paid"],
    ["succeeded", "paid"],
  ]);
  await client.push(jobs.Stock, [42]);
  assertEquals(await client.push(jobs.Stock, [42]), undefined);
});

for (const kind of ["sqlite", "redis"] as const) {
  Deno.test(`the example shop runs by one command, on ${kind}`, async () => {
    requireTool("node");
    requireTool("python3");
    await using redis = kind === "redis" ? await startRedis() : undefined;
    const root = new URL("../../", import.meta.url).pathname;
    const command = denoCommand("run", "-A", "examples/shop/main.ts", redis?.url ?? "sqlite::memory:", "50");
    const { success, stdout, stderr } = await outputOf(command, { cwd: root, env: { NO_COLOR: "1" } });
    const lines = stdout.trim().split("\n");
    assertEquals(
      [success, lines.slice(1)],
      [true, [
        "Stored 50 newsletters",
        "Stock: 0",
        "Node: payment-8",
        "Python: 10 products, 0 of one",
        'Pictures: [ "7-64.webp", "7-256.webp", "7-1024.webp" ]',
        "Invoice: invoice-2026-0007.pdf",
        "Order 7: payment-7",
        "Sent 50 newsletters",
      ]],
      stderr,
    );
    assertMatch(lines[0]!, /^Dashboard: http:\/\/127\.0\.0\.1:\d+\/$/);
  });
}
