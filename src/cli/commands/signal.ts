/** `jobs signal KEY [DATA]`. @module */
import { readSignalData } from "../../client/signal.ts";
import { InvalidPayload } from "../../job/errors.ts";
import type { Store } from "../../store/admin/store.ts";
import { signal } from "../../operator/actions/steps.ts";
import { stringifyLossless } from "../../job/json.ts";
import { confirmHere, YES } from "../terminal/confirm.ts";
import { actHere, inputOf } from "../shared/act.ts";
import { withStore } from "../shared/store.ts";
import { COMMON_FLAGS, parseCommand } from "../terminal/args.ts";
import { UsageError } from "../terminal/errors.ts";
import { print, printJson } from "../terminal/output.ts";

/** The text of `--help`. */
export const help = `
Usage: jobs signal KEY [DATA] [--keep-for 7d | --no-keep] [--yes]

Ends the wait of the job that has waited longest for KEY (ctx.waitFor). DATA is
JSON, or else a text; default true. What begins with { or [ must be JSON. If no
job waits, the signal is kept for the first one that does. jobs list signals
shows the keys that jobs wait for. On a terminal, it asks before.

      --keep-for TIME    keep an unused signal this long (7d)
      --no-keep          send it only if a job waits; otherwise exit 1
  -y, --yes              don't ask before

Examples
  jobs signal order:42
  jobs signal order:42 '{"approved": false, "by": "ann"}'`;

/** Sends a signal. */
export async function run(argv: readonly string[]): Promise<number> {
  const { flags, args: [key = "", data] } = parseCommand("signal", argv, {
    ...COMMON_FLAGS,
    ...YES,
    "keep-for": { takes: "text" },
    "no-keep": { takes: "switch" },
  }, "KEY [DATA]");
  const value = data === undefined ? true : valueOf(data);
  const given = inputOf(signal.takes, { key, keepFor: flags["keep-for"] }, { args: { keepFor: "--keep-for" } });
  const isKept = !flags["no-keep"];
  if (!isKept && flags["keep-for"] !== undefined) throw new UsageError("Use --keep-for or --no-keep, not both");
  return await withStore(flags, async (store) => {
    const { waits: [wait] } = await store.steps.waits({ key, limit: 1 });
    const shown = stringifyLossless(value)!;
    if (wait !== undefined) confirmHere("Send", `${shown} to step "${wait.name}" of job "${wait.jid}"`, flags);
    else if (isKept) confirmHere("Keep", `${shown}, because no job waits for "${key}"`, flags);
    const { reached } = await actHere(store, signal, { ...given, data: value, keep: isKept });
    if (flags.json) printJson({ key, reached });
    else print(await effectText(store, reached));
    return 0;
  }, { make: "unnamed" });
}

/** Returns the effect of a signal on the job that has received it. */
async function effectText({ jobs }: Pick<Store, "jobs">, jid: string | undefined): Promise<string> {
  if (jid === undefined) return "Kept: no job waits for it yet";
  try {
    const isDead = (await jobs.find([jid])).some(({ place }) => place.in === "dead");
    return isDead
      ? `Job "${jid}" has received it, but is dead: jobs retry ${jid} runs it again`
      : `Job "${jid}" continues`;
  } catch {
    return `Job "${jid}" has received it`;
  }
}

function valueOf(text: string): unknown {
  try {
    return readSignalData(text);
  } catch (error) {
    if (error instanceof InvalidPayload) throw new UsageError(`Invalid DATA "${text}": expected ${error.expected}`);
    throw error;
  }
}
