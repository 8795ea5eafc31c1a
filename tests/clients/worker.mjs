// A worker in Node that obeys the command language of the conformance table (docs/reference/worker-protocol.md).
import { appendFileSync, existsSync } from "node:fs";
import process from "node:process";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { Discard, Kill, Snooze, work } from "../../clients/node/jobs_client.mjs";

const commands = {
  echo: ({ attempt, class: name, queue, jid }, ...args) => ({ args, attempt, class: name, queue, jid }),
  raw: ({ raw }) => raw,
  nothing: () => undefined,
  fail: (_, message) => {
    throw new Error(message);
  },
  cause: () => {
    throw new TypeError("outer ü", { cause: new Error("inner") });
  },
  discard: (_, message) => {
    throw new Discard(message);
  },
  kill: (_, message) => {
    throw new Kill(message);
  },
  snooze: ({ attempt }, delay, until) => {
    if (Date.now() < until) throw new Snooze(delay);
    return attempt;
  },
  "odd result": () => ({ large: 1n }),
  "odd progress": (ctx) => ctx.progress("half"),
  text: (_, length) => "x".repeat(length),
  log: ({ log }, count, length) => {
    for (let i = 0; i < count; i++) log.info("l".repeat(length));
  },
  progress: (ctx, done, note) => {
    ctx.progress(done, note);
    ctx.log.info("it is half", { n: 1 });
  },
  push: async ({ client, queue }, ...args) => (await client.push("Try", args, { queue, result_ttl: "1h" })).jid,
  wait: ({ signal }) => new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason))),
  sleep: (_, seconds) => sleep(1_000 * seconds),
  block: async ({ jid, log }, file, notes, seconds) => {
    if (seconds > 0) await sleep(1_000 * seconds);
    log.info("blocks");
    appendFileSync(notes, `${jid}\n`);
    while (!existsSync(file)) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 100);
  },
  die: () => process.kill(process.pid, "SIGKILL"),
  "wait until": async ({ jid }, file, notes) => {
    if (notes) appendFileSync(notes, `${jid}\n`);
    while (!existsSync(file)) await sleep(20);
  },
  note: async ({ jid }, file, seconds) => {
    appendFileSync(file, `${jid}\n`);
    await sleep(1_000 * seconds);
  },
};

function start(of, signals) {
  const perform = async (ctx, command, ...args) => await commands[command](ctx, ...args);
  perform.options = JSON.parse(of.WORK_OPTIONS);
  return work({
    url: of.WORK_URL.split(","),
    token: of.WORK_TOKEN,
    queues: [of.WORK_QUEUE],
    concurrency: Number(of.WORK_CONCURRENCY),
    shutdownTimeoutMs: 1_000 * Number(of.WORK_SHUTDOWN_TIMEOUT),
    handlers: Object.fromEntries(of.WORK_CLASSES.split(",").map((name) => [name, perform])),
    signals,
  });
}

// Further workers in this process.
createInterface({ input: process.stdin }).on("line", (line) => {
  const of = JSON.parse(line);
  const ended = (error) => console.error(JSON.stringify({ ended: of.WORK_NAME, error }));
  start(of, false).then(() => ended(), (error) => ended(error.message));
});
await start(process.env, true);
// The others may run still.
process.exit(0);
