/** Durable steps, batches and flows in workers of other runtimes, each on one store, which a client can't see. */
import { assertEquals } from "@std/assert";
import { jobs, MORTAL } from "../support/process.ts";
import { startRedis } from "../support/redis.ts";
import { Lab } from "./lab.ts";

const PROGRAMS = [
  { runtime: "Node", command: ["node", "steps.mjs"], kind: "Redis" },
  { runtime: "Python", command: ["python3", "steps.py"], kind: "SQLite" },
  { runtime: "Ruby", command: ["ruby", "steps.rb"], kind: "Redis" },
];

for (const { runtime, command, kind } of PROGRAMS) {
  Deno.test(`steps of a handler in ${runtime} complete once, on ${kind}`, async () => {
    await using redis = kind === "Redis" ? await startRedis() : undefined;
    await using lab = await Lab.open({ command, redis: redis?.url });
    const { bench } = lab;
    await lab.program(bench.notes).logged("Started");

    const order = await bench.push("Order", [5]);
    await bench.until(async () => {
      const { waits, dead } = await bench.store.admin.stats();
      return dead === 1 || waits.wait === 1;
    }, "it waits");
    await bench.client.signal("order-5", { by: "ann" });
    const ended = await lab.ended(order);
    assertEquals(ended?.result, {
      card: { key: true, cents: 5 },
      answer: { by: "ann" },
      undone: "StepFailed",
      child: "invoice 5 1 acme",
      count: 3,
      sum: 6,
    }, JSON.stringify(ended));
    assertEquals(ended?.steps?.map(({ name, kind, state }) => [name, kind, state].join()), [
      "charge,step,succeeded",
      "flaky,step,succeeded",
      "cool down,sleep,succeeded",
      "approval,wait,succeeded",
      "ship,step,failed",
      "refund,step,succeeded",
      "invoice,child,succeeded",
      "lines,each,running",
    ]);
    assertEquals((await bench.readNotes()).filter((line) => !line.startsWith("slow")), [
      ...["charge 1", "flaky 1", "flaky 2", "flaky 3", "refund"],
    ]);

    const batch = await bench.client.batch({}, (add) => add("Member", []));
    await bench.until(
      async () => (await bench.client.batches.get(batch.id))?.succeeded === 2,
      "both members succeed",
    );
    const flow = await bench.client.flow("sum", {
      a: { job: ["First", []] },
      b: { job: ["Second", []], after: "a" },
    });
    await bench.until(async () => (await bench.client.batches.get(flow.id))?.succeeded === 2, "both nodes succeed");
    assertEquals(await bench.client.flows.results(flow.id, ["b"]), { b: { node: "b", results: { a: 7 } } });

    const told = await bench.push("Tell", [3]);
    assertEquals((await lab.ended(told))?.result, "told");
    const { stdout } = await jobs(["stream", told, "--json", "--store", bench.url]);
    assertEquals(stdout.trim().split("\n").map((line) => JSON.parse(line).chunk), ["line 1", "line 2", { last: 3 }]);
  });

  Deno.test(`a step in ${runtime} that ran while its gateway was killed isn't run again`, async () => {
    await using lab = await Lab.open({ command, env: MORTAL });
    const { bench } = lab;
    await lab.program(bench.notes).logged("Started");
    const jid = await bench.push("Slow", []);
    await bench.noted("slow 1");
    lab.gateway.kill("SIGKILL");
    await lab.gateway.status();
    await lab.startGateway();
    assertEquals((await lab.ended(jid))?.result, "slow");
    assertEquals(await bench.readNotes(), ["slow 1"]);
  });
}
