/** A rolling deploy: workers without a class next to workers with it. */
import { assertEquals, assertStringIncludes } from "@std/assert";
import { Bench } from "../support/bench.ts";
import { jobs } from "../support/process.ts";

const NEW_CODE = new URL("../support/step_handlers.js", import.meta.url).pathname;

Deno.test("a worker without the class of a job returns it with its steps, without using its only attempt", async () => {
  await using bench = await Bench.open();
  const { store, client } = bench;
  const jid = await bench.push("Every", [bench.notes], { retry: 0 });
  const isScheduled = async () => (await store.jobs.find([jid]))[0]?.place.in === "scheduled";
  {
    await using current = await bench.server([NEW_CODE]);
    await bench.until(async () => (await store.steps.read(jid)).length === 2, "it waits for the signal");
    await bench.until(isScheduled, "it has gone to sleep");
    current.kill("SIGTERM");
    assertEquals((await current.status()).code, 0);
  }
  {
    await using old = await bench.server();
    await client.signal(`every:${jid}`, "yes");
    assertEquals((await old.logged("Waits for a worker with its class")).jid, jid);
    // Now no poller and no worker can change it before the test reads it.
    await store.admin.configure("default", { pause: true });
    await bench.until(isScheduled, "it waits for a handler");
    const { stdout } = await jobs(["show", jid, "--store", bench.url]);
    assertStringIncludes(stdout, 'No worker of queue "default" has a handler for Every: it waits for one.');
    old.kill("SIGTERM");
    assertEquals((await old.status()).code, 0);
  }
  await using _current = await bench.server([NEW_CODE]);
  await store.admin.configure("default", { pause: false });
  const [entry] = await store.jobs.find([jid]);
  await store.jobs.edit([entry!.ref], "requeue");
  const { state, attempt, result } = (await client.result(jid))!;
  assertEquals([state, attempt, result], ["succeeded", 1, { said: "yes", child: 42, count: 3 }]);
});
