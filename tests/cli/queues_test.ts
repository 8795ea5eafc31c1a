/** Queues and workers at the command line: mistyped names, pauses, quiet and resume. */
import { assertEquals, assertMatch } from "@std/assert";
import { Bench } from "../support/bench.ts";
import { jobs } from "../support/process.ts";
import { workerRecord } from "../store_contract/jobs.ts";

const on = (bench: Bench, ...args: string[]) => jobs(args, { env: { JOBS_STORE: bench.url }, cwd: bench.folder });

Deno.test("notes that a paused queue is new, and removes it with clear", async () => {
  await using bench = await Bench.open();
  await bench.push("A", [], { queue: "mail" });
  const typo = await on(bench, "pause", "mails");
  assertEquals([typo.code, typo.stdout], [0, 'Paused queue "mails"\n']);
  assertEquals(
    typo.stderr,
    'jobs: queue "mails" is new: it has no jobs and no worker yet; did you mean "mail"? (jobs resume mails undoes this)\n',
  );
  assertEquals((await on(bench, "pause", "mail")).stderr, "");
  assertEquals(
    (await on(bench, "clear", "mails")).stdout,
    'Deleted 0 queued jobs in queue "mails"\n',
    "it is still paused",
  );
  assertEquals((await on(bench, "resume", "mails")).stderr, "");
  assertEquals(
    (await on(bench, "clear", "mails")).stdout,
    'Deleted 0 queued jobs in queue "mails", and removed the queue\n',
  );
  assertEquals((await bench.store.admin.stats()).queues.map(({ name }) => name), ["mail"]);
});

Deno.test("lists, pauses, limits, moves and clears a queue that another program named", async () => {
  await using bench = await Bench.open();
  const queue = "billing/my invoices";
  const payload = `{"class":"A","args":[],"jid":"j1"}`;
  await bench.store.jobs.enqueue([{ queue, jid: "j1", payload }, { queue: "mail", jid: "j2", payload }]);
  for (
    const args of [
      ["pause", queue],
      ["limit", queue, "--running", "2"],
      ["list", "queued", "-q", queue],
      ["move", "--all", "queued", "-q", "mail", "--to", queue, "--yes"],
      ["resume", queue],
      ["clear", queue, "--yes"],
    ]
  ) {
    const { code, stderr } = await on(bench, ...args);
    assertEquals([code, /Invalid/.test(stderr)], [0, false], `${args.join(" ")}: ${stderr}`);
  }
  assertEquals((await bench.store.admin.stats()).enqueued, 0);
});

Deno.test("notes that a resumed queue wasn't paused, and names the paused ones", async () => {
  await using bench = await Bench.open();
  const nothing = await on(bench, "resume");
  assertEquals([nothing.code, nothing.stderr], [0, "jobs: all queues weren't paused as a whole\n"]);
  await bench.store.admin.configure("mail", { pause: true });
  assertMatch((await on(bench, "resume")).stderr, /weren't paused as a whole; paused: mail\n$/);
  assertEquals((await on(bench, "resume", "low")).stderr, 'jobs: queue "low" wasn\'t paused; paused: mail\n');
  await on(bench, "pause");
  const all = await on(bench, "resume");
  assertEquals([all.stdout, all.stderr], ["Resumed all queues\n", "jobs: still paused by name: mail\n"]);
});

Deno.test("resumes quiet workers; keeps the queues of a worker", async () => {
  await using bench = await Bench.open();
  await using server = await bench.server();
  assertEquals((await on(bench, "clear", "default")).code, 1);
  await on(bench, "quiet", "--all");
  await server.logged("Quiet: taking no more jobs");
  await bench.until(async () => (await bench.store.workers.list()).every(({ quiet }) => quiet));
  await on(bench, "pause");
  const queues = await on(bench, "resume");
  assertEquals([queues.code, queues.stdout], [0, "Resumed all queues\n"]);
  assertEquals(queues.stderr, "jobs: 1 worker is quiet and fetches nothing; jobs resume --all-workers resumes them\n");
  const ended = await on(bench, "resume", "--all");
  assertMatch(ended.stdout, /^Resuming worker \S+\n$/);
  await server.logged("Resumed: taking jobs");
  const jid = await bench.push("Note", [bench.notes, "again"]);
  await bench.until(async () => (await bench.store.jobs.find([jid])).length === 0);
  assertEquals((await on(bench, "clear", "default")).stdout, 'Deleted 0 queued jobs in queue "default"\n');
});

Deno.test("rejects unexpected arguments, and a role without a user", async () => {
  await using bench = await Bench.open();
  for (const args of [["version", "x"], ["--version", "x"], ["help", "push", "x"], ["stats", "x"], ["workers", "x"]]) {
    const { code, stderr } = await on(bench, ...args);
    assertEquals([code, stderr.startsWith('jobs: Unexpected argument "x"')], [2, true], stderr);
  }
  const role = await on(bench, "web", "--role", "reader");
  assertEquals(role.code, 2);
  assertMatch(role.stderr, /^jobs: --role needs --new-user or --new-token/);
  for (const given of ["push(clas=Deploy)", "push()", "push(class=)", "reader(class=A)", "operator:x", "admin"]) {
    const { code, stdout, stderr } = await on(bench, "web", "--new-token", "ci", "--role", given);
    assertEquals([code, stdout, stderr.startsWith(`jobs: Invalid --role "${given}": expected `)], [
      2,
      "",
      true,
    ]);
  }
});

Deno.test("jobs queues lists the workers that fetch from each queue", async () => {
  await using bench = await Bench.open();
  const beat = (id: string, more: Parameters<typeof workerRecord>[1]) =>
    bench.store.workers.heartbeat(workerRecord(id, more), 600_000);
  await beat("a:1:aaaaaaaaaaaa", { queues: ["mail", "low"] });
  await beat("b:2:bbbbbbbbbbbb", { queues: ["mail"], quiet: true });
  await bench.push("A", [], { queue: "mail" });
  await bench.push("A", [], { queue: "other" });
  const { stdout } = await on(bench, "queues", "--json");
  const found: { readonly name: string; readonly workers: readonly string[] }[] = JSON.parse(stdout).queues;
  assertEquals(found.map(({ name, workers }) => [name, workers]), [["mail", ["a:1:aaaaaaaaaaaa"]], ["other", []]]);
  assertMatch(
    (await on(bench, "queues")).stdout,
    /queue +queued +latency +workers.*\nmail +1 +\S+ +1 *\nother +1 +\S+ +0/,
  );
});
