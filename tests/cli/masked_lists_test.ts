/** Lists of jobs mask secrets as `jobs show` and the dashboard do, and `jobs find` lists without a limit. */
import { assertEquals, assertStringIncludes } from "@std/assert";
import { encodeBacktrace } from "../../src/job/failure.ts";
import { endedText } from "../../src/job/result.ts";
import { Bench } from "../support/bench.ts";
import { jobs } from "../support/process.ts";
import { keepRecord } from "../support/records.ts";

Deno.test("list and find mask the secrets of jobs, as text and as JSON", async () => {
  await using bench = await Bench.open();
  const SECRETS = ["hunter2", "AKIA0123456789ABCDEF", "s3same", "pw-of-url"];
  const secret = {
    args: ["bob", { password: "hunter2", key: "AKIA0123456789ABCDEF", house: "s3same" }],
    error_class: "HTTPError",
    error_message: "GET https://bob:pw-of-url@example.com failed",
    error_backtrace: encodeBacktrace(["at https://bob:pw-of-url@example.com"]),
    retry_count: 0,
    failed_at: 1.7e9,
  };
  const payload = (jid: string) => JSON.stringify({ class: "Login", jid, queue: "default", ...secret });
  await bench.store.jobs.enqueue([
    { queue: "default", jid: "q1", payload: payload("q1") },
    { queue: "default", jid: "s1", payload: payload("s1"), delayMs: 3_600_000 },
    { queue: "default", jid: "d1", payload: payload("d1") },
    { queue: "default", jid: "u1", payload: `{"jid":"u1","password":"hunter2"` },
  ]);
  await bench.store.jobs.edit([(await bench.store.jobs.find(["d1"]))[0]!.ref], "kill");
  const ended = {
    ...{ jid: "f1", class: "Login", queue: "default", state: "succeeded", attempt: 1, startedAt: 1, endedAt: 2 },
    ...{ elapsedMs: 1, worker: "w", result: { token: "hunter2" }, payload: JSON.parse(payload("f1")) },
  };
  await keepRecord(bench.store, { jid: "f1", ttlMs: 3_600_000, body: endedText(ended as never) });
  await bench.client.flow("nightly", {
    one: { job: { class: "Login", args: secret.args as never[] } },
    two: { job: { class: "Login", args: secret.args as never[] }, after: "one" },
  });
  const env = { JOBS_STORE: bench.url, JOBS_WEB_MASK: "house" };
  const run = (...args: string[]) => jobs(args, { env, cwd: bench.folder });
  for (
    const args of [
      ["list", "queued", "--limit", "all"],
      ["list", "scheduled"],
      ["list", "dead"],
      ["list", "finished"],
      ["list", "waiting"],
      ["find", "login"],
      ["find", "", "--class", "Login", "--limit", "all"],
    ]
  ) {
    for (const more of [[], ["--json"]]) {
      const { code, stdout, stderr } = await run(...args, ...more);
      assertEquals([code, stderr], [0, ""], args.join(" "));
      assertEquals(SECRETS.filter((one) => stdout.includes(one)), [], `${args.join(" ")}: ${stdout}`);
      assertStringIncludes(stdout, "bob", args.join(" "));
    }
  }
});

Deno.test("find names the field that has the words, if the row doesn't show them", async () => {
  await using bench = await Bench.open();
  const jid = await bench.push("Mail", ["bob"], { id: "order-4711", tags: ["nightly"], token: "hunter2-4711" });
  await bench.push("Mail", ["carl"]);
  const run = async (...args: string[]) =>
    (await jobs([...args, "--store", bench.url], { env: { COLUMNS: "200" } })).stdout.trimEnd().split("\n");
  assertEquals((await run("find", "bob"))[0]?.includes("found in"), false);
  const [heading, row, ...more] = await run("find", "4711");
  assertEquals([heading?.includes("found in"), row?.includes(jid), more], [true, true, []]);
  assertStringIncludes(row!, "id: order-4711");
  assertEquals(row!.includes("hunter2"), false);
  assertStringIncludes((await run("find", "nightly"))[1]!, "tags: ");
  assertStringIncludes((await run("show", jid)).join("\n"), "id        order-4711");
});

Deno.test("find --limit all shows every job", async () => {
  await using bench = await Bench.open();
  await bench.store.jobs.enqueue(Array.from({ length: 1_201 }, (_, i) => {
    const jid = `j${i}`;
    return { queue: "default", jid, payload: JSON.stringify({ class: "Many", args: [], jid, queue: "default" }) };
  }));
  const { stdout } = await jobs(["find", "many", "--limit", "all", "--json", "--store", bench.url]);
  const { jobs: found, more } = JSON.parse(stdout);
  assertEquals([found.length, more], [1_201, false]);
});

Deno.test("errors masks secrets, and its groups select their jobs", async () => {
  await using bench = await Bench.open();
  const error = { error_class: "E", error_message: "401 for Bearer abcdefgh0123", failed_at: 1.7e9 };
  const payload = JSON.stringify({ class: "Call", jid: "d1", args: [], queue: "default", ...error });
  await bench.store.jobs.enqueue([{ queue: "default", jid: "d1", payload }]);
  await bench.store.jobs.edit([(await bench.store.jobs.find(["d1"]))[0]!.ref], "kill");
  const run = async (...args: string[]) =>
    JSON.parse((await jobs([...args, "--json"], { env: { JOBS_STORE: bench.url }, cwd: bench.folder })).stdout);
  const [group] = (await run("errors")).groups;
  assertEquals(group.error, "E: * for Bearer *");
  assertEquals((await run("list", "dead", "--error", group.error)).jobs.length, 1);
});
