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
  const { stdout } = await jobs(["steps", "clear", "o1"], { env: { JOBS_STORE: bench.url } });
  assertEquals(stdout.replace(/\d+/, "N"), "Cleared N steps; the next attempt runs them again\n");
});

Deno.test("jobs signal keeps a signal that only a dead job waited for", async () => {
  await using bench = await Bench.open();

  await asleep(bench.store);
  await bench.store.jobs.edit((await bench.store.jobs.find(["o1"])).map(({ ref }) => ref), "kill");
  const { stdout } = await jobs(["signal", "order:42"], { env: { JOBS_STORE: bench.url } });
  assertEquals(stdout, "Kept: no job waits for it yet\n");
});
