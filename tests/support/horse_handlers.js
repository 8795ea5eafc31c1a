/** Handlers that run in horses, for the tests: most of them do what no handler should. */

function note(file, line) {
  Deno.writeTextFileSync(file, `${line}\n`, { append: true });
}

/** Notes the process it runs in. */
export function WhichProcess(_ctx, file) {
  note(file, `pid ${Deno.pid}`);
}
WhichProcess.options = { isolate: true };

/** Notes its process, and spins for ever: nothing in JavaScript can stop it. */
export function Spin(_ctx, file) {
  note(file, `spin ${Deno.pid}`);
  while (true);
}
Spin.options = { isolate: true, retry: 0 };

/** Notes its process, and waits for its signal. */
export async function ListenAway(ctx, file) {
  note(file, `listen ${Deno.pid}`);
  await new Promise((resolve) => ctx.signal.addEventListener("abort", resolve));
  note(file, `heard ${ctx.signal.reason.name}`);
  throw ctx.signal.reason;
}
ListenAway.options = { isolate: true, retry: 0 };

/** Notes its process, and waits to be killed. */
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

/** Ends as a process does whose heap is full. */
export function Trap() {
  Deno.kill(Deno.pid, "SIGTRAP");
  while (true);
}
Trap.options = { isolate: true, retry: 0 };

/** Takes ever more memory. */
export async function Devour(_ctx) {
  const eaten = [];
  while (true) {
    eaten.push(new Uint8Array(10_000_000).fill(1));
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}
Devour.options = { isolate: true, retry: 0 };

/** Says something in every way there is, pushes a job, and fails. */
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

/** Asks to be dropped, kept for ever, or run again. */
export class Snooze extends Error {
  name = "Snooze";
  delayMs = 3_600_000;
}
export function Verdict(_ctx, verdict) {
  if (verdict === "Snooze") throw new Snooze("later");
  throw Object.assign(new Error("said so"), { name: verdict });
}
Verdict.options = { isolate: true };

/** Runs inline and looks at the clock every few milliseconds until it is cancelled; notes the longest it was kept waiting. */
export async function Pulse(ctx, file) {
  while (!ctx.signal.aborted) {
    note(file, "pulse");
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}
