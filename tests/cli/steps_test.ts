/** `jobs steps`: its messages for arguments that make no sense. */
import { assertEquals } from "@std/assert";
import { Bench } from "../support/bench.ts";
import { jobs } from "../support/process.ts";
import { asleep } from "../web/asleep.ts";

Deno.test("jobs steps names the missing, unexpected or unknown argument, and the usage of the command", async () => {
  await using bench = await Bench.open();
  const cases: [string[], number, string][] = [
    [[], 2, "Missing argument: JID. Usage: jobs steps [clear|rerun|wake] JID [NAME]"],
    [["wake"], 2, "Missing argument: JID. Usage: jobs steps wake JID"],
    [["wake", "j", "nap"], 2, 'Unexpected argument "nap". Usage: jobs steps wake JID'],
    [["clear"], 2, "Missing argument: JID. Usage: jobs steps clear JID [NAME]"],
    [["rerun", "j"], 2, "Missing argument: NAME. Usage: jobs steps rerun JID NAME"],
    [["retry", "j"], 2, 'Unknown command "retry": expected clear, rerun, wake, or a JID alone'],
    [["j"], 1, 'Job "j" has no steps: it used none, has finished without a record, or is in another store'],
    [["wake", "j"], 1, 'Job "j" has no sleep or wait'],
  ];
  for (const [args, code, message] of cases) {
    const ended = await jobs(["steps", ...args], { env: { JOBS_STORE: bench.url } });
    assertEquals([ended.code, ended.stderr], [code, `jobs: ${message}\n`]);
  }
});

Deno.test("jobs steps masks the secrets in values, of a job that waits and in the record of one that has ended", async () => {
  await using bench = await Bench.open();
  await asleep(bench.store);
  const env = { JOBS_STORE: bench.url };
  for (const state of ["waiting", "ended"]) {
    for (const json of [[], ["--json"]]) {
      const { stdout } = await jobs(["steps", "o1", ...json], { env });
      assertEquals([stdout.includes("visa"), stdout.includes("hunter2")], [true, false], `${state} ${json}: ${stdout}`);
    }
    if (state === "waiting") assertEquals((await jobs(["cancel", "o1"], { env })).code, 0);
  }
});

Deno.test("jobs steps clear says when the steps run again", async () => {
  await using bench = await Bench.open();
  await asleep(bench.store);
  const { stdout } = await jobs(["steps", "clear", "o1", "--yes"], { env: { JOBS_STORE: bench.url } });
  assertEquals(stdout.replace(/\d+/, "N"), "Cleared N steps; the next attempt runs them again\n");
});

Deno.test("jobs signal keeps a signal that only a dead job waited for", async () => {
  await using bench = await Bench.open();

  await asleep(bench.store);
  await bench.store.jobs.edit((await bench.store.jobs.find(["o1"])).map(({ ref }) => ref), "kill");
  const { stdout } = await jobs(["signal", "order:42"], { env: { JOBS_STORE: bench.url } });
  assertEquals(stdout, "Kept: no job waits for it yet\n");
});

Deno.test("jobs steps asks before it changes anything, and names the results that are lost", async () => {
  await using bench = await Bench.open();
  await asleep(bench.store);
  const env = { JOBS_STORE: bench.url };
  const lost = 'charge {"card":"visa","password":"••••••"}';
  const yes = "Pass --yes to confirm (stdin isn't a terminal)";
  const cases: [string[], string][] = [
    [["clear", "o1", "charge"], `delete the step of job "o1", which runs again: ${lost}`],
    [["clear", "o1"], `delete steps of job "o1", which run again: ${lost}, approval`],
    [["rerun", "o1", "charge"], `delete steps of job "o1", which run again: ${lost}, approval`],
    [["wake", "o1"], 'give up waiting for signal "order:42" in job "o1"'],
  ];
  for (const [args, what] of cases) {
    const { code, stderr } = await jobs(["steps", ...args], { env });
    assertEquals([code, stderr], [2, `jobs: This would ${what}. ${yes}\n`]);
  }
  assertEquals((await bench.store.steps.read("o1")).length, 2);
  assertEquals((await jobs(["steps", "wake", "o1", "-y"], { env })).stdout, "Ended 1 step\n");
});

Deno.test("jobs list signals shows who waits for what, and jobs signal --no-keep refuses a key that no job waits for", async () => {
  await using bench = await Bench.open();
  const env = { JOBS_STORE: bench.url };
  const run = (...args: string[]) => jobs(args, { env });
  assertEquals((await run("list", "signals")).stdout, "No job waits for a signal\n");
  const remark = "jobs: some wait for a signal until then: jobs list signals\n";
  assertEquals((await run("list", "scheduled")).stderr, "");
  await asleep(bench.store);
  await asleep(bench.store, { jid: "o2", key: "refund:1" });
  assertEquals((await run("list", "scheduled")).stderr, remark);
  const listed = JSON.parse((await run("list", "signals", "order:*", "--json")).stdout).signals;
  assertEquals(listed.map(({ key, jid, step, class: name }: Record<string, string>) => [key, jid, step, name]), [
    ["order:42", "o1", "approval", "Order"],
  ]);
  const { stdout } = await run("list", "signals");
  assertEquals(stdout.split("\n").slice(1, 3).map((line) => line.split(/ {2,}/).slice(0, 3)), [
    ["order:42", "o1", "Order(42)"],
    ["refund:1", "o2", "Order(42)"],
  ]);
  const refused = await run("signal", "ordre:42", "--no-keep");
  assertEquals([refused.code, refused.stderr], [1, 'jobs: No job waits for signal "ordre:42": nothing was sent\n']);
  const both = await run("signal", "k", "--no-keep", "--keep-for", "1h");
  assertEquals([both.code, both.stderr], [2, "jobs: Use --keep-for or --no-keep, not both\n"]);
  assertEquals((await run("signal", "order:42", "--no-keep")).stdout, 'Job "o1" continues\n');
  assertEquals((await run("list", "signals", "order:*")).stdout, 'No job waits for signal "order:*"\n');
  const wrong = await run("list", "signals", "-q", "mail");
  assertEquals(
    wrong.stderr,
    "jobs: --queue doesn't apply to signals. Usage: jobs list signals [KEY] [-n N] [--cursor CURSOR]\n",
  );
});
