/** Handlers for the tests of the crontab. */

/** Notes which occurrence it is, and which job. */
export function Tick({ occurrence, jid }, file) {
  Deno.writeTextFileSync(file, `${occurrence.scheduledAt} ${jid}\n`, { append: true });
}

/** Notes when it begins and ends, and where; until then it takes its time. */
export async function Long({ jid }, file, ms) {
  const note = (what) => Deno.writeTextFileSync(file, `${what} ${jid} ${Deno.pid}\n`, { append: true });
  note("start");
  await new Promise((resolve) => setTimeout(resolve, ms));
  note("end");
}

/** The same, once there is a file `go` beside the notes. */
export async function Once({ jid }, file, ms) {
  const note = (what) => Deno.writeTextFileSync(file, `${what} ${jid} ${Deno.pid}\n`, { append: true });
  note("start");
  while (!await Deno.stat(`${file}.go`).catch(() => undefined)) await new Promise((resolve) => setTimeout(resolve, 20));
  await new Promise((resolve) => setTimeout(resolve, ms));
  note("end");
}

/** Notes that it began, and waits until it is told to end. */
export function Endless({ jid, signal }, file) {
  Deno.writeTextFileSync(file, `start ${jid}\n`, { append: true });
  return new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
}
