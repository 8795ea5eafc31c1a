/** The journal of a soak, for handlers in Node and Deno: a line when a run starts, and one when it ends. */
import { appendFileSync, readFileSync } from "node:fs";
import process from "node:process";

const nonce = crypto.randomUUID().slice(0, 8);
const ENDS = { Planned: "failed", Snooze: "snoozed" };
let runs = 0;

/** Runs a handler, and notes its start and its end. */
export async function noted(ctx, perform) {
  const run = `${process.pid}-${nonce}-${++runs}`;
  note("start", ctx, run);
  try {
    const result = await perform();
    note("end", ctx, run, "done");
    return result;
  } catch (error) {
    note("end", ctx, run, ENDS[error.name] ?? error.name);
    throw error;
  }
}

function note(event, ctx, run, why) {
  const t = Math.round(Number(readFileSync("/proc/uptime", "utf8").split(" ")[0]) * 1_000);
  const { jid, queue, attempt, payload } = ctx;
  const occurrence = payload.occurrence && `${payload.occurrence.name} ${payload.occurrence.scheduledAt}`;
  const { pid, ppid } = process;
  const line = { event, t, run, jid, class: ctx.class, queue, attempt, pid, ppid, occurrence, why };
  appendFileSync(process.env.SOAK_JOURNAL, `${JSON.stringify(line)}\n`);
}
