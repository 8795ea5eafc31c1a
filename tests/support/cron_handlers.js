/** Handlers for the tests of cron entries. */

/** Notes its run and its jid. */
export function Tick({ occurrence, jid }, file) {
  Deno.writeTextFileSync(file, `${occurrence.scheduledAt} ${jid}\n`, { append: true });
}

/** Notes its start and its end with its process ID, and sleeps in between. */
export async function Long({ jid }, file, ms) {
  const note = (what) => Deno.writeTextFileSync(file, `${what} ${jid} ${Deno.pid}\n`, { append: true });
  note("start");
  await new Promise((resolve) => setTimeout(resolve, ms));
  note("end");
}

/** Does the same, and ends when the file `go` exists next to the notes. */
export async function Once({ jid }, file, ms) {
  const note = (what) => Deno.writeTextFileSync(file, `${what} ${jid} ${Deno.pid}\n`, { append: true });
  note("start");
  while (!await Deno.stat(`${file}.go`).catch(() => undefined)) await new Promise((resolve) => setTimeout(resolve, 20));
  await new Promise((resolve) => setTimeout(resolve, ms));
  note("end");
}

/** Notes its start, and waits until its signal aborts. */
export function Endless({ jid, signal }, file) {
  Deno.writeTextFileSync(file, `start ${jid}\n`, { append: true });
  return new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
}
