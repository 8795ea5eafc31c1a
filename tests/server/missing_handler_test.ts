/** Workers without a class next to workers with it: a rolling deploy, or several programs on one queue. */
import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { Bench } from "../support/bench.ts";
import { jobs, JobsProcess } from "../support/process.ts";
import { startServer, STORES } from "../support/servers.ts";

const NEW_CODE = new URL("../support/step_handlers.js", import.meta.url).pathname;

Deno.test("a worker without the class of a job puts it aside with its steps, without using its only attempt", async () => {
  await using bench = await Bench.open();
  const { store, client } = bench;
  const jid = await bench.push("Every", [bench.notes], { retry: 0 });
  const place = async () => (await store.jobs.find([jid]))[0]?.place;
  {
    await using current = await bench.server([NEW_CODE]);
    await bench.until(async () => (await store.steps.read(jid)).length === 2, "it waits for the signal");
    await bench.until(async () => (await place())?.in === "scheduled", "it has gone to sleep");
    current.kill("SIGTERM");
    assertEquals((await current.status()).code, 0);
  }
  await using old = await bench.server();
  await client.signal(`every:${jid}`, "yes");
  assertEquals((await old.logged("Set aside for a worker with its class")).jid, jid);
  await bench.until(async () => (await place())?.in === "queue", "it waits for a handler");
  const { stdout } = await jobs(["show", jid, "--store", bench.url]);
  assertStringIncludes(stdout, 'queued in "default", aside for class Every');
  assertMatch(
    stdout,
    /No worker of queue "default" has a handler for Every: it waits for one\. \S+:\w+ takes its jobs and lacks it\. Start one with jobs run/,
  );
  const listed = await jobs(["list", "queued", "-q", "default", "--json", "--store", bench.url]);
  assertStringIncludes(listed.stdout, jid);
  const { stdout: doctor } = await jobs(["doctor", "--measure", "0s", "--json", "--store", bench.url]);
  assertStringIncludes(doctor, 'No worker of queue \\"default\\" has a handler for Every');
  // The old worker continues to take from the queue.
  await using _current = await bench.server([NEW_CODE]);
  const { state, attempt, result } = (await client.result(jid))!;
  assertEquals([state, attempt, result], ["succeeded", 1, { said: "yes", child: 42, count: 3 }]);
});

for (const kind of STORES) {
  Deno.test(`${kind}: workers with different classes share a queue, and no job waits for longer than a take`, async () => {
    await using server = await startServer(kind);
    await using bench = await Bench.open(server?.url());
    const worker = async (name: string) => {
      const module = `${bench.folder}/${name}.js`;
      await Deno.writeTextFile(module, `export function ${name}() {}\n`);
      const process = new JobsProcess({ store: bench.url, args: [module, "-c", "2"] });
      await process.logged("Ready");
      return process;
    };
    await using mail = await worker("Mail");
    await using report = await worker("Report");
    for (let i = 0; i < 20; i++) {
      await bench.client.pushBulk(i % 2 === 0 ? "Mail" : "Report", Array.from({ length: 10 }, (_, k) => [i, k]));
    }
    await bench.until(async () => (await bench.store.admin.stats()).processed === 200, "all have ended");
    const { enqueued, scheduled, retry, dead, failed, running } = await bench.store.admin.stats();
    assertEquals({ enqueued, scheduled, retry, dead, failed, running }, {
      ...{ enqueued: 0, scheduled: 0, retry: 0, dead: 0, failed: 0, running: 0 },
    });
    for (const { lines } of [mail, report]) {
      assertEquals(lines.filter(({ msg }) => msg === "Waits for a worker with its class"), []);
    }
  });
}
