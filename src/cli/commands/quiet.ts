/** `jobs quiet [--end] IDENTITY | --here | --all`. @module */
import { parseAsk, runAsk } from "../shared/ask_worker.ts";

/** What `--help` prints. */
export const help = `
Usage: jobs quiet IDENTITY …
       jobs quiet --here | --all
       jobs quiet --end IDENTITY … | --here | --all

Lets processes finish what runs and take nothing more. --end lets them take jobs again.
IDENTITY is as jobs ps shows it, its beginning, the process number, or the tag; --here are those on this machine.`;

/** Lets processes finish. */
export function run(argv: readonly string[]): Promise<number> {
  const asked = parseAsk("quiet", argv, { end: { takes: "switch" } });
  return asked.flags.end
    ? runAsk("resume", asked, "asked to take jobs again")
    : runAsk("quiet", asked, "asked to be quiet");
}
