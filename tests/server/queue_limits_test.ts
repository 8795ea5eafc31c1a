/** Limits of queues, set from the command line and enforced by workers. */
import { readEvents } from "../../src/store/admin/audit.ts";
import { assertEquals, assertMatch } from "@std/assert";
import { Bench } from "../support/bench.ts";
import { jobs } from "../support/process.ts";
import { startRedis } from "../support/redis.ts";

for (const kind of ["SQLite", "Redis"] as const) {
  Deno.test(`a limited queue never runs more jobs than its limit, also while workers die, on ${kind}`, async () => {
    await using redis = kind === "Redis" ? await startRedis() : undefined;
    await using bench = await Bench.open(redis?.url);
    const command = (...args: string[]) => jobs([...args, "--store", bench.url]);
    const starts = async () => (await bench.readNotes()).filter((line) => line.startsWith("start")).length;
    const queues = ["-q", "reports", "-q", "default", "-c", "5"];
    assertEquals(
      (await command("limit", "reports", "--running", "2")).stdout,
      'Queue "reports": 2 at once (0 of 2 running)\n',
    );
    for (let i = 0; i < 4; i++) await bench.push("Listen", [bench.notes], { queue: "reports" });

    await using first = await bench.server(queues, { JOBS_HEARTBEAT_TIMEOUT: "2s", JOBS_HEARTBEAT: "500ms" });
    await bench.until(async () => await starts() === 2);
    await using second = await bench.server(queues, { JOBS_HEARTBEAT_TIMEOUT: "2s", JOBS_HEARTBEAT: "500ms" });
    await bench.push("Note", [bench.notes, "not limited"]);
    await bench.noted("not limited");
    assertEquals(await starts(), 2);
    assertMatch((await command("queues")).stdout, /reports +2 .* at its limit: 2 of 2 running/);

    first.kill("SIGKILL");
    await bench.until(async () => await starts() === 4, "the other takes over");
    assertEquals((await bench.store.admin.stats()).queues.find(({ name }) => name === "reports")?.limit?.taken, 2);
    await Deno.writeTextFile(`${bench.notes}.go`, "");
    await bench.until(async () => (await bench.readNotes()).filter((line) => line.startsWith("end")).length === 4);
    assertEquals((await command("limit", "reports", "--off")).stdout, 'Queue "reports": not limited\n');
    second.kill("SIGTERM");
    await second.status();
  });

  Deno.test(`a burst worker performs the jobs that limits delay, and then ends, on ${kind}`, async () => {
    await using redis = kind === "Redis" ? await startRedis() : undefined;
    await using bench = await Bench.open(redis?.url);
    await bench.store.admin.configure("default", { limit: { running: 2, starts: { count: 3, perMs: 200 } } });
    for (let i = 0; i < 10; i++) await bench.push("Note", [bench.notes]);
    await using server = await bench.server(["--burst"], {}, false);
    assertEquals((await server.status()).code, 0);
    assertEquals((await bench.readNotes()).length, 10);
    assertEquals((await bench.store.admin.stats()).processed, 10);
  });
}

Deno.test("jobs limit changes the named limits, keeps the others, and shows them; an invalid one changes nothing", async () => {
  await using bench = await Bench.open();
  const command = (...args: string[]) => jobs(["limit", ...args, "--store", bench.url]);
  assertMatch((await command()).stdout, /No limits/);
  assertEquals((await command("mail")).code, 1, "it doesn't exist yet");
  assertEquals(
    (await command("mail", "--starts", "100/m")).stdout,
    'Queue "mail": 100/1m (0 of 100 started in the last 1m)\n',
  );
  assertMatch(
    (await command("mail", "--running", "5")).stdout,
    /^Queue "mail": 5 at once, 100\/1m \(0 of 5 running, 0 of 100 /,
  );
  assertMatch((await command()).stdout, /^queue +limit .*\nmail +5 at once, 100\/1m +0 of 5 running/);
  for (
    const [args, wrong] of [
      [["mail", "--running", "0"], /Invalid --running "0": expected .*1 to 10000, or none/],
      [["mail", "--starts", "5"], /Invalid --starts "5": expected .*100\/1m/],
      [["mail", "--off", "--running", "1"], /contradict/],
      [["mail", "post", "--running", "1"], /Unexpected argument "post"/],
      [["--running", "1"], /Missing argument: QUEUE/],
      [["no|queue", "--running", "1"], /Invalid queue "no\|queue"/],
      [
        ["mail", "--group", "a", "--running", "1", "--for", "0s"],
        /Invalid --for "0s": expected seconds above 0, or a duration such as 30s, 10m or 2h/,
      ],
      [
        ["mail", "--group", "args[0]", "--running", "1"],
        /Invalid --group "args\[0\]": .* not a path; --each-group limits/,
      ],
      [["mail", "--group", "a", "--for", "2h"], /--for needs a limit that ends: add --running, --starts or --weight/],
    ] as const
  ) {
    const { code, stderr } = await command(...args);
    assertEquals([code, stderr.trim().split("\n").length], [2, 1], stderr);
    assertMatch(stderr, wrong);
  }
  assertEquals(JSON.parse((await command("--json")).stdout).limits.map((one: { running: number }) => one.running), [5]);
  assertMatch((await command("mail", "--running", "none")).stdout, /^Queue "mail": 100\/1m \(/);
  await command("mail", "--off");
  assertEquals((await command("mail")).stdout, 'Queue "mail": not limited\n');
  assertEquals(
    (await readEvents(bench.store)).events.map(({ action, target, details }) => `${action} ${target} ${details}`),
    [
      "limit queue:mail off",
      "limit queue:mail 100/1m",
      "limit queue:mail 5 at once, 100/1m",
      "limit queue:mail 100/1m",
    ],
  );
});

Deno.test("jobs limit shows the limits of groups after that of their queue, and --off removes only the named one", async () => {
  await using bench = await Bench.open();
  const command = async (...args: string[]) => (await jobs(["limit", ...args, "--store", bench.url])).stdout;
  const each = 'Queue "exports", each group: 2 at once\n';
  const acme = 'Queue "exports", group "acme": 10 at once, weight 3 (0 of 10 running)\n';
  await command("exports", "--each-group", "--running", "2");
  await command("exports", "--group", "acme", "--running", "10", "--weight", "3");
  assertEquals(await command("exports"), `Queue "exports": not limited\n${each}${acme}`);
  await command("exports", "--running", "5");
  const listed = await command();
  assertMatch(listed, /^queue +group +limit +now +queued\nexports +5 at once +0 of 5 running +0\n/);
  assertMatch(listed, /\nexports +\(each\) +2 at once *\nexports +acme +10 at once, weight 3 +0 of 10 running +0\n$/);
  assertEquals(await command("exports", "--off"), `Queue "exports": not limited\n${each}${acme}`);
  assertEquals(
    JSON.parse(await command("--json")).limits.map((
      { group, eachGroup, running, weight }: Record<string, unknown>,
    ) => [group, eachGroup, running, weight]),
    [[undefined, true, 2, undefined], ["acme", undefined, 10, 3]],
  );
  const weight = await command("exports", "--group", "acme", "--running", "none");
  assertEquals(weight, 'Queue "exports", group "acme": weight 3; as each group: 2 at once\n');
  assertMatch(await command(), /\nexports +acme +weight 3; as each group: 2 at once +0 of 2 running +0\n$/);
  const none = await command("exports", "--group", "acme", "--off");
  assertEquals(none, 'Queue "exports", group "acme": as each group: 2 at once\n');
  await command("exports", "--group", "acme", "--running", "10", "--weight", "3");
  await command("exports", "--each-group", "--off");
  assertEquals(await command("exports"), `Queue "exports": not limited\n${acme}`);
  await command("exports", "--group", "acme", "--off");
  assertEquals(await command("exports"), 'Queue "exports": not limited\n');
  assertMatch(await command(), /^No limits; /);
});

Deno.test("jobs pause and resume a group of a queue, while its other jobs run", async () => {
  await using bench = await Bench.open();
  const command = (...args: string[]) => jobs([...args, "--store", bench.url]);
  const named = 'group "acme" of queue "default"';
  const waits = await bench.push("Note", [bench.notes], { group: "acme" });
  const other = await bench.push("Note", [bench.notes], { group: "other" });
  assertEquals((await command("pause", "default", "--group", "acme", "--for", "1h")).stdout, `Paused ${named}\n`);
  await using server = await bench.server(["--burst"], {}, false);
  assertEquals((await server.status()).code, 0, "a burst doesn't wait for a paused group");
  assertEquals((await bench.store.jobs.find([waits, other])).length, 1);
  assertMatch(
    (await command("show", waits)).stdout,
    /Group "acme" is paused until \d{4}-\d\d-\d\d \d\d:\d\d UTC, in \d/,
  );
  assertMatch((await command("list", "groups", "default")).stdout, /^acme +1 +\S+ +0 +paused for /m);
  assertEquals((await command("resume", "default", "--group", "acme")).stdout, `Resumed ${named}\n`);
  assertMatch((await command("resume", "default", "--group", "acme")).stderr, /^jobs: group "acme" .* wasn't paused$/m);
  await using last = await bench.server(["--burst"], {}, false);
  assertEquals((await last.status()).code, 0);
  assertEquals((await bench.store.admin.stats()).enqueued, 0);
  for (
    const [args, wrong] of [
      [["pause", "--group", "acme"], /Missing argument: QUEUE/],
      [["pause", "a", "b", "--group", "acme"], /Unexpected argument "b": --group belongs to one queue/],
      [["pause", "default", `--group=${"x".repeat(257)}`], /Invalid --group "x+": expected a text of 1 to 256 bytes/],
      [["resume", "a", "--group", "acme", "--here"], /--group contradicts --worker, --here and --all-workers/],
    ] as const
  ) {
    const { code, stderr } = await command(...args);
    assertEquals([code, stderr.trim().split("\n").length], [2, 1], stderr);
    assertMatch(stderr, wrong);
  }
});

Deno.test("a push of high priority goes ahead, and jobs show and list groups name it", async () => {
  await using bench = await Bench.open();
  const command = (...args: string[]) => jobs([...args, "--store", bench.url]);
  for (
    const [n, ...more] of [["1"], ["2", "--priority", "low"], ["3", "--priority", "high"], [
      "4",
      "--priority",
      "normal",
    ]]
  ) {
    assertEquals((await command("push", "Note", JSON.stringify(bench.notes), n!, ...more)).code, 0);
  }
  const entries = await bench.store.jobs.find({ text: "Note", limit: 10 });
  const jids = new Map(entries.map(({ payload }) => [JSON.parse(payload).args[1], JSON.parse(payload).jid]));
  const shown = (await command("show", jids.get(3))).stdout;
  assertMatch(shown, /^state +queued in "default", high priority$/m);
  assertMatch(shown, /^position +1 in its priority$/m);
  assertMatch(shown, /^priority +high$/m);
  const listed = (await command("list", "groups", "default")).stdout;
  assertMatch(listed, /^\(high priority\) +1 +\S+ +0 +90 % +weight 10$/m);
  assertMatch(listed, /^\(low priority\) +1 +\S+ +0 +0\.9 % +weight 0\.1$/m);
  assertMatch(listed, /^without a group: 2, fair share 9\.0 %$/m);
  assertMatch(listed, /^slowest: \(low priority\), /m);
  assertEquals(
    (await command("pause", "default", "--group", "|low")).stdout,
    'Paused group "|low" of queue "default"\n',
  );
  assertMatch((await command("list", "groups", "default")).stdout, /^\(low priority\) .* paused$/m);
  assertMatch((await command("resume", "default", "--group", "|low")).stdout, /^Resumed group/);
  await using server = await bench.server(["--burst", "-c", "1"], {}, false);
  assertEquals((await server.status()).code, 0);
  const notes = await bench.readNotes();
  assertEquals([notes[0], notes.toSorted()], ["3", ["1", "2", "3", "4"]]);
  for (
    const [args, wrong] of [
      [["--priority", "urgent"], /Invalid --priority "urgent": expected high, normal or low/],
      [
        ["--priority", "high", "--group", "acme"],
        /Invalid --priority "high": expected no group with it; the weight of a group is its share: jobs limit/,
      ],
      [["--group", "|high"], /Invalid --group "\|high": expected a text of 1 to 256 bytes that doesn't begin with \|/],
    ] as const
  ) {
    const { code, stderr } = await command("push", "Note", ...args);
    assertEquals([code, stderr.trim().split("\n").length], [2, 1], stderr);
    assertMatch(stderr, wrong);
  }
});
