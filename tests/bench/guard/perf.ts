/**
 * Instructions of processes, counted by the processor itself. Other programs on the machine hardly change them. Virtual machines
 * often don't have the counter.
 *
 * @module
 */

/** Without the kernel's: those depend on what else runs. */
const EVENT = "instructions:u";

let isSupported: boolean | undefined;

/** Counts from now on. Resolves with a function that returns the count; with undefined where there is no counter. */
export async function countInstructions(
  pids: readonly number[],
  event: string = EVENT,
): Promise<(() => Promise<{ readonly instructions: number }>) | undefined> {
  isSupported ??= await hasCounter(event);
  if (!isSupported) return undefined;
  const folder = await Deno.makeTempDir({ prefix: "jobs-perf-" });
  const [control, ack] = [`${folder}/control`, `${folder}/ack`];
  await new Deno.Command("mkfifo", { args: [control, ack] }).output();
  // It starts disabled, and attaches to all threads. Their new threads inherit the counter.
  const perf = new Deno.Command("perf", {
    args: ["stat", "-x", ",", "-e", event, "-D", "-1", "-p", pids.join(), "--control", `fifo:${control},${ack}`],
    ...{ stdin: "null", stdout: "null", stderr: "piped" },
  }).spawn();
  const tell = async (command: string) => {
    await Deno.writeTextFile(control, `${command}\n`, { create: false });
    using answers = await Deno.open(ack);
    await answers.read(new Uint8Array(16));
  };
  await tell("enable");
  return async () => {
    await tell("disable");
    perf.kill("SIGINT");
    const text = new TextDecoder().decode((await perf.output()).stderr);
    await Deno.remove(folder, { recursive: true });
    return { instructions: countIn(text) ?? NaN };
  };
}

async function hasCounter(event: string): Promise<boolean> {
  try {
    const { stderr } = await new Deno.Command("perf", { args: ["stat", "-x", ",", "-e", event, "true"] }).output();
    return countIn(new TextDecoder().decode(stderr)) !== undefined;
  } catch {
    return false; // Not installed.
  }
}

/** Returns the count in a line of `perf stat -x,`: `12345,,instructions:u,…`, or `<not supported>,,…`. */
function countIn(text: string): number | undefined {
  const count = text.match(/^([\d.]+),/m)?.[1];
  return count === undefined ? undefined : Number(count);
}
