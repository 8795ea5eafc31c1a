// The worker of tests/clients/steps_test.ts in Node.
import { appendFileSync } from "node:fs";
import { StepFailed, work } from "../../clients/node/jobs_client.mjs";

const [url, notes] = process.argv.slice(2);
const note = (text) => appendFileSync(notes, `${text}\n`);

async function Order(ctx, id) {
  const card = await ctx.step("charge", ({ idempotencyKey, attempt }) => {
    note(`charge ${attempt}`);
    return { key: idempotencyKey === `${ctx.jid}:charge`, cents: id };
  });
  await ctx.step("flaky", ({ attempt }) => {
    note(`flaky ${attempt}`);
    if (attempt < 3) throw new TypeError("not yet");
  }, { retry: 3, backoff: 0.01 });
  await ctx.sleep("cool down", 0.05);
  const answer = await ctx.waitFor("approval", { key: `order-${id}`, timeout: "1h" });
  let undone;
  try {
    await ctx.step("ship", () => {
      throw new TypeError("out of stock");
    }, { retry: 0 });
  } catch (error) {
    if (!(error instanceof StepFailed)) throw error;
    undone = await ctx.step("refund", () => (note("refund"), error.name));
  }
  const child = await ctx.run("invoice", "Invoice", [id], { giveUpAfter: "1h", fields: { tenant: "acme" } });
  let sum = 0;
  const count = await ctx.each("lines", (after = 0) => [1, 2, 3].slice(after), (n) => sum += n);
  return { card, answer, undone, child, count, sum };
}
Order.options = { retry: 0, result_ttl: "1h" };

const Invoice = (ctx, id) => `invoice ${id} ${ctx.attempt} ${ctx.payload.tenant}`;
async function Member(ctx) {
  if (ctx.payload.args.length > 0) return "added";
  await ctx.batch.add("Member", [1]);
  return ctx.batch.id.length > 0;
}
const First = () => 7;
const Second = async (ctx) => ({ node: ctx.flow.node, results: await ctx.flow.results() });
for (const handler of [Invoice, Member, First, Second]) handler.options = { retry: 0, result_ttl: "1h" };

async function Tell(ctx, count) {
  for (let i = 1; i <= count; i++) await ctx.stream(i < count ? `line ${i}` : { last: i });
  return "told";
}
Tell.options = { retry: 0, result_ttl: "1h" };

async function Slow(ctx) {
  await ctx.step("slow", async ({ attempt }) => {
    note(`slow ${attempt}`);
    await new Promise((resolve) => setTimeout(resolve, 1_500));
  });
  return "slow";
}
Slow.options = { retry: 0, result_ttl: "1h" };

await work({ url, token: process.env.TOKEN, handlers: { Order, Invoice, Member, First, Second, Tell, Slow } });
