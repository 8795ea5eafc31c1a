/** Filters of `list`, `find`, `retry`, `kill`, `cancel`, `delete` and `move`; `jobs errors`. On both stores. */
import { readEvents } from "../../src/store/admin/audit.ts";
import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { Bench } from "../support/bench.ts";
import { jobs } from "../support/process.ts";
import { startRedis } from "../support/redis.ts";
import { keepRecord } from "../support/records.ts";

const sqlite = (folder: string) => `sqlite:${folder}/jobs.db`;
const on = (bench: Bench, ...args: string[]) => jobs(args, { env: { JOBS_STORE: bench.url }, cwd: bench.folder });

/** The classes of the jobs in a state, sorted. */
async function classes(bench: Bench, ...args: string[]): Promise<string[]> {
  const { stdout, stderr } = await on(bench, "list", ...args, "--limit", "all", "--json");
  assertEquals(stderr, "");
  return JSON.parse(stdout).jobs.map((job: { class: string }) => job.class).sort();
}

/** Puts failed jobs into the dead set. */
async function bury(bench: Bench, name: string, message: string, count: number, queue = "default"): Promise<void> {
  const error = { error_class: "TypeError", error_message: message, failed_at: Date.now() / 1_000, tags: ["night"] };
  const jids = [];
  for (let i = 0; i < count; i++) {
    jids.push(await bench.push(name, [i], { ...error, queue, in: "1h" } as Parameters<Bench["push"]>[2]));
  }
  const entries = await bench.store.jobs.find(jids);
  assertEquals(await bench.store.jobs.edit(entries.map(({ ref }) => ref), "kill"), count);
}

for (const [name, openRedis] of [["SQLite", undefined], ["Redis", startRedis]] as const) {
  Deno.test(`acts on the matching jobs, and on no others (${name})`, async () => {
    await using redis = await openRedis?.();
    await using bench = await Bench.open(redis ? () => redis.url : sqlite);
    await bury(bench, "Import", "No such account: 1", 3);
    await bury(bench, "ImportRow", "No such account: 2", 2);
    await bury(bench, "ReImport", "Timeout after 5 s", 2, "low");

    assertEquals((await classes(bench, "dead")).length, 7);
    assertEquals(await classes(bench, "dead", "--class", "Import"), ["Import", "Import", "Import"]);
    assertEquals((await classes(bench, "dead", "--class", "*Import*", "-q", "low")).length, 2);
    assertEquals((await classes(bench, "dead", "--older-than", "1h")).length, 0);
    assertEquals((await classes(bench, "dead", "--tag", "night", "--newer-than", "1h")).length, 7);

    const pasted = await on(bench, "find", "typeerror: no such account: 2", "--json");
    assertEquals(JSON.parse(pasted.stdout).jobs.length, 2, "an error as it is shown");

    const { groups } = JSON.parse((await on(bench, "errors", "--json")).stdout);
    const found = groups.map((group: Record<string, unknown>) =>
      `${group["class"]} ${group["error"]} ${group["dead"]}`
    );
    assertEquals(found[0], "Import TypeError: No such account: * 3");
    assertEquals(found.slice(1).sort(), [
      "ImportRow TypeError: No such account: * 2",
      "ReImport TypeError: Timeout after * s 2",
    ]);

    const dry = await on(bench, "delete", "--all", "dead", "--class", "Import", "--dry-run");
    assertStringIncludes(dry.stdout, 'Would delete 3 dead jobs of class "Import"');
    const asked = await on(bench, "delete", "--all", "dead", "--class", "Import");
    assertEquals(asked.code, 2);
    assertStringIncludes(asked.stderr, 'This would delete 3 dead jobs of class "Import". Pass --yes to confirm');
    assertEquals((await classes(bench, "dead")).length, 7);

    const retried = await on(bench, "retry", "--all", "dead", "--error", groups[0].error, "--class", "Import", "--yes");
    assertStringIncludes(retried.stdout, "Retried 3 dead jobs");
    assertEquals(await classes(bench, "dead"), ["ImportRow", "ImportRow", "ReImport", "ReImport"]);
    assertEquals(await classes(bench, "queued"), ["Import", "Import", "Import"]);

    const moved = await on(bench, "move", "--all", "queued", "--class", "Import", "--to", "slow", "--yes");
    assertStringIncludes(moved.stdout, 'to queue "slow"');
    assertEquals((await classes(bench, "queued", "-q", "slow")).length, 3);
    assertEquals(
      (await on(bench, "cancel", "--all", "queued", "--class", "Imp*", "--yes", "--json")).stdout,
      '{\n  "cancelled": 3\n}\n',
    );
    const deleted = await on(bench, "delete", "--all", "dead", "-q", "low", "--yes", "--json");
    assertEquals(JSON.parse(deleted.stdout), { deleted: 2 });
    assertEquals(await classes(bench, "dead"), ["ImportRow", "ImportRow"]);
    const { events } = await readEvents(bench.store);
    assertEquals(events.some(({ target }) => target === 'all dead jobs with queue "low"'), true);
  });

  Deno.test(`pages through the matching jobs without repeating or skipping one (${name})`, async () => {
    await using redis = await openRedis?.();
    await using bench = await Bench.open(redis ? () => redis.url : sqlite);
    for (const queue of ["a", "b", "c"]) {
      const requests = Array.from(
        { length: 400 },
        (_, i) => ({ class: i % 3 === 0 ? "Odd" : "Even", args: [i], queue }),
      );
      await Array.fromAsync(bench.client.pushMany(requests));
    }
    const seen: string[] = [];
    let cursor: string | undefined;
    do {
      const more = cursor === undefined ? [] : ["--cursor", cursor];
      const { stdout } = await on(bench, "list", "queued", "--class", "Odd", "-n", "70", "--json", ...more);
      const page = JSON.parse(stdout);
      seen.push(...page.jobs.map(({ jid }: { jid: string }) => jid));
      cursor = page.next;
    } while (cursor !== undefined);
    assertEquals([seen.length, new Set(seen).size], [3 * 134, 3 * 134]);
    const all = JSON.parse((await on(bench, "list", "queued", "--limit", "all", "--json")).stdout);
    assertEquals([all.jobs.length, all.next], [1_200, undefined]);
  });

  Deno.test(`finds jobs by filter, finished ones included (${name})`, async () => {
    await using redis = await openRedis?.();
    await using bench = await Bench.open(redis ? () => redis.url : sqlite);
    await bury(bench, "Import", "No such account: 1", 1);
    await bench.push("Import", ["x"], { in: "1h", tags: ["day"] });
    const body = { jid: "e1", class: "Import", queue: "q", state: "failed", endedAt: Date.now() };
    const [dead] = (await bench.store.admin.page({ in: "dead" }, { limit: 1 })).entries;
    const { jid } = JSON.parse(dead!.payload);
    await keepRecord(bench.store, {
      jid,
      ttlMs: 60_000,
      body: JSON.stringify({ ...body, jid, state: "dead" }),
    });
    await keepRecord(bench.store, { jid: "e1", ttlMs: 60_000, body: JSON.stringify(body) });
    const find = async (...args: string[]) => JSON.parse((await on(bench, "find", ...args, "--json")).stdout);
    assertEquals([(await find("--class", "Import")).jobs.length, (await find("--class", "Import")).finished.length], [
      2,
      1,
    ]);
    const both = await find("--class", "Import");
    assertEquals([both.jobs.length, both.finished.length], [2, 1], "a dead job is listed once");
    assertEquals((await find(jid)).finished.length, 0);
    assertEquals((await find("--class", "Impo")).error.code, "not_found");
    assertEquals((await find("account", "--tag", "night")).jobs.length, 1);
    assertEquals((await find("account", "import")).jobs.length, 1, "both words, in any order");
    assertEquals((await find('account "import"')).jobs.length, 1);
    assertEquals(
      (await find("account import")).error.message,
      'No job found with "account import"; without quotes, the words may be anywhere in the job',
    );
    assertEquals((await find("account", "nowhere")).error.message, 'No job found with "account" and "nowhere"');
    assertEquals((await find("--tag", "day")).jobs[0].state, "scheduled");
    assertEquals(
      JSON.parse((await on(bench, "list", "finished", "--class", "Import", "--json")).stdout).jobs[0].jid,
      "e1",
    );
    assertEquals(JSON.parse((await on(bench, "list", "finished", "--class", "X", "--json")).stdout).jobs, []);
  });
}

Deno.test("a filter and clear act on one group of a queue", async () => {
  await using bench = await Bench.open(sqlite);
  for (const [n, group] of ["acme", "acme", "bob", undefined].entries()) {
    await bench.push(`Export${n}`, [n], { queue: "exports", ...(group !== undefined && { group }) });
  }
  await bench.push("Later", [], { queue: "exports", group: "acme", in: "1h" });
  assertEquals(await classes(bench, "queued", "--group", "acme"), ["Export0", "Export1"]);
  assertEquals(await classes(bench, "scheduled", "--group", "a*"), ["Later"]);
  const moved = await on(bench, "delete", "--all", "queued", "--group", "bob", "--yes");
  assertEquals(moved.stdout, 'Deleted 1 queued job in group "bob"\n');
  const cleared = await on(bench, "clear", "exports", "--group", "acme", "--yes");
  assertEquals(cleared.stdout, 'Deleted 2 queued jobs of group "acme" in queue "exports"\n');
  assertEquals(await classes(bench, "queued"), ["Export3"]);
  assertEquals(await classes(bench, "scheduled"), ["Later"]);
  const none = await on(bench, "clear", "exports", "--group", "carol", "--json");
  assertEquals(JSON.parse(none.stdout), { queue: "exports", group: "carol", deleted: 0, removed: false });
});

Deno.test("rejects filters that would have no effect", async () => {
  await using bench = await Bench.open(sqlite);
  const jid = await bench.push("A", []);
  const cases: [args: string[], message: RegExp][] = [
    [["delete", jid, "--class", "B"], /^jobs: Filters need --all STATE/],
    [["delete", jid, "--all", "dead"], /^jobs: Unexpected argument ".*" with --all/],
    [["delete", "--all", "running"], /^jobs: Invalid --all "running": expected queued, scheduled, retrying, dead/],
    [["list", "dead", "--search", "x"], /^jobs: Unknown option "--search"/],
    [["list", "dead", "--older-than", "soon"], /^jobs: Invalid --older-than "soon"/],
    [["move", jid], /^jobs: Missing option: --to QUEUE/],
    [
      ["move", jid, "--to", "postgres://u:geheim@db/app"],
      /^jobs: Invalid --to "postgres:[^ ]*db\/app": .*jobs migrate/,
    ],
    [
      ["move", jid, "--to", "sqlite:b.db"],
      /^jobs: Invalid --to "sqlite:b\.db": expected the name of a queue.*jobs migrate/,
    ],
    [["move", "--from", "sqlite:a", "--to", "sqlite:b"], /^jobs: Unknown option "--from"/],
    [["delete"], /^jobs: Missing argument: JID or --all STATE/],
  ];
  for (const [args, message] of cases) {
    const { code, stderr } = await on(bench, ...args);
    assertEquals(code, 2, args.join(" "));
    assertMatch(stderr, message);
  }
  assertEquals((await bench.store.admin.stats()).enqueued, 1);
});

Deno.test("states why a job can't be changed, and changes the others", async () => {
  await using bench = await Bench.open(sqlite);
  const queued = await bench.push("A", []);
  const later = await bench.push("A", [], { in: "1h" });
  const { code, stdout, stderr } = await on(bench, "retry", queued, later, "gone");
  assertEquals([code, stdout], [1, "Retried 1 job\n"]);
  assertMatch(stderr, /^jobs: Can't retry job "\w+": it is queued; .*\njobs: Job "gone" not found in sqlite:.*\n$/);
});

Deno.test("find says whether there is more of a kind: stored jobs, nodes that wait, finished jobs", async () => {
  await using bench = await Bench.open(sqlite);
  for (const n of [1, 2]) await bench.push("Stored", [n]);
  const waits = { job: ["Waits", []], after: "a" } as const;
  await bench.client.flow("f", { a: { job: ["Root", []] }, b: waits, c: waits });
  for (const jid of ["e1", "e2"]) {
    const body = { jid, class: "Ended", queue: "q", state: "failed", endedAt: Date.now() };
    await keepRecord(bench.store, { jid, ttlMs: 60_000, body: JSON.stringify(body) });
  }
  for (const name of ["Stored", "Waits", "Ended"]) {
    for (const args of [[name], ["--class", name]]) {
      const find = async (limit: string) => {
        const { stdout } = await on(bench, "find", ...args, "-n", limit, "--json");
        const { jobs: found, finished, more } = JSON.parse(stdout);
        return [found.length + finished.length, more];
      };
      assertEquals([await find("1"), await find("2")], [[1, true], [2, false]], args.join(" "));
    }
  }
});
