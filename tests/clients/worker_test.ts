/** Workers of other runtimes: each client against a real gateway, on both stores. */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { cancelJob } from "../../src/store/ops/cancel.ts";
import { MORTAL } from "../support/process.ts";
import { startRedis } from "../support/redis.ts";
import { Lab } from "./lab.ts";

/** The role of the programs. */
const role = "work(class=Try|Limited)";

const PROGRAMS = [
  { runtime: "Node", command: ["node", "worker.mjs"] },
  { runtime: "Python", command: ["python3", "worker.py"] },
  { runtime: "Ruby", command: ["ruby", "worker.rb"] },
];

for (const { runtime, command } of PROGRAMS) {
  for (const kind of ["SQLite", "Redis"] as const) {
    Deno.test(`a worker in ${runtime} ends its jobs in each way, on ${kind}`, async () => {
      await using redis = kind === "Redis" ? await startRedis() : undefined;
      await using lab = await Lab.open({ command, role, redis: redis?.url, env: { JOBS_KILL_AFTER: "300ms" } });
      const { bench } = lab;
      const program = lab.program();
      await program.logged("Started");

      const ok = await lab.run("Try", ["ok", 1, "zwei"]);
      assertEquals([ok.state, ok.result], ["succeeded", { how: "ok", rest: [1, "zwei"], attempt: 1 }]);
      assertEquals([ok.progress, ok.log], ["50 half", ["tries ok"]]);
      assertEquals((await lab.run("Try", ["snooze", Date.now() + 300])).state, "succeeded");
      const discarded = await lab.run("Try", ["discard"]);
      assertEquals([discarded.state, discarded.error?.message], ["failed", "not needed"]);
      const killed = await lab.run("Try", ["kill"]);
      assertEquals([killed.state, killed.error?.message], ["dead", "can't work"]);
      const failed = await lab.run("Try", ["fail"]);
      assertEquals([failed.state, failed.attempt, failed.error?.class, failed.error?.message], [
        ...["dead", 2, "TypeError", "no such account"],
      ]);
      assertStringIncludes(JSON.stringify(failed.error), "worker.");
      const child = await lab.run("Try", ["push"]);
      assertEquals((await lab.ended(String(child.result)))?.state, "succeeded");
      await bench.store.jobs.enqueue([{
        payload: `{"class":"Try","args":["raw",12345678901234567890],"jid":"raw","queue":"default","result_ttl":100}`,
        queue: "default",
        jid: "raw",
      }]);
      assertEquals((await lab.ended("raw"))?.result, "whole");

      const large = await Promise.all([4e6, 4e5, 4e5, 4e5, 4e5].map((size) => lab.run("Try", ["large", size])));
      assertEquals(large.map(({ state }) => state), large.map(() => "succeeded"));
      assertEquals((await lab.run("Try", ["huge error"])).state, "dead");

      const late = await lab.run("Limited", []);
      assertEquals([late.state, late.error?.class], ["dead", "Timeout"]);
      for (const how of ["wait", "ignore"]) {
        const jid = await bench.push("Try", [how]);
        await bench.until(async () => (await bench.store.workers.list())[0]?.work.length === 1, `${how} runs`);
        await cancelJob(bench.store, jid, Date.now());
        assertEquals((await lab.ended(jid))?.state, "cancelled");
      }
      const [worker] = await bench.store.workers.list();
      assertEquals([worker!.classes, worker!.concurrency, worker!.alive], [["Limited", "Try"], 3, true]);
      assertStringIncludes(worker!.version.toLowerCase(), runtime.toLowerCase());

      program.kill("SIGTERM");
      await program.status();
      assertEquals(await bench.store.workers.list(), []);
    });
  }

  Deno.test(`a job in ${runtime} runs once although its gateway is killed, and again after its program is`, async () => {
    await using lab = await Lab.open({ command, role, env: MORTAL });
    const { bench } = lab;
    const first = lab.program();
    await first.logged("Started");
    const jid = await bench.push("Try", ["nap", 3_000]);
    await bench.until(async () => (await bench.store.workers.list())[0]?.work.length === 1, "it runs");
    lab.gateway.kill("SIGKILL");
    await lab.gateway.status();
    await lab.startGateway();
    const ended = await lab.ended(jid);
    assertEquals([ended?.state, ended?.attempt, ended?.log], ["succeeded", 1, ["tries nap"]]);

    const other = await bench.push("Try", ["nap", 1_000]);
    await bench.until(async () => (await bench.store.workers.list())[0]?.work.length === 1, "it runs");
    first.kill("SIGKILL");
    await first.status();
    await using second = lab.program();
    await second.logged("Started");
    assertEquals((await lab.ended(other))?.state, "succeeded");
    await lab.gateway.logged("Program not heard: its jobs are rescued");
  });

  Deno.test(`a worker in ${runtime} keeps a job that blocks it, gives back what it can't finish, and stops on command`, async () => {
    await using lab = await Lab.open({ command, role, env: MORTAL });
    const { bench } = lab;
    const program = lab.program();
    await program.logged("Started");
    const blocked = await lab.run("Try", ["block", 5_000]);
    assertEquals([blocked.state, blocked.attempt], ["succeeded", 1]);

    await bench.push("Try", ["ignore"]);
    await bench.until(async () => (await bench.store.workers.list())[0]?.work.length === 1, "it runs");
    const id = (await bench.store.workers.list())[0]!.id;
    await bench.store.workers.send(id, { id: "c", verb: "stop" });
    await program.status();
    assertEquals((await bench.store.admin.stats()).queues.map(({ name, size }) => [name, size]), [["default", 1]]);
  });

  Deno.test(`a worker in ${runtime} without rights, or of an unknown protocol, is refused in one line`, async () => {
    await using lab = await Lab.open({ command, role });
    const program = lab.program("Other");
    assert(!(await program.status()).success);
    assertStringIncludes(
      program.lines.map(({ msg }) => msg).join("\n"),
      'Class "Other" is outside of your role; expected Try, Limited',
    );
  });
}
