/**
 * The handlers of a soak, loaded by real `jobs run` processes. Each notes the start and the end of each run, one line and
 * one write each, so that what a run did survives its process.
 */
const journal = Deno.openSync(Deno.env.get("SOAK_JOURNAL"), { append: true, create: true });
const encoder = new TextEncoder();
const nonce = crypto.randomUUID().slice(0, 8);
const { pid, ppid } = Deno;
let runs = 0;

const OPTIONS = { retry: 25, retryIn: () => 0.3, log_level: "warn" };

/** Ends at once. */
export const Quick = handler(() => {});

/** Takes its time, and stops when its signal aborts. */
export const Nap = handler((ctx, ms) => sleep(ms, ctx.signal));

/** Sleeps, in an isolated process if the worker isolates it. */
export const Away = handler((ctx, ms) => sleep(ms, ctx.signal));

/** Takes its time, whatever its signal does. */
export const Deaf = handler((_ctx, ms) => sleep(ms));

/** Blocks the event loop. */
export const Block = handler((_ctx, ms) => void Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms));

/** Fails this many times before it ends well. */
export const Flaky = handler((ctx, failures) => {
  if (ctx.attempt <= failures) throw intended("Planned");
});

/** Fails for good. */
export const Doomed = handler(() => {
  throw intended("Planned");
}, { retry: 1 });

/** Asks to run again later, half of the time. */
export const Snoozer = handler((ctx) => {
  if (Math.random() < 0.5) ctx.snooze(0.3);
});

/** Kills its worker, as a crash in native code would. */
export const Poison = handler(() => {
  Deno.kill(Deno.pid, "SIGKILL");
  while (true);
});

/** The handler of the cron entries. */
export const Tick = handler(() => {});

function handler(work, options = {}) {
  const perform = async (ctx, ...args) => {
    const run = `${pid}-${nonce}-${++runs}`;
    note("start", ctx, run);
    try {
      await work(ctx, ...args);
      note("end", ctx, run, { why: "done" });
    } catch (error) {
      note("end", ctx, run, { why: ENDS[error?.name] ?? error?.name ?? "unknown" });
      throw error;
    }
  };
  return Object.assign(perform, { options: { ...OPTIONS, ...options } });
}

const ENDS = { Planned: "failed", Snooze: "snoozed" };

function intended(name) {
  return Object.assign(new Error("Intended"), { name });
}

function note(event, ctx, run, more = {}) {
  const t = Math.round(Number(Deno.readTextFileSync("/proc/uptime").split(" ")[0]) * 1_000);
  const { jid, queue, attempt } = ctx;
  const occurrence = ctx.occurrence && `${ctx.occurrence.name} ${ctx.occurrence.scheduledAt}`;
  const line = { event, t, run, jid, class: ctx.class, queue, attempt, pid, ppid, occurrence, ...more };
  journal.writeSync(encoder.encode(`${JSON.stringify(line)}\n`));
}

function sleep(ms, signal) {
  return new Promise((resolve, reject) => {
    const stop = () => (clearTimeout(timer), reject(signal.reason));
    const timer = setTimeout(() => (signal?.removeEventListener("abort", stop), resolve()), ms);
    if (signal?.aborted) stop();
    else signal?.addEventListener("abort", stop);
  });
}
