/** A level of the log for one job, as a class or a push says it. */
import { assertEquals } from "@std/assert";
import { Bench } from "../support/bench.ts";

Deno.test("a job that says so leaves no line below its level, a horse's neither; others do", async () => {
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
  await bench.until(async () => (await bench.store.stats()).processed === 4);
  server.kill("SIGTERM");
  await server.status();
  const said = (jid: string) => server.lines.filter((line) => line["jid"] === jid).map(({ msg }) => msg);
  assertEquals(said(loud!), ["said", "warned", "Done"]);
  for (const jid of [calm, apart, pushed]) assertEquals(said(jid!), ["warned"]);
});
