/** Handlers that run in horses, for the tests. Most of them misbehave. */

function note(file, line) {
  Deno.writeTextFileSync(file, `${line}\n`, { append: true });
}

/** Notes its process ID. */
export function WhichProcess(_ctx, file) {
  note(file, `pid ${Deno.pid}`);
}
WhichProcess.options = { isolate: true };

/** Notes its process ID, and spins forever: no JavaScript can stop it. */
export function Spin(_ctx, file) {
  note(file, `spin ${Deno.pid}`);
  while (true);
}
Spin.options = { isolate: true, retry: 0 };

/** Notes its process ID, and waits for its signal. */
export async function ListenAway(ctx, file) {
  note(file, `listen ${Deno.pid}`);
  await new Promise((resolve) => ctx.signal.addEventListener("abort", resolve));
  note(file, `heard ${ctx.signal.reason.name}`);
  throw ctx.signal.reason;
}
ListenAway.options = { isolate: true, retry: 0 };

/** Notes its process ID, and waits to be killed. */
export async function Linger(_ctx, file) {
  note(file, `linger ${Deno.pid}`);
  await new Promise((resolve) => setTimeout(resolve, 3_600_000));
}
Linger.options = { isolate: true, retry: 0 };

/** Ends its process. */
export function Exit(_ctx, code) {
  Deno.exit(code);
}
Exit.options = { isolate: true, retry: 0 };

/** Ends the process as V8 does when the heap is full. */
export function Trap() {
  Deno.kill(Deno.pid, "SIGTRAP");
  while (true);
}
Trap.options = { isolate: true, retry: 0 };

/** Allocates memory without end. */
export async function Devour(_ctx) {
  const eaten = [];
  while (true) {
    eaten.push(new Uint8Array(10_000_000).fill(1));
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}
Devour.options = { isolate: true, retry: 0 };

/** Writes to the log and to both outputs, pushes a job, and fails. */
export async function Talk(ctx, file) {
  console.log("on stdout");
  console.error("on stderr");
  ctx.log.warn("in the log", { big: 12345678901234567890n });
  ctx.progress(7, "of 9");
  await ctx.client.push("Note", [file, "pushed from a horse"]);
  note(file, `args ${ctx.payload.args[1]}`);
  function deepInside() {
    throw new RangeError("no luck");
  }
  deepInside();
}
Talk.options = { isolate: true, retry: 0, backtrace: true };

/** Throws Discard, Kill or Snooze. */
export function Verdict(ctx, verdict) {
  if (verdict === "Snooze") ctx.snooze("1h");
  if (verdict === "Discard") ctx.discard("said so");
  ctx.kill("said so");
}
Verdict.options = { isolate: true };

/** Throws an error of another library with this name. */
export function Foreign(_ctx, name) {
  throw Object.assign(new Error("of another library"), { name, delayMs: 1 });
}
Foreign.options = { isolate: true, retry: 5 };

/** Ends, and leaves code running that logs, reports progress, and rejects a promise. */
let ticks = 0;
export function LeaveRunning(ctx) {
  setInterval(() => {
    ctx.log.info("left running", { ticks: ++ticks });
    ctx.progress(ticks, "left running");
    Promise.reject(new RangeError("left running"));
  }, 5);
  throw new Error("ended");
}
LeaveRunning.options = { isolate: true, retry: 0 };

/** Ends when the code of {@linkcode LeaveRunning} has run three more times. */
export async function AwaitTicks(ctx) {
  ctx.log.info("begun");
  for (const first = ticks; ticks < first + 3;) await new Promise((resolve) => setTimeout(resolve, 5));
}
AwaitTicks.options = { isolate: true, retry: 0 };

/** Runs inline and reads the clock every few milliseconds until it is cancelled. Notes the longest delay. */
export async function Pulse(ctx, file) {
  while (!ctx.signal.aborted) {
    note(file, "pulse");
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}
