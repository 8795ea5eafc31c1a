/** Groups and priorities at the command line: in bulk files, and in `jobs show`. On both stores. */
import { assertEquals, assertMatch } from "@std/assert";
import { Bench } from "../support/bench.ts";
import { jobs } from "../support/process.ts";
import { startRedis } from "../support/redis.ts";
import { register, takeUpTo } from "../store_contract/jobs.ts";

const sqlite = (folder: string) => `sqlite:${folder}/jobs.db`;

function on(bench: Bench, args: readonly string[], stdin?: string) {
  return jobs(args, { env: { JOBS_STORE: bench.url }, cwd: bench.folder, ...(stdin !== undefined && { stdin }) });
}

/** Returns the queued jobs of the queue `default` by group; "-": those without one. */
async function sizes(bench: Bench): Promise<Record<string, number>> {
  const { groups, ungrouped } = await bench.store.admin.groups("default");
  return Object.fromEntries([...groups.map(({ name, size }) => [name, size]), ["-", ungrouped]]);
}

const NOTHING_THERE =
  "is undefined; expected a text of 1 to 256 bytes that doesn't begin with |, or a whole number, there";
const A_PATH = "expected a path into the arguments such as args[0] or args[0].customer";

for (const [name, openRedis] of [["SQLite", undefined], ["Redis", startRedis]] as const) {
  Deno.test(`lines of a bulk file go to their group or priority, and invalid ones are named (${name})`, async () => {
    await using redis = await openRedis?.();
    await using bench = await Bench.open(redis ? () => redis.url : sqlite);
    const lines = [
      '{"class":"Mail","args":["x"],"group":"acme"}',
      '{"class":"Mail","args":[{"shop":7}],"group":"args[0].shop"}',
      '{"class":"Mail","args":["x"],"group":"args[1]"}',
      '{"class":"Mail","args":["x"],"group":{"name":"acme"}}',
      '{"class":"Mail","args":["x"],"priority":"high"}',
      '{"class":"Mail","args":["x"],"priority":"urgent"}',
      '{"class":"Mail","args":["x"],"priority":"low","group":"acme"}',
      '{"class":"Mail","args":["x"]}',
      '{"class":"Mail","args":["x"],"group":"args[x]"}',
    ].join("\n");
    const skipped = await on(bench, ["push", "--bulk", "-", "--json"], lines);
    assertEquals(skipped.code, 1);
    assertEquals(skipped.stdout.trim().split("\n").map((line) => JSON.parse(line).line), [1, 2, 5, 8]);
    const invalid = skipped.stderr.split("\n").filter((line) => line.includes("is invalid"));
    assertEquals(invalid.map((line) => line.replace("jobs: line ", "").slice(0, 1)), ["3", "4", "6", "7", "9"]);
    assertEquals(invalid[0], `jobs: line 3 is invalid: group (args[1]) ${NOTHING_THERE}`);
    assertMatch(invalid[1]!, /: group is \{"name":"acme"\}; expected a text of 1 to 256 bytes .* or a path /);
    assertMatch(invalid[2]!, /: priority is "urgent"; expected high, normal or low$/);
    assertMatch(invalid[3]!, /: priority is "low"; expected no group with it/);
    assertEquals(invalid[4], `jobs: line 9 is invalid: group is "args[x]"; ${A_PATH}`);
    assertEquals(await sizes(bench), { "7": 1, acme: 1, "|high": 1, "-": 1 });

    const stopped = await on(bench, ["push", "--bulk", "-", "--on-error", "stop"], lines);
    assertEquals([stopped.code, stopped.stdout.trim().split("\n").length], [1, 2]);
    assertMatch(stopped.stderr, /^jobs: line 3 is invalid: group \(args\[1\]\) is undefined; /m);
    assertEquals(await sizes(bench), { "7": 2, acme: 2, "|high": 1, "-": 1 });
  });

  Deno.test(`the group of the command line or of the class holds for the lines of a bulk file (${name})`, async () => {
    await using redis = await openRedis?.();
    await using bench = await Bench.open(redis ? () => redis.url : sqlite);
    const pushed = await on(bench, ["push", "Mail", "--bulk", "-", "--group", "args[0]"], '["acme"]\n["bob"]\n[]\n');
    assertMatch(pushed.stderr, /^jobs: line 3 is invalid: group \(args\[0\]\) is undefined; /m);
    assertEquals(await sizes(bench), { acme: 1, bob: 1, "-": 0 });
    await bench.store.classes.declare([{ name: "Export", options: '{"group":"args[0].customer"}' }]);
    const lines = '{"class":"Export","args":[{"customer":"acme"}]}\n{"class":"Export","args":["acme"]}\n';
    const declared = await on(bench, ["push", "--bulk", "-"], lines);
    assertEquals(declared.code, 1);
    assertMatch(declared.stderr, /^jobs: line 2 is invalid: group \(args\[0\]\.customer\) is undefined; /m);
    assertEquals(await sizes(bench), { acme: 2, bob: 1, "-": 0 });
  });

  Deno.test(`jobs show has a job's position in its group, and that the group is full (${name})`, async () => {
    await using redis = await openRedis?.();
    await using bench = await Bench.open(redis ? () => redis.url : sqlite);
    const push = (group: string) => bench.push("Export", [], { group });
    const [first, , , third] = [await push("acme"), await push("bob"), await push("acme"), await push("acme")];
    const show = async (jid: string) => (await on(bench, ["show", jid])).stdout;
    assertMatch(await show(third), /^position +3 in its group$/m);
    await bench.store.admin.configure("default", { group: "acme", limit: { running: 1 } });
    const worker = await register(bench.store);
    assertEquals((await takeUpTo(bench.store, worker, 10)).length, 2);
    const shown = await show(third);
    assertMatch(shown, /^position +2 in its group$/m);
    assertMatch(
      shown,
      /^why +Group "acme" is at its limit: 1 of 1 running\. jobs limit default --group acme --running 2 raises it\.$/m,
    );
    assertEquals(/^position/m.test(await show(first)), false, "it runs");
  });
}

Deno.test("jobs list groups rejects the filters of jobs, and its cursor can be pasted into a shell", async () => {
  await using bench = await Bench.open(sqlite);
  for (const group of ["a b", "c"]) await bench.push("Export", [], { group });
  for (const flags of [["--group", "c"], ["-q", "other"], ["--class", "X"], ["--reverse"]]) {
    const { code, stderr } = await on(bench, ["list", "groups", "default", ...flags]);
    assertEquals(code, 2);
    assertMatch(stderr, /^jobs: --[a-z]+ doesn't apply to groups\. Usage: jobs list groups QUEUE \[-n N\]/);
  }
  const first = await on(bench, ["list", "groups", "default", "-n", "1"]);
  assertMatch(first.stdout, /^more: --cursor='a b'$/m);
  assertMatch((await on(bench, ["list", "groups", "default", "--cursor=a b"])).stdout, /^c +1 /m);
});
