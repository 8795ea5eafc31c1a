/** The log level of one job, from its class or push. */
import { assertEquals } from "@std/assert";
import type { JobRequest } from "../../src/client/client.ts";
import { Bench } from "../support/bench.ts";
import { jobs } from "../support/process.ts";

const DEAF = "Handler ignores its signal and keeps running: only isolate: true can end it";

Deno.test("a job with log_level logs no line below it, also in a horse; other jobs do", async () => {
  await using bench = await Bench.open();
  const file = `${bench.folder}/h.js`;
  await Deno.writeTextFile(
    file,
    `const say = (ctx) => { ctx.log.info("said"); ctx.log.warn("warned"); };
     export const Loud = (ctx) => say(ctx);
     export const Calm = (ctx) => say(ctx);
     Calm.options = { log_level: "warn" };
     export const Apart = (ctx) => say(ctx);
     Apart.options = { isolate: true, log_level: "warn" };`,
  );
  await using server = await bench.server([file]);
  const [loud, calm, apart, pushed] = [
    await bench.push("Loud", []),
    await bench.push("Calm", []),
    await bench.push("Apart", []),
    await bench.push("Loud", [], { log_level: "warn" }),
  ];
  await bench.until(async () => (await bench.store.admin.stats()).processed === 4);
  server.kill("SIGTERM");
  await server.status();
  const said = (jid: string) => server.lines.filter((line) => line["jid"] === jid).map(({ msg }) => msg);
  assertEquals(said(loud!), ["said", "warned", "Done"]);
  for (const jid of [calm, apart, pushed]) assertEquals(said(jid!), ["warned"]);
});

const MODULE = `
import { Listen } from "HANDLERS";
let release;
const released = new Promise((resolve) => release = resolve);
const act = async (ctx, how, file) => {
  if (how === "interrupted") return Listen(ctx, file).then(() => ctx.throwIfAborted());
  if (how === "listen") return Listen(ctx, file);
  if (how === "deaf") return released;
  if (how === "Snooze") ctx.snooze("1h");
  if (how === "Kill") ctx.kill("no");
  throw Object.assign(new Error("no"), { name: how });
};
export const Loud = (...args) => act(...args);
Loud.options = { retry: 5 };
export const Hushed = (...args) => act(...args);
Hushed.options = { retry: 5, log_level: "error" };
export const Release = () => release();
`;

Deno.test("the worker's lines about a job are dropped below its log_level, except the error that it is dead", async () => {
  await using bench = await Bench.open();
  const file = `${bench.folder}/h.js`;
  await Deno.writeTextFile(file, MODULE.replace("HANDLERS", bench.handlers));
  const kinds: [name: string, more: Partial<JobRequest>][] = [
    ["Loud", {}],
    ["Hushed", {}],
    ["Loud", { log_level: "error" }],
  ];
  const onEach = (how: string, options: Partial<JobRequest> = {}) =>
    Promise.all(kinds.map(([name, more]) => bench.push(name, [how, bench.notes], { ...more, ...options })));
  const expired = await onEach("Oops", { expires_in: 0.001 });
  const [failed, snoozed, buried, deaf, cancelled, givenBack] = [
    await onEach("Oops"),
    await onEach("Snooze"),
    await onEach("Kill"),
    await onEach("deaf", { timeout: 0.05 }),
    await onEach("listen"),
    await onEach("interrupted"),
  ];
  // Enough for the jobs that stay, and for the one that releases them.
  await using server = await bench.server([file, "-c", "11", "-t", "100ms"], { JOBS_KILL_AFTER: "1ms" });
  for (const jid of [...cancelled, ...givenBack]) await bench.noted(`start ${jid}`);
  await jobs(["cancel", ...cancelled, "--store", bench.url]);
  for (const jid of cancelled) await bench.noted(`Cancelled ${jid}`);
  await server.logged(DEAF, { jid: deaf[0]! });
  await bench.push("Release", []);
  await bench.until(async () => {
    const { retry, scheduled, dead } = await bench.store.admin.stats();
    return retry === 6 && scheduled === 3 && dead === 3;
  });
  server.kill("SIGTERM");
  await server.status();

  const said = (jids: readonly string[]) =>
    jids.map((jid) => server.lines.filter((line) => line["jid"] === jid).map(({ level, msg }) => `${level} ${msg}`));
  assertEquals(said(failed), [["warn Failed"], [], []]);
  assertEquals(said(snoozed), [["info Snoozed"], [], []]);
  assertEquals(said(expired), [["info Expired"], [], []]);
  assertEquals(said(deaf), [[`warn ${DEAF}`, "warn Failed"], [], []]);
  assertEquals(said(cancelled), [["info Cancelled"], [], []]);
  assertEquals(said(givenBack), [["warn Returned an unfinished job"], [], []]);
  const burial = "error Failed for good, moved to dead";
  assertEquals(said(buried), [[burial], [burial], [burial]]);
});

Deno.test("a discarded job logs no warning, and a failed one does", async () => {
  await using bench = await Bench.open();
  const handlers = `${bench.folder}/discard.js`;
  await Deno.writeTextFile(
    handlers,
    `export const Decline = (ctx) => ctx.discard("no longer wanted");`,
  );
  await using server = await bench.server([handlers]);
  const jid = await bench.push("Decline", []);
  const line = await server.logged("Discarded", { jid });
  assertEquals([line.level, line["reason"]], ["info", "no longer wanted"]);
  const failed = await bench.push("Fail", [], { retry: false });
  assertEquals((await server.logged("Failed for good, discarded", { jid: failed })).level, "error");
});
