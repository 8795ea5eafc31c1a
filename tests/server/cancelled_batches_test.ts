/** Workers end the members of a cancelled batch instead of starting them. */
import { assertEquals } from "@std/assert";
import { cancelBatch } from "../../src/store/ops/batches.ts";
import { checkBatch } from "../../src/store/ops/batch_check.ts";
import { Bench } from "../support/bench.ts";
import { startRedis } from "../support/redis.ts";

const MODULE = `
function note(file, line) {
  Deno.writeTextFileSync(file, line + "\\n", { append: true });
}
export async function Naps(ctx, file) {
  note(file, "start nap");
  await ctx.step("one", () => {});
  await ctx.sleep("nap", 3_600);
  note(file, "woke");
}
export function Fails(_ctx, file) {
  note(file, "start fails");
  throw new Error("Planned");
}
Fails.options = { retryIn: () => 3_600 };
export function Inline(_ctx, file) {
  note(file, "inline");
}
export function Isolated(_ctx, file) {
  note(file, "isolated");
}
Isolated.options = { isolate: true };
export function Retries(_ctx, file) {
  note(file, "retries");
  throw new Error("Planned");
}
Retries.options = { retry: 10_000, retryIn: () => 0.01 };
export function Complete(_ctx, file) {
  note(file, "complete");
}
`;

for (const kind of ["SQLite", "Redis"] as const) {
  Deno.test(`ends members of a cancelled batch that slept, failed or waited, and runs its callback, on ${kind}`, async () => {
    await using redis = kind === "Redis" ? await startRedis() : undefined;
    await using bench = await Bench.open(redis?.url);
    const { store, client, notes } = bench;
    const module = `${bench.folder}/members.js`;
    await Deno.writeTextFile(module, MODULE);
    const exec = JSON.stringify([{ class: "Program", exec: ["sh", "-c", `echo program >> ${notes}`] }]);
    await using worker = await bench.server([module], { JOBS_EXEC: exec });
    const jids: string[] = [];
    const batch = await client.batches.open({ complete: { class: "Complete", args: [notes] } });
    for (const name of ["Naps", "Fails", "Inline", "Isolated", "Program"]) {
      const later = name === "Naps" || name === "Fails" ? {} : { in: "1h" };
      jids.push((await client.push(name, [notes], { batch: batch.id, ...later }))!);
    }
    const waiting = async () => {
      const places = await Promise.all((["scheduled", "retry"] as const).map((one) => store.admin.page({ in: one })));
      return places.flatMap(({ entries }) => entries.map(({ ref }) => ref));
    };
    await bench.until(async () => (await waiting()).length === 5, "all wait");
    // As if each of them moved while the cancel looked for it.
    await store.batches.close(batch.id, "cancelled");
    assertEquals(await store.jobs.edit(await waiting(), "requeue"), 5);
    await bench.noted("complete");
    const { state, pending, cancelled, total } = (await store.batches.read({ ids: [batch.id] })).batches[0]!;
    assertEquals([state, pending, cancelled, total], ["cancelled", 0, 5, 5]);
    assertEquals((await bench.readNotes()).sort(), ["complete", "start fails", "start nap"]);
    for (const jid of jids) assertEquals((await client.result(jid))?.state, "cancelled", jid);
    assertEquals(await store.steps.read(jids[0]!), []);
    await bench.until(async () => (await store.workers.list())[0]?.totals?.["Inline"]?.cancelled === 1);
    assertEquals(worker.complaints.filter(({ msg }) => msg !== "Failed"), []);
  });

  Deno.test(`checks and cancels a batch whose members fail and retry all the time, on ${kind}`, async () => {
    await using redis = kind === "Redis" ? await startRedis() : undefined;
    await using bench = await Bench.open(redis?.url);
    const { store, client, notes } = bench;
    const module = `${bench.folder}/members.js`;
    await Deno.writeTextFile(module, MODULE);
    await using worker = await bench.server([module]);
    const { id } = await client.batch({ complete: { class: "Complete", args: [notes] } }, async (add) => {
      for (let i = 0; i < 12; i++) await add("Retries", [notes]);
    });
    await bench.until(async () => (await bench.readNotes()).length > 100, "they retry");
    for (let i = 0; i < 5; i++) {
      const checked = (await checkBatch(store, id))!;
      assertEquals([checked.result, checked.pending, checked.dead], ["right", 12, 0]);
    }
    assertEquals((await cancelBatch(store, id, Date.now()))?.closedAs, "cancelled");
    await bench.noted("complete");
    const { pending, dead, cancelled } = (await store.batches.read({ ids: [id] })).batches[0]!;
    assertEquals([pending, dead, cancelled], [0, 0, 12]);
    assertEquals(worker.complaints.filter(({ msg }) => msg !== "Failed"), []);
  });
}
