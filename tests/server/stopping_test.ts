/** A handler is notified in time that its worker stops, and its reaction counts. */
import { assertEquals } from "@std/assert";
import { getField } from "../../src/job/raw.ts";
import { Bench } from "../support/bench.ts";
import { freePort } from "../support/redis.ts";

/** Handlers that note their actions in a file. Each ends differently when its worker stops. */
const HANDLERS = `
const note = (notes, line) => Deno.writeTextFileSync(notes, line + "\\n", { append: true });
const aborted = (signal) => signal.aborted ? undefined : new Promise((end) => signal.addEventListener("abort", end, { once: true }));

/** Processes items; when the worker stops, pushes the remaining ones as a job and returns. */
export async function Batch(ctx, notes, items) {
  note(notes, "start " + items.join());
  if (items.length > 2) {
    note(notes, "did " + items.slice(0, 2).join());
    await aborted(ctx.stopping);
    await ctx.client.push("Batch", [notes, items.slice(2)]);
    return "continued";
  }
  note(notes, "did " + items.join());
}
/** Does the same, but reacts only to the abort at the shutdown timeout. */
export async function Late(ctx, notes, end) {
  note(notes, "start " + end + " attempt " + ctx.attempt);
  await aborted(ctx.signal);
  note(notes, "aborted " + ctx.signal.reason.name);
  if (end === "return") return "finished";
  if (end === "snooze") ctx.snooze("1h");
  if (end === "kill") ctx.kill("enough");
  if (end === "fail") throw new Error("The database went away");
  ctx.throwIfAborted();
}
/** Ends at once, and leaves a listener. */
export function Leave(ctx, notes) {
  ctx.stopping.addEventListener("abort", () => note(notes, "notified " + ctx.jid));
}
export const LeaveApart = Object.assign((...args) => Leave(...args), { options: { isolate: true } });
export const BatchApart = Object.assign((...args) => Batch(...args), { options: { isolate: true } });
export const LateApart = Object.assign((...args) => Late(...args), { options: { isolate: true } });
`;

async function handlersOf(bench: Bench): Promise<string> {
  const module = `${bench.folder}/module.js`;
  await Deno.writeTextFile(module, HANDLERS);
  return module;
}

for (const [name, where] of [["Batch", "in the worker"], ["BatchApart", "in an isolated process"]] as const) {
  Deno.test(`a job that pushes its remaining work when its worker stops is performed once, ${where}`, async () => {
    await using bench = await Bench.open();
    const module = await handlersOf(bench);
    const worker = await bench.server([module, "-t", "30s"]);
    await using _worker = worker;
    const jid = await bench.push(name, [bench.notes, [1, 2, 3, 4]]);
    await bench.noted("did 1,2");
    worker.kill("SIGTERM");
    assertEquals((await worker.status()).code, 0);
    assertEquals((await bench.client.result(jid))?.result, "continued");
    const { queues, retry } = await bench.store.admin.stats();
    assertEquals([queues.map(({ size }) => size), retry], [[1], 0]);
    await using _other = await bench.server([module]);
    await bench.noted("did 3,4");
    assertEquals((await bench.readNotes()).filter((line) => line.startsWith("did")), ["did 1,2", "did 3,4"]);
  });
}

for (const [apart, where] of [["", "in the worker"], ["Apart", "in an isolated process"]] as const) {
  // A listener that is still called keeps what its job had in memory, as long as the worker lives.
  Deno.test(`a stop notifies no job that has ended, ${where}`, async () => {
    await using bench = await Bench.open();
    const worker = await bench.server([await handlersOf(bench), "-c", "1"]);
    await using _worker = worker;
    const left = await bench.push(`Leave${apart}`, [bench.notes]);
    const running = await bench.push(`Batch${apart}`, [bench.notes, [1, 2, 3]]);
    assertEquals((await bench.client.result(left))?.state, "succeeded");
    await bench.noted("did 1,2");
    worker.kill("SIGTERM");
    assertEquals((await worker.status()).code, 0);
    assertEquals((await bench.client.result(running))?.result, "continued");
    assertEquals((await bench.readNotes()).filter((line) => line.startsWith("notified")), []);
  });
}

Deno.test("quiet notifies running jobs, but not the jobs that start after resume", async () => {
  await using bench = await Bench.open();
  const worker = await bench.server([await handlersOf(bench)]);
  await using _worker = worker;
  const jid = await bench.push("Batch", [bench.notes, [1, 2, 3, 4]]);
  await bench.noted("did 1,2");
  worker.kill("SIGTSTP");
  assertEquals((await bench.client.result(jid))?.result, "continued");
  worker.kill("SIGCONT");
  await bench.noted("did 3,4");
  const next = await bench.push("Batch", [bench.notes, [5, 6, 7]]);
  await bench.noted("did 5,6");
  // A notified job would have ended before jobs that were pushed after its first items.
  for (const items of [[8], [9]]) await bench.client.result(await bench.push("Batch", [bench.notes, items]));
  assertEquals((await bench.store.results.read({ jids: [next] })).records[0], undefined);
  assertEquals((await bench.readNotes()).includes("start 7"), false, "it has pushed no remaining work");
});

for (const [name, where] of [["Late", "in the worker"], ["LateApart", "in an isolated process"]] as const) {
  Deno.test(`a result or decision of a handler after the shutdown timeout counts, ${where}`, async () => {
    await using bench = await Bench.open();
    const worker = await bench.server([await handlersOf(bench), "-t", "0.2s", "-c", "5"]);
    await using _worker = worker;
    const ends = ["return", "snooze", "kill", "fail", "abort"];
    const jids = new Map<string, string>();
    for (const end of ends) jids.set(end, await bench.push(name, [bench.notes, end]));
    for (const end of ends) await bench.noted(`start ${end} attempt 1`);
    worker.kill("SIGTERM");
    assertEquals((await worker.status()).code, 0);
    const places = [];
    for (const end of ends) {
      places.push((await bench.store.jobs.find([jids.get(end)!])).map(({ place }) => place.in).join());
    }
    assertEquals(places, ["", "scheduled", "dead", "queue", "queue"]);
    assertEquals((await bench.client.result(jids.get("return")!))?.result, "finished");
    const [given] = await bench.store.jobs.find([jids.get("fail")!]);
    const { retry_count, error_class } = JSON.parse(given!.payload);
    assertEquals([retry_count, error_class], [undefined, undefined], "an interruption is not a failure");
    const aborts = (await bench.readNotes()).filter((line) => line.startsWith("aborted"));
    assertEquals(aborts, Array(5).fill("aborted Shutdown"));
  });
}

Deno.test("a second TERM aborts jobs at once, and a job whose handler rejects then returns to its queue", async () => {
  await using bench = await Bench.open();
  const worker = await bench.server(["-t", "60s"]);
  await using _worker = worker;
  const jid = await bench.push("Wait", [bench.notes], { expires_in: "1h" });
  await bench.noted(`start ${jid}`);
  worker.kill("SIGTERM");
  await worker.logged("Stopping");
  worker.kill("SIGTERM");
  await worker.status();
  const [entry] = await bench.store.jobs.find([jid]);
  // It has started, so it no longer expires.
  assertEquals([entry?.place.in, getField(entry!.payload, "begun")], ["queue", true]);
});

Deno.test("a worker waits for the dashboard's address while the worker before is stopping", async () => {
  await using bench = await Bench.open();
  const args = ["--web", `${freePort()}`, "-t", "60s"];
  await using old = await bench.server(args);
  const jid = await bench.push("Listen", [bench.notes]);
  await bench.noted(`start ${jid}`);
  const { worker } = await old.logged("Ready");
  old.kill("SIGTERM");
  await bench.until(async () => (await bench.store.workers.list()).every(({ quiet, stopping }) => quiet && stopping));
  await using next = await bench.server(args, {}, false);
  await next.logged("Dashboard's address is in use, waiting for a worker that stops", { worker });
  await bench.go();
  await next.logged("Ready");
  assertEquals((await old.status()).code, 0);
});
