/** `jobs signal KEY [DATA]`. @module */
import { sendSignal } from "../../client/signal.ts";
import { parseLossless } from "../../job/json.ts";
import { recordAudit } from "../shared/audit.ts";
import { withStore } from "../shared/store.ts";
import { COMMON_FLAGS, parseCommand, UsageError } from "../terminal/args.ts";
import { print, printJson } from "../terminal/output.ts";

/** What `--help` prints. */
export const help = `
Usage: jobs signal KEY [DATA] [--keep-for 7d]

Ends the wait of the job that has waited longest for KEY (ctx.waitFor). DATA is JSON, and what is no JSON is a text;
default true. With no job waiting, the signal is kept for the first that does, for --keep-for.

  jobs signal order:42
  jobs signal order:42 '{"approved": false, "by": "ann"}'`;

/** Sends a signal. */
export async function run(argv: readonly string[]): Promise<number> {
  const { flags, args: [key, data, ...more] } = parseCommand("signal", argv, {
    ...COMMON_FLAGS,
    "keep-for": { takes: "text" },
  });
  if (key === undefined) throw new UsageError("Missing argument: KEY; see jobs signal --help");
  if (more.length > 0) throw new UsageError(`Unexpected argument "${more[0]}"; quote DATA: jobs signal KEY 'DATA'`);
  const keepFor = flags["keep-for"];
  return await withStore(flags, async (store) => {
    const value = data === undefined ? true : valueOf(data);
    const { reached } = await sendSignal(store.steps, key, value, keepFor === undefined ? {} : { keepFor });
    await recordAudit(store, { action: "signal", target: `signal:${key}`, details: reached ?? "kept" });
    if (flags.json) printJson({ key, reached });
    else print(reached === undefined ? "Kept: no job waits for it yet" : `Job ${reached} continues`);
    return 0;
  }, { make: "unnamed" });
}

function valueOf(text: string): unknown {
  try {
    return parseLossless(text);
  } catch {
    return text;
  }
}
