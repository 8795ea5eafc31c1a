/** Queues and processes at the command line: mistyped names, pauses, quiet and its end. */
import { assertEquals, assertMatch } from "@std/assert";
import { Bench, benchOn } from "../support/bench.ts";
import { jobs } from "../support/process.ts";

benchOn((folder) => `sqlite:${folder}/jobs.db`);

const on = (bench: Bench, ...args: string[]) => jobs(args, { env: { JOBS_STORE: bench.url }, cwd: bench.folder });

Deno.test("pausing a queue that nobody knows says so, and clear takes its name away again", async () => {
  await using bench = await Bench.open();
  await bench.push("A", [], { queue: "mail" });
  const typo = await on(bench, "pause", "mails");
  assertEquals([typo.code, typo.stdout], [0, "mails paused\n"]);
  assertEquals(typo.stderr, 'jobs: queue mails has no jobs, and no process takes it; did you mean "mail"?\n');
  assertEquals((await on(bench, "pause", "mail")).stderr, "");
  assertEquals((await on(bench, "clear", "mails")).stdout, "0 jobs deleted from queue mails\n", "it is paused still");
  assertEquals((await on(bench, "resume", "mails")).stderr, "");
  assertEquals((await on(bench, "clear", "mails")).stdout, "0 jobs deleted from queue mails, which is forgotten\n");
  assertEquals((await bench.store.admin.stats()).queues.map(({ name }) => name), ["mail"]);
});

Deno.test("resuming what is not paused says so, and what is", async () => {
  await using bench = await Bench.open();
  const nothing = await on(bench, "resume");
  assertEquals([nothing.code, nothing.stderr], [0, "jobs: all queues together were not paused\n"]);
  await bench.store.admin.pause("mail");
  assertMatch((await on(bench, "resume")).stderr, /were not paused; paused: mail\n$/);
  assertEquals((await on(bench, "resume", "low")).stderr, "jobs: queue low was not paused; paused: mail\n");
});

Deno.test("quiet --end lets a process take jobs again; a queue that it takes is never forgotten", async () => {
  await using bench = await Bench.open();
  await using server = await bench.server();
  assertEquals((await on(bench, "clear", "default")).code, 1);
  await on(bench, "quiet", "--all");
  await server.logged("Quiet: taking no more jobs");
  const ended = await on(bench, "quiet", "--end", "--all");
  assertMatch(ended.stdout, /asked to take jobs again\n$/);
  await server.logged("Resumed: taking jobs");
  const jid = await bench.push("Note", [bench.notes, "again"]);
  await bench.until(async () => (await bench.store.admin.find([jid])).length === 0);
  assertEquals((await on(bench, "clear", "default")).stdout, "0 jobs deleted from queue default\n");
});

Deno.test("what has no meaning is refused: surplus arguments, a role for nobody", async () => {
  await using bench = await Bench.open();
  for (const args of [["version", "x"], ["--version", "x"], ["help", "push", "x"], ["--help", "x"]]) {
    const { code, stderr } = await on(bench, ...args);
    assertEquals([code, stderr.startsWith('jobs: Superfluous: "x"')], [2, true], stderr);
  }
  const role = await on(bench, "web", "--role", "reader");
  assertEquals(role.code, 2);
  assertMatch(role.stderr, /^jobs: --role is for --new-user or --new-token/);
});
