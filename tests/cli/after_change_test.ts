/** A command that has changed something prints its result and exits with 0, whatever happens afterwards. */
import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { DatabaseSync } from "node:sqlite";
import { Bench } from "../support/bench.ts";
import { jobs } from "../support/process.ts";

const on = (bench: Bench, args: readonly string[], env: Record<string, string> = {}) =>
  jobs(args, { env: { JOBS_STORE: bench.url, ...env }, cwd: bench.folder });

/** Zones that have no name, or another name than their rules: a `Date` knows them, and no time zone database. */
for (const TZ of ["", ":/etc/localtime", "/no/such/zone", "GMT+3"]) {
  Deno.test(`confirms and lists local times with TZ=${JSON.stringify(TZ)}`, async () => {
    await using bench = await Bench.open();
    const { code, stdout, stderr } = await on(bench, ["push", "A", "--at", "2100-01-02"], { TZ });
    assertEquals([code, stdout.length], [0, 25], stderr);
    assertMatch(stderr, /jobs: scheduled for 2100-01-02 00:00 \(in /);
    const listed = await on(bench, ["list", "scheduled"], { TZ });
    assertEquals([listed.code, listed.stderr], [0, ""]);
    assertStringIncludes(listed.stdout, "(2100-01-02 00:00)");
  });
}

Deno.test("push confirms the time that it stores, for each way to write it", async () => {
  await using bench = await Bench.open();
  const TZ = "America/New_York";
  const cases: [at: string, stored: string, shown: string][] = [
    ["2100-01-02", "2100-01-02T05:00:00.000Z", "2100-01-02 00:00"],
    ["2100-01-02 03:04:05,5", "2100-01-02T08:04:05.500Z", "2100-01-02 03:04"],
    ["2100-01-02T03:04Z", "2100-01-02T03:04:00.000Z", "2100-01-01 22:04"],
    ["4102628645", "2100-01-03T03:04:05.000Z", "2100-01-02 22:04"],
    ["4102628645000", "2100-01-03T03:04:05.000Z", "2100-01-02 22:04"],
  ];
  for (const [at, stored, shown] of cases) {
    const { stdout, stderr } = await on(bench, ["push", "A", "--at", at], { TZ });
    assertStringIncludes(stderr, `jobs: scheduled for ${shown} (in `);
    const [entry] = await bench.store.jobs.find([stdout.trim()]);
    assertEquals(new Date(entry!.at!).toISOString(), stored, at);
  }
  // An epoch time of the year 1999, not a delay.
  const past = await on(bench, ["push", "A", "--at", "915148800"], { TZ });
  assertStringIncludes(past.stderr, "jobs: 1998-12-31 19:00 (");
  assertEquals((await bench.store.admin.stats()).enqueued, 1);
});

Deno.test("rejects a time that no calendar has, in words", async () => {
  await using bench = await Bench.open();
  const cases: [args: string[], message: string][] = [
    [
      ["--in", "22000000d"],
      'Invalid --in "22000000d": expected seconds, or a duration such as 30s, 5m, 2h or 1d, at most',
    ],
    [
      ["--at", "12030-01-01"],
      'Invalid --at "12030-01-01": expected ISO 8601 text such as 2030-12-31T23:59:00Z or epoch',
    ],
    [["--at", "253402300800000"], "epoch seconds, at most the year 9999\n"],
    [["--result-ttl", "99999999d"], "at most 36525d (100 years)"],
  ];
  for (const [args, message] of cases) {
    const { code, stdout, stderr } = await on(bench, ["push", "A", ...args]);
    assertEquals([code, stdout], [2, ""]);
    assertStringIncludes(stderr, message);
    assertEquals(stderr.includes("from now"), false, stderr);
  }
  for (const [unit, proposal] of [["weeks", "14d"], ["ms", "2ms"], ["Minutes", "2m"]] as const) {
    const { code, stderr } = await on(bench, ["push", "A", "--in", "2", unit]);
    assertEquals([code, stderr], [2, `jobs: Invalid --in "2 ${unit}": expected one word such as ${proposal}\n`]);
  }
  const pause = await on(bench, ["pause", "default", "--for", "99999999d"]);
  assertEquals(pause.code, 2);
  assertStringIncludes(pause.stderr, "or 2h, at most 36525d (100 years)");
});

Deno.test("a change counts although the audit log can't be written", async () => {
  await using bench = await Bench.open();
  const jid = await bench.push("A", []);
  await bench.push("A", [], { queue: "low" });
  using database = new DatabaseSync(bench.url.replace("sqlite:", ""));
  database.exec(
    "CREATE TRIGGER deny BEFORE INSERT ON log WHEN NEW.name = 'audit' BEGIN SELECT RAISE(ABORT, 'denied'); END",
  );
  const commands: [args: string[], result: RegExp][] = [
    [["cron", "add", "nightly", "A", "--every", "1h"], /^Added cron entry "nightly"\n$/],
    [["cron", "run", "nightly"], /^[0-9a-f]{24}\n$/],
    [["cron", "pause", "nightly", "--json"], /"paused": "nightly"/],
    [["pause", "low"], /^Paused queue "low"\n$/],
    [["pause", "low", "--group", "g"], /^Paused group "g" of queue "low"\n$/],
    [["limit", "low", "--running", "2"], /2/],
    [["clear", "low", "--yes"], /^Deleted 1 queued job in queue "low"\n$/],
    [["signal", "key"], /^Kept: no job waits for it yet\n$/],
    [["kill", jid, "--json"], /"killed": 1/],
    [["delete", jid], /^Deleted 1 job\n$/],
  ];
  for (const [args, result] of commands) {
    const { code, stdout, stderr } = await on(bench, args);
    assertEquals([args, code], [args, 0], stderr);
    assertMatch(stdout, result);
    assertStringIncludes(stderr, "jobs: not recorded in the audit log: ");
  }
});
