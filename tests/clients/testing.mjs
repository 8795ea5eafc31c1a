// Performs jobs in memory, and prints the results: one JSON object for tests/clients/testing_test.ts.
import { Discard, Kill, Snooze } from "../../clients/node/jobs_client.mjs";
import { FakeJobs } from "../../clients/node/testing.mjs";

async function Report(ctx, month) {
  ctx.progress(50, "half");
  ctx.log.info(`report of ${month}`);
  const { jid } = await ctx.client.push("Mail", [month], { queue: "mail" });
  return { month, attempt: ctx.attempt, jid };
}
function End(_ctx, how) {
  if (how === "discard") throw new Discard("not needed");
  if (how === "kill") throw new Kill("no");
  if (how === "snooze") throw new Snooze("5m");
  if (how === "fail") throw new TypeError("outer", { cause: new Error("inner") });
}
const Mail = (ctx, to) => ctx.log.info(`mail to ${to}`);
async function Order(ctx) {
  const card = await ctx.step("charge", ({ attempt }) => ({ attempt }));
  await ctx.sleep("cool down", "2d");
  const answer = await ctx.waitFor("approval", { key: "order", timeout: "1h" });
  const child = await ctx.run("invoice", "Report", ["2026-02"]);
  const count = await ctx.each("items", () => [1, 2, 3], () => {});
  return { card, answer, child: child.month, count };
}

const jobs = new FakeJobs({ Report, End, Mail, Order });
jobs.signal("order", { by: "ann" });
const out = { report: await jobs.perform("Report", ["2026-01"], { attempt: 3 }) };
out.pushed = jobs.pushed.map(({ class: name, args, queue }) => [name, args, queue]);
out.drained = (await jobs.drain()).map(({ log }) => log);
for (const how of ["discard", "kill", "snooze", "fail"]) {
  const { state, error, delay } = await jobs.perform("End", [how]);
  out[how] = [state, error?.message ?? null, error?.causes ?? null, delay ?? null];
}
out.order = (await jobs.perform("Order")).result;
let failures = 0;
async function Row(ctx, row) {
  if (row === "flaky" && ctx.attempt < 3) throw new Error(`attempt ${ctx.attempt}`);
  if (row === "poison") throw new Error("always");
  if (row === "more") await ctx.batch.add("Row", [1]);
}
Row.options = { retry: 2 };
const ended = [];
const Called = (_ctx, name) => void ended.push(name);
const rows = new FakeJobs({ Row, Called });
const callbacks = Object.fromEntries(
  ["success", "complete", "death", "abandoned"].map((event) => [event, { class: "Called", args: [event] }]),
);
for (const all of [["flaky", "more"], ["poison", "flaky"]]) {
  await rows.client.batch({ name: "rows", ...callbacks }, async (add) => {
    for (const row of all) await add("Row", [row]);
  });
  ended.push((await rows.drain({ retries: true })).map(({ state }) => state).join(" "));
}
await rows.client.batch(callbacks, () => Promise.reject(new Error("stop"))).catch(() => failures++);
await rows.drain();
out.batches = [ended, rows.batches.map(({ state, total, dead }) => [state, total, dead]), failures];
const { jid: cancelled } = await rows.client.push("Row", [1]);
out.cancel = [await rows.client.cancel(cancelled), await rows.client.cancel(cancelled), rows.pushed.length];
out.missing = (await jobs.client.push("Nothing")).jid !== "" &&
    await jobs.drain().then(() => "", ({ message }) => message.includes('No handler for class "Nothing"')) ||
  jobs.pushed;
console.log(JSON.stringify(out));
