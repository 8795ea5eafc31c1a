/** The steps of an ended job stay with its record, however it ended. */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { jobLines } from "../../src/cli/commands/show.ts";
import { stepsOf } from "../../src/cli/shared/steps.ts";
import { defineJob, Discard, Kill, startServer } from "../../src/mod.ts";
import { until } from "../support/eventually.ts";
import { startRedis } from "../support/redis.ts";
import { cancelJob } from "../../src/store/ops/cancel.ts";
import type { Store } from "../../src/store/admin/store.ts";
import { Mask } from "../../src/text/mask.ts";

const Order = defineJob("Order", async (ctx, end: string) => {
  await ctx.step("charge", () => ({ amount: 42, password: "hunter2" }));
  if (end === "waits") await ctx.waitFor("approval", { key: `order:${ctx.jid}`, timeout: "1d" });
  if (end === "hangs") {
    await new Promise((_, reject) => ctx.signal.addEventListener("abort", () => reject(ctx.signal.reason)));
  }
  if (end === "dead") throw new Kill("no stock");
  if (end === "discarded") throw new Discard("no stock");
  if (end === "fails once" && ctx.attempt === 1) throw new Error("no stock");
  await ctx.step("ship", () => {});
}, { retryIn: () => 0.001 });
const Plain = defineJob("Plain", () => {}, { result_ttl: "1h" });

for (const kind of ["SQLite", "Redis"] as const) {
  Deno.test(`on ${kind}, the record of a job that has ended shows its steps`, async () => {
    await using redis = kind === "Redis" ? await startRedis() : undefined;
    await using server = await startServer({
      store: redis?.url ?? "sqlite::memory:",
      jobs: [Order, Plain],
      log: false,
    });
    const { client } = server;
    const store = server.store as Store;
    const ended = async (end: string, act: (jid: string) => Promise<unknown> = () => Promise.resolve()) => {
      const jid = (await client.push(Order, [end]))!;
      await act(jid);
      const record = await client.result(jid);
      const steps = (await stepsOf(store, jid, new Mask())).map(({ name, state }) => `${name} ${state}`);
      return [record?.state, steps] as const;
    };
    const waits = (jid: string) => until(async () => (await store.steps.read(jid)).length === 2);
    const runs = (jid: string) => until(async () => (await store.steps.read(jid)).length === 1);
    const cancel = (jid: string) => cancelJob(store, jid, Date.now());
    const charged = "charge succeeded";
    assertEquals(await ended("succeeds"), ["succeeded", [charged, "ship succeeded"]]);
    assertEquals(await ended("fails once"), ["succeeded", [charged, "ship succeeded"]]);
    assertEquals(await ended("discarded"), ["failed", [charged]]);
    assertEquals(await ended("waits", async (jid) => (await waits(jid), await client.signal(`order:${jid}`))), [
      "succeeded",
      [charged, "approval succeeded", "ship succeeded"],
    ]);
    assertEquals(
      await ended("waits", async (jid) => {
        await waits(jid);
        await until(async () => (await store.jobs.find([jid]))[0]?.place.in === "scheduled");
        await cancel(jid);
      }),
      ["cancelled", [charged, "approval waiting"]],
    );
    assertEquals(await ended("hangs", async (jid) => (await runs(jid), await cancel(jid))), ["cancelled", [charged]]);

    const dead = (await client.push(Order, ["dead"]))!;
    await client.result(dead);
    const [entry] = await store.jobs.find([dead]);
    assertEquals((await store.steps.read(dead)).map(({ name }) => name), ["charge"]);
    await store.jobs.edit([entry!.ref], "delete");
    assertEquals([await store.steps.read(dead), (await stepsOf(store, dead, new Mask())).length], [[], 1]);
    const lines = (await jobLines(store, dead))!.join("\n");
    assertStringIncludes(lines, "steps     charge: succeeded");
    assertStringIncludes(lines, '"amount":42');
    assert(!lines.includes("hunter2"));

    const plain = (await client.push(Plain, []))!;
    assertEquals((await client.result(plain))?.steps, undefined);
  });
}
