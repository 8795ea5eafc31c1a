/** What stands in the way of a job: push says it, doctor says it, and they agree. */
import { assertEquals } from "@std/assert";
import { Bench, benchOn } from "../support/bench.ts";
import { jobs } from "../support/process.ts";
import { processRecord, register, takeUpTo } from "../store_contract/jobs.ts";

Deno.test("push and doctor say alike that a queue is paused, its processes quiet, or its class performed no longer", async () => {
  benchOn((folder) => `sqlite:${folder}/jobs.db`);
  await using bench = await Bench.open();
  const { store } = bench;
  const beat = (more: Parameters<typeof processRecord>[1]) =>
    store.workers.heartbeat(
      processRecord("host:1:aaaaaaaaaaaa", { queues: ["default"], classes: ["Now"], ...more }),
      600_000,
    );
  const env = { JOBS_STORE: bench.url };
  const push = async (name: string) => (await jobs(["push", name], { env, cwd: bench.folder })).stderr.trim();
  const doctor = async () => {
    const { stdout } = await jobs(["doctor", "--json"], { env, cwd: bench.folder });
    const found: { readonly check: string; readonly message: string }[] = JSON.parse(stdout).findings;
    return found.filter(({ check }) => check === "queues" || check === "jobs").map(({ message }) => message);
  };
  await store.classes.declare([{ name: "Now", options: "{}" }, { name: "Once", options: "{}" }]);

  await beat({});
  assertEquals(await push("Now"), "");
  assertEquals(await doctor(), []);
  assertEquals(
    await push("Once"),
    'jobs: stored, and will fail: no process that takes queue "default" has a handler for class "Once"',
  );
  assertEquals(await doctor(), [
    'jobs of class Once wait in "default", and no process that takes it has a handler: they would fail',
  ]);

  await beat({ quiet: true });
  assertEquals(
    await push("Now"),
    'jobs: stored, and waits: all processes that take queue "default" are quiet (jobs run -q default)',
  );
  assertEquals(await doctor(), ['"default" has 3 jobs and all processes that take it are quiet']);

  await store.admin.pause("default");
  assertEquals(await push("Now"), 'jobs: stored, and waits: queue "default" is paused (jobs resume default)');
  assertEquals((await doctor())[0], "default paused");
});

Deno.test("doctor tells of a queue whose jobs wait because it is at its limit, and takes it for no fault", async () => {
  benchOn((folder) => `sqlite:${folder}/jobs.db`);
  await using bench = await Bench.open();
  const { store } = bench;
  const queues = async () => {
    const { code, stdout } = await jobs(["doctor", "--json"], { env: { JOBS_STORE: bench.url }, cwd: bench.folder });
    assertEquals(code, 0);
    const found: { readonly check: string; readonly state: string; readonly message: string }[] =
      JSON.parse(stdout).findings;
    return found.filter(({ check }) => check === "queues")
      .map(({ state, message }) => `${state}: ${message.replace(/\S+ old,/, "3s old,")}`);
  };
  const owner = await register(store);
  await store.admin.limit("default", { running: 1 });
  for (let i = 0; i < 3; i++) await bench.push("Now", []);
  assertEquals(await queues(), []);
  await takeUpTo(store, owner, 1);
  assertEquals(await queues(), ['ok: "default" has 2 jobs, the oldest 3s old, and is at its limit: 1 of 1 run']);
});
