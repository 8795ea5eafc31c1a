/** Handlers for the tests, loaded by real `jobs run` processes. */

/** Does nothing. */
export function Noop() {}

/** Appends a line to a file, so that the record survives the process. */
export function Note(ctx, file, line = ctx.jid) {
  Deno.writeTextFileSync(file, `${line}\n`, { append: true });
}

/** Notes its start, sleeps, and notes its end. Ignores its signal. */
export async function Sleep(ctx, file, ms) {
  Note(ctx, file, `start ${ctx.jid}`);
  await new Promise((resolve) => setTimeout(resolve, ms));
  Note(ctx, file, `end ${ctx.jid}`);
}

/** Notes its start, and ends only when its signal aborts. */
export async function Wait(ctx, file) {
  Note(ctx, file, `start ${ctx.jid}`);
  ctx.progress(40, "percent");
  ctx.log.info("Waiting for the end");
  await new Promise((_, reject) => ctx.signal.addEventListener("abort", () => reject(ctx.signal.reason)));
}

/** Notes its start. Notes its end when the file `go` exists next to the notes, or the reason when its signal aborts. */
export async function Listen(ctx, file) {
  Note(ctx, file, `start ${ctx.jid}`);
  for (;;) {
    await new Promise((resolve) => setTimeout(resolve, 20));
    if (ctx.signal.aborted) return Note(ctx, file, `${ctx.signal.reason.name} ${ctx.jid}`);
    const go = await Deno.stat(`${file}.go`).catch(() => undefined);
    if (go !== undefined) break;
  }
  Note(ctx, file, `end ${ctx.jid}`);
  return "done";
}

/** Notes its start, and its end when the file `go` exists next to the notes. Ignores its signal. */
export async function Ignore(ctx, file) {
  Note(ctx, file, `start ${ctx.jid}`);
  while (!await Deno.stat(`${file}.go`).catch(() => undefined)) await new Promise((resolve) => setTimeout(resolve, 20));
  Note(ctx, file, `end ${ctx.jid}`);
}

/** Notes its start, and never ends. */
export async function Hang(ctx, file) {
  Note(ctx, file, `start ${ctx.jid}`);
  await new Promise(() => {});
}

/** Blocks the event loop without using the CPU. */
export function Block(ctx, file, ms) {
  Note(ctx, file, `start ${ctx.jid}`);
  Atomics.wait(NEVER_NOTIFIED, 0, 0, ms);
  Note(ctx, file, `end ${ctx.jid}`);
}

const NEVER_NOTIFIED = new Int32Array(new SharedArrayBuffer(4));

/** Blocks the event loop until the file `go` exists next to the notes. */
export function Hold(ctx, file) {
  Note(ctx, file, `start ${ctx.jid}`);
  const isThere = (path) => {
    try {
      return Deno.statSync(path).isFile;
    } catch {
      return false;
    }
  };
  while (!isThere(`${file}.go`)) Atomics.wait(NEVER_NOTIFIED, 0, 0, 20);
  Note(ctx, file, `end ${ctx.jid}`);
}

/** Kills the process that runs it, as a crash in native code would. */
export function Crash(ctx, file) {
  Note(ctx, file, `start ${ctx.jid}`);
  Deno.kill(Deno.pid, "SIGKILL");
  while (true);
}

/** Fails. */
export function Fail(_ctx, message = "no luck") {
  throw new RangeError(message);
}
Fail.options = { retry: 2, retryIn: () => 0.05 };

/** Throws null. */
export function ThrowNull() {
  throw null;
}

/** Succeeds, and leaves a promise that rejects later. */
export function RejectLate() {
  setTimeout(() => Promise.reject(new Error("too late")), 0);
}

/** Succeeds, and throws later in a timer. */
export function ThrowLate() {
  setTimeout(() => {
    throw new Error("out of nowhere");
  }, 0);
}

/** Logs 20 lines of 2 MB. */
export function Shout(ctx) {
  for (let i = 0; i < 20; i++) ctx.log.info("x".repeat(1_000_000), { more: "y".repeat(1_000_000) });
}

/** Leaves an orphan that ends a moment later, which PID 1 must reap. */
export async function Orphan(_ctx, file) {
  await new Deno.Command("sh", { args: ["-c", "sh -c 'sleep 0.1' & echo $! >> " + file] }).output();
}

/** Notes the environment of a program that it starts. */
export async function Environment(_ctx, file) {
  await new Deno.Command("sh", { args: ["-c", `env >>"$0"; echo end of environment >>"$0"`, file] }).output();
}
