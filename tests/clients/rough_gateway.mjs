// A worker for rough_gateway_test.ts.
import { existsSync } from "node:fs";
import process from "node:process";
import { setTimeout as sleep } from "node:timers/promises";
import { work } from "../../clients/node/jobs_client.mjs";

const handlers = {
  Waits: async ({ signal }, file) => {
    for (; existsSync(file); await sleep(20)) signal.throwIfAborted();
  },
  Echo: (_, ...args) => args,
  Chatty: async (ctx, file) => {
    for (let i = 0; i < 200; i++) ctx.log.info("l".repeat(1_000));
    while (existsSync(file)) await sleep(20);
  },
  Blocks: (_, file) => {
    while (existsSync(file)) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 20);
  },
};
const [, , url, mode] = process.argv;
const shutdownTimeoutMs = mode === "hurried" ? 0 : Infinity;
await work({ url, handlers, concurrency: 40, signals: false, shutdownTimeoutMs })
  .catch((error) => console.error(error.message));
