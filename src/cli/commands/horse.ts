/** `jobs __horse`: what `jobs run` starts to perform jobs in a process of their own. Not for people. @module */
import { runHorse } from "../../handlers/isolation/horse_main.ts";
import { ignoreSignals } from "../../server/control/signals.ts";
import { openTracing } from "../../tracing/tracing.ts";
import { UsageError } from "../terminal/args.ts";

/** What `--help` prints. */
export const help = "Started by jobs run, to perform jobs in a process of their own.";

/** Performs jobs until the parent is gone. */
export async function run(): Promise<number> {
  ignoreSignals();
  // What keeps spans from being exported, the parent tells.
  if (!await runHorse(() => openTracing({ brief: true }))) throw new UsageError(help);
  return 0;
}
