/** The handlers of a soak in a Node worker: those of handlers.js. The gateways' addresses are its arguments. */
import process from "node:process";
import { setTimeout as sleep } from "node:timers/promises";
import { Snooze, work } from "../../clients/node/jobs_client.mjs";
import { noted } from "./journal.mjs";

const OPTIONS = { retry: 25, backoff: { type: "fixed", base: 0.3, jitter: 0 }, log_level: "warn" };

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
  return Object.assign((ctx, ...args) => noted(ctx, () => perform(ctx, ...args)), {
    options: { ...OPTIONS, ...options },
  });
}

await work({
  url: process.argv.slice(2),
  concurrency: 6,
  queues: process.env.SOAK_QUEUES.split(","),
  shutdownTimeoutMs: Number(process.env.SOAK_SHUTDOWN_MS),
  handlers,
});
