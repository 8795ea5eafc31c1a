/** The handlers of a soak in a Node worker: those of handlers.js. The gateways' addresses are its arguments. */
import { appendFileSync, readFileSync } from "node:fs";
import process from "node:process";
import { setTimeout as sleep } from "node:timers/promises";
import { Snooze, work } from "../../clients/node/jobs_client.mjs";

const nonce = crypto.randomUUID().slice(0, 8);
const OPTIONS = { retry: 25, backoff: { type: "fixed", base: 0.3, jitter: 0 }, log_level: "warn" };
let runs = 0;

const abortable = (ctx, ms) =>
  new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, ms);
    ctx.signal.addEventListener("abort", () => (clearTimeout(timer), reject(ctx.signal.reason)));
  });

const handlers = {
  Quick: handler(() => {}),
  Nap: handler(abortable),
  Away: handler(abortable),
  Deaf: handler((_ctx, ms) => sleep(ms)),
  Block: handler((_ctx, ms) => void Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms)),
  Flaky: handler((ctx, failures) => {
    if (ctx.attempt <= failures) throw Object.assign(new Error("Intended"), { name: "Planned" });
  }),
  Doomed: handler(() => {
    throw Object.assign(new Error("Intended"), { name: "Planned" });
  }, { retry: 1 }),
  Snoozer: handler(() => {
    if (Math.random() < 0.5) throw new Snooze(0.3);
  }),
  Poison: handler(() => {
    process.kill(process.pid, "SIGKILL");
    while (true);
  }),
  Tick: handler(() => {}),
};

function handler(perform, options = {}) {
  const noted = async (ctx, ...args) => {
    const run = `${process.pid}-${nonce}-${++runs}`;
    note("start", ctx, run);
    try {
      await perform(ctx, ...args);
      note("end", ctx, run, "done");
    } catch (error) {
      note("end", ctx, run, { Planned: "failed", Snooze: "snoozed" }[error.name] ?? error.name);
      throw error;
    }
  };
  return Object.assign(noted, { options: { ...OPTIONS, ...options } });
}

function note(event, ctx, run, why) {
  const t = Math.round(Number(readFileSync("/proc/uptime", "utf8").split(" ")[0]) * 1_000);
  const { jid, queue, attempt, payload } = ctx;
  const occurrence = payload.occurrence && `${payload.occurrence.name} ${payload.occurrence.scheduledAt}`;
  const { pid, ppid } = process;
  const line = { event, t, run, jid, class: ctx.class, queue, attempt, pid, ppid, occurrence, why };
  appendFileSync(process.env.SOAK_JOURNAL, `${JSON.stringify(line)}\n`);
}

await work({
  url: process.argv.slice(2),
  concurrency: 6,
  queues: process.env.SOAK_QUEUES.split(","),
  shutdownTimeoutMs: Number(process.env.SOAK_SHUTDOWN_MS),
  handlers,
});
