// The worker of tests/clients/worker_test.ts in Node.
import { setTimeout } from "node:timers/promises";
import { Discard, Kill, Snooze, work } from "../../clients/node/jobs_client.mjs";

const [url, handlers = "all"] = process.argv.slice(2);

async function Try(ctx, how, ...rest) {
  ctx.progress(50, "half");
  ctx.log.info(`tries ${how}`);
  if (how === "fail") throw new TypeError("no such account");
  if (how === "discard") throw new Discard("not needed");
  if (how === "kill") throw new Kill("can't work");
  if (how === "snooze" && ctx.payload.snoozed === undefined && rest[0] > Date.now()) throw new Snooze(0.1);
  if (how === "wait") {
    await new Promise((_, reject) => ctx.signal.addEventListener("abort", () => reject(ctx.signal.reason)));
  }
  if (how === "ignore") await setTimeout(60_000);
  if (how === "nap") await setTimeout(rest[0]);
  if (how === "block") { for (const end = Date.now() + rest[0]; Date.now() < end;); }
  if (how === "large") ctx.log.info("l".repeat(5e6));
  if (how === "large") return "x".repeat(rest[0]);
  if (how === "huge error") throw new Error("e".repeat(5e6));
  if (how === "push") return (await ctx.client.push("Try", ["ok"])).jid;
  if (how === "raw") return ctx.raw.includes("12345678901234567890") ? "whole" : "cut";
  return { how, rest, attempt: ctx.attempt };
}
Try.options = { retry: 1, backoff: { type: "fixed", base: 1 }, result_ttl: "1h" };
const Limited = (ctx) => Try(ctx, "wait");
Limited.options = { retry: 0, timeout: 0.5 };

await work({
  url,
  token: process.env.TOKEN,
  concurrency: 3,
  shutdownTimeoutMs: 500,
  handlers: handlers === "all" ? { Try, Limited } : { [handlers]: Try },
});
