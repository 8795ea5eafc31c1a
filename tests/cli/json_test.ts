/** The output of `--json` has the fields that docs/reference/json.md lists, and no others. */
import { assert, assertEquals } from "@std/assert";
import { OUTPUTS } from "../../src/cli/help/json_outputs.ts";
import { Client } from "../../src/client/client.ts";
import { readEvents } from "../../src/store/admin/audit.ts";
import { Bench } from "../support/bench.ts";
import { jobs } from "../support/process.ts";

/** Outputs, by the command of the table. */
const seen = new Set<string>();

/** Runs a command, and checks its output against the table: it refuses unknown, missing and other fields. */
async function check(bench: Bench, command: string, args: readonly string[], code = 0): Promise<unknown> {
  const output = OUTPUTS.find((output) => output.command === command);
  assert(output !== undefined, `"${command}" is not in the table`);
  seen.add(command);
  const env = { JOBS_STORE: bench.url };
  const ended = await jobs([...args, "--json"], { cwd: bench.folder, env, stdin: "a long password\n" });
  assertEquals(ended.code, code, `${args.join(" ")}: ${ended.stderr}`);
  const values = output.isLines
    ? ended.stdout.trim().split("\n").map((line) => JSON.parse(line))
    : [JSON.parse(ended.stdout)];
  assert(values.length > 0 && !Array.isArray(values[0]), `"${command}" prints no object`);
  for (const value of values) {
    try {
      output.shape.read(value);
    } catch (error) {
      throw new Error(`"${command}" prints another shape than the table: ${(error as Error).message}`, {
        cause: value,
      });
    }
  }
  return values[0];
}

Deno.test("every command prints with --json the fields that docs/reference/json.md lists", async () => {
  await using bench = await Bench.open();
  await bench.store.events.keep(3_600_000);
  const push = async (...args: string[]) =>
    (await check(bench, "jobs push CLASS", ["push", ...args]) as { jid: string }).jid;
  await Deno.writeTextFile(`${bench.folder}/bulk`, "[1]\n[2]\n[3]\n");
  await Deno.writeTextFile(
    `${bench.folder}/h.js`,
    `export const JsonNoop = () => ({ well: true });
     export const JsonFail = () => { throw new TypeError("no such account"); };
     export const JsonHold = (ctx) => new Promise((resolve) => {
       ctx.log.info("holding"); ctx.progress(1, "hold"); ctx.signal.addEventListener("abort", resolve);
     });
     export const JsonSteps = async (ctx) => {
       await ctx.step("charge", () => ({ paid: 1 }));
       await ctx.waitFor("approval", { key: "order:1", timeout: "1h" });
     };`,
  );
  await check(bench, "jobs init", ["init", "project"]);
  await check(bench, "jobs push --bulk FILE", ["push", "Bulk", "--bulk", "bulk", "-q", "low"]);
  const queued = await push("Bulk", "9007199254740993", "-q", "low");
  const scheduled = await push("Later", "--in", "1h");
  await push("Again", "--in", "1h");
  await check(bench, "jobs show JID", ["show", queued]);
  await check(bench, "jobs pause", ["pause", "low", "--for", "1h"]);
  await check(bench, "jobs limit", ["limit", "low", "--running", "5", "--starts", "100/m"]);
  await bench.store.admin.configure("low", { group: "acme", limit: { running: 5, weight: 3, forMs: 3_600_000 } });
  await bench.store.admin.configure("low", { eachGroup: true, limit: { running: 2 } });
  await check(bench, "jobs limit", ["limit", "low"]);
  await push("Bulk", "-q", "low", "--group", "acme");
  await push("Bulk", "-q", "low", "--priority", "high");
  await check(bench, "jobs list groups QUEUE", ["list", "groups", "low", "--limit", "1"]);
  await check(bench, "jobs queues", ["queues"]);
  await check(bench, "jobs list STATE", ["list", "queued", "-q", "low", "-n", "1"]);
  await check(bench, "jobs list STATE", ["list", "scheduled"]);
  await check(bench, "jobs stats", ["stats"]);
  await check(bench, "jobs top --once", ["top", "--once"]);
  await check(bench, "jobs resume", ["resume", "low"]);
  await jobs(["limit", "low", "--off"], { env: { JOBS_STORE: bench.url } });
  for (const at of [{ group: "acme" }, { eachGroup: true }] as const) {
    await bench.store.admin.configure("low", { ...at, limit: {} });
  }
  await check(bench, "jobs kill", ["kill", scheduled]);
  await check(bench, "jobs move", ["move", queued, "--to", "low"]);
  await check(bench, "jobs retry", ["retry", "--all", "dead", "--yes"]);
  await check(bench, "jobs delete", ["delete", "--all", "scheduled", "--yes"]);
  await check(bench, "jobs delete", ["delete", "unknown"], 1);
  await check(bench, "jobs cancel", ["cancel", queued]);
  await check(bench, "jobs clear QUEUE", ["clear", "low", "--yes"]);
  await check(bench, "jobs clear QUEUE", ["clear", "default", "--yes"]);

  await check(bench, "jobs cron add NAME CLASS", ["cron", "add", "often", "Noop", "--every", "1h"]);
  await check(bench, "jobs cron run NAME", ["cron", "run", "often"]);
  await check(bench, "jobs cron next NAME", ["cron", "next", "often"]);
  await check(bench, "jobs cron pause NAME", ["cron", "pause", "often"]);
  await check(bench, "jobs cron next NAME", ["cron", "next", "often"]);
  await check(bench, "jobs cron history NAME", ["cron", "history", "often"]);
  await check(bench, "jobs cron resume NAME", ["cron", "resume", "often"]);
  await check(bench, "jobs cron list", ["cron", "list"]);
  await check(bench, "jobs cron check", ["cron", "check"]);
  await check(bench, "jobs cron remove NAME", ["cron", "remove", "often"]);
  await Deno.writeTextFile(`${bench.folder}/entries`, `{"name":"many/1","every":"1h","class":"Noop"}\n`);
  await check(bench, "jobs cron add --bulk FILE", ["cron", "add", "--bulk", "entries"]);
  await check(bench, "jobs cron pause --prefix TEXT", ["cron", "pause", "--prefix", "many/"]);
  await check(bench, "jobs cron resume --prefix TEXT", ["cron", "resume", "--prefix", "many/"]);
  await check(bench, "jobs cron remove --prefix TEXT", ["cron", "remove", "--prefix", "many/", "--yes"]);

  {
    await using server = await bench.server([`${bench.folder}/h.js`], {
      JOBS_RETENTION_SUCCEEDED: "1h",
    });
    const held = await push("JsonHold", "1");
    await bench.until(async () =>
      (await bench.store.workers.list()).some(({ work }) => work[0]?.lastLine !== undefined)
    );
    const running = await check(bench, "jobs list STATE", ["list", "running"]) as { jobs: Record<string, unknown>[] };
    assertEquals(running.jobs.map(({ progress, lastLine }) => [progress, lastLine]), [["1 hold", "holding"]]);
    const found = await check(bench, "jobs find", ["find", "JsonHold"]) as { jobs: Record<string, unknown>[] };
    assertEquals(found.jobs.map(({ progress, lastLine }) => [progress, lastLine]), [["1 hold", "holding"]]);
    await check(bench, "jobs show JID", ["show", held]);
    await check(bench, "jobs workers", ["workers"]);
    await check(bench, "jobs dump", ["dump", "--all"]);
    await check(bench, "jobs doctor --ready", ["doctor", "--ready"]);
    await check(bench, "jobs cancel", ["cancel", "--all", "running", "--yes"]);
    const waiting = await push("JsonSteps");
    await bench.until(async () => (await bench.store.admin.stats()).scheduled === 1);
    const batches = new Client({ store: bench.store, onUnregistered: () => {} });
    const done = { class: "Wait", args: [bench.notes] };
    const batch = await batches.batches.open({ name: "import", tags: ["customer:7"], success: done });
    await batch.add("Wait", [bench.notes], { queue: "later" });
    await batch.flush();
    const opened = await check(bench, "jobs batch open", ["batch", "open"]) as { id: string };
    await check(bench, "jobs batch close ID", ["batch", "close", opened.id]);
    await check(bench, "jobs batch list", ["batch", "list"]);
    await check(bench, "jobs batch show ID", ["batch", "show", batch.id]);
    await check(bench, "jobs batch check ID", ["batch", "check", batch.id]);
    await check(bench, "jobs batch retry ID", ["batch", "retry", batch.id]);
    await check(bench, "jobs batch cancel ID", ["batch", "cancel", batch.id]);
    const flow = `{"name": "nightly", "nodes": {"a": {"class": "Wait", "args": [], "queue": "later"},
      "b": {"class": "Wait", "args": [], "after": "a"}}}`;
    await Deno.writeTextFile(`${bench.folder}/flow.json`, flow);
    const { id } = await check(bench, "jobs flow push FILE", ["flow", "push", "flow.json"]) as { id: string };
    await check(bench, "jobs flow list", ["flow", "list"]);
    await check(bench, "jobs flow show ID", ["flow", "show", id]);
    const { jobs: [node] } = await check(bench, "jobs list STATE", ["list", "waiting"]) as {
      jobs: Record<string, unknown>[];
    };
    assert(Date.parse(String(node!["changedAt"])) > 0);
    await check(bench, "jobs flow retry ID", ["flow", "retry", id]);
    await check(bench, "jobs flow cancel ID", ["flow", "cancel", id]);
    await check(bench, "jobs steps JID", ["steps", waiting]);
    await check(bench, "jobs show JID", ["show", waiting]);
    await check(bench, "jobs list signals", ["list", "signals"]);
    assertEquals((await check(bench, "jobs list STATE", ["list", "scheduled"]) as { signals: number }).signals, 1);
    await check(bench, "jobs steps rerun JID NAME", ["steps", "rerun", waiting, "approval", "--yes"]);
    await bench.until(async () => (await bench.store.steps.read(waiting)).some(({ name }) => name === "approval"));
    await check(bench, "jobs steps clear JID", ["steps", "clear", waiting, "charge", "--yes"]);
    await check(bench, "jobs steps wake JID", ["steps", "wake", waiting, "--yes"]);
    await check(bench, "jobs signal KEY", ["signal", "order:2"]);
    await check(bench, "jobs push CLASS --wait", ["push", "JsonNoop", "--wait"]);
    await check(bench, "jobs push CLASS --wait", ["push", "JsonFail", "--retry", "false", "--wait"], 1);
    await check(bench, "jobs list STATE", ["list", "dead"]);
    await check(bench, "jobs list finished", ["list", "finished"]);
    await check(bench, "jobs errors", ["errors"]);
    await check(bench, "jobs events", ["events"]);
    await check(bench, "jobs find", ["find", "no such account"]);
    await check(bench, "jobs quiet|stop", ["stop", "--all"]);
    await server.status();
  }
  await check(bench, "jobs doctor --ready", ["doctor", "--ready"], 1);
  await check(bench, "jobs doctor", ["doctor", "h.js"]);
  await check(bench, "jobs bench", ["bench", "--jobs", "100"]);
  await check(bench, "jobs migrate", ["migrate", "--from", bench.url, "--to", `sqlite:${bench.folder}/to.db`]);
  await check(bench, "jobs web --new-user NAME", ["web", "--new-user", "bob"]);
  await check(bench, "jobs web --new-token NAME", ["web", "--new-token", "bob"]);
  await check(bench, "jobs backup FILE", ["backup", "copy.db"]);
  await check(bench, "jobs restore FILE", ["restore", "copy.db", "--store", `sqlite:${bench.folder}/new.db`]);
  await check(bench, "jobs version", ["version"]);
  // That of PostgreSQL: tests/outbox_test.ts.
  const others = OUTPUTS.filter(({ command }) => !command.startsWith("jobs outbox"));
  assertEquals(others.map(({ command }) => command).filter((command) => !seen.has(command)), []);
});

Deno.test("the JSON of a list has all that its table and the lines below it tell", async () => {
  await using bench = await Bench.open();
  const { store } = bench;
  // deno-lint-ignore no-explicit-any
  const read = async (command: string, ...args: string[]): Promise<any> => await check(bench, command, args);
  const run = (...args: string[]) => jobs(args, { cwd: bench.folder, env: { JOBS_STORE: bench.url } });

  await run("cron", "add", "often", "Noop", "--every", "1h");
  await run("cron", "add", "rarely", "Noop", "--every", "9h");
  await run("cron", "pause", "rarely");
  const cron = await read("jobs cron list", "cron", "list");
  const [audited] = (await readEvents(store, { limit: 1 })).events;
  assertEquals([cron.idle, cron.entries[0].pause], [true, undefined]);
  assertEquals(cron.entries[1].pause, { since: new Date(audited!.at).toISOString(), by: audited!.user });
  assertEquals((await read("jobs cron next NAME", "cron", "next", "often")).idle, true);

  await run("pause", "--for", "1h");
  await run("pause", "mail");
  const { pausedQueues } = await read("jobs workers", "workers");
  assertEquals(
    pausedQueues.map(({ name, pausedForMs }: { name: string; pausedForMs?: number }) => [name, pausedForMs! > 0])
      .sort(),
    [["*", true], ["mail", false]],
  );

  await store.admin.configure("low", { limit: { running: 5 } });
  for (let i = 0; i < 101; i++) await store.admin.configure("low", { group: `g${i}`, limit: { running: 1 } });
  await run("push", "Bulk", "-q", "low", "--group", "g0");
  await run("push", "Bulk", "-q", "low");
  const limited = await read("jobs limit", "limit");
  assertEquals(
    limited.limits.slice(0, 2).map(({ group, queued }: { group?: string; queued: number }) => [group, queued]),
    [
      [undefined, 2],
      ["g0", 1],
    ],
  );
  assertEquals(limited.more, ["low"]);

  const failed = (jid: string, error_class: string) => {
    const fields = { error_class, error_message: "none", retry_count: 2 };
    return { jid, queue: "low", payload: JSON.stringify({ jid, class: "Bulk", args: [], queue: "low", ...fields }) };
  };
  await store.jobs.enqueue([failed("f1", "TypeError"), failed("f2", "RangeError")]);
  await run("kill", "f1", "f2");
  const dead = await read("jobs list STATE", "list", "dead");
  assertEquals(dead.jobs.map(({ failures }: { failures: number }) => failures), [3, 3]);
  const errors = await read("jobs errors", "errors", "-n", "1");
  assertEquals([errors.groups.length, errors.more, errors.total], [1, true, 2]);
});
