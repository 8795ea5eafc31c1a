import { assertEquals } from "@std/assert";
import { Client } from "../../client/client.ts";
import { openStore } from "../open.ts";

/** The number of jobs in a store in memory. */
async function countJobs(url: string): Promise<number> {
  await using store = await openStore(url);
  return (await store.admin.stats()).enqueued;
}

Deno.test("stores in memory are shared by name, until the last user closes; without a name they are not", async () => {
  {
    await using one = await openStore("sqlite::memory:orders");
    await using _other = await openStore("sqlite::memory:orders");
    const client = new Client({ store: one, onUnregistered: () => {} });
    await client.push("Report", []);
    assertEquals(await countJobs("sqlite::memory:orders"), 1);
    assertEquals(await countJobs("sqlite::memory:others"), 0);
    assertEquals(await countJobs("sqlite::memory:"), 0);
    await one[Symbol.asyncDispose]();
    await one[Symbol.asyncDispose]();
    assertEquals(await countJobs("sqlite::memory:orders"), 1);
  }
  assertEquals(await countJobs("sqlite::memory:orders"), 0);
});
