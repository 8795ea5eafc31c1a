/** `jobs __horse`: the isolated process that a worker starts. @module */
import { runHorse } from "../../handlers/isolation/horse_main.ts";
import { ignoreSignals } from "../../server/control/signals.ts";
import { openTracing } from "../../tracing/tracing.ts";
import { UsageError } from "../terminal/errors.ts";

/** The text of `--help`. */
export const help = "jobs run starts this command to run isolated jobs.";

/** Runs jobs until the parent has ended. */
export async function run(): Promise<number> {
  ignoreSignals();
  // The parent logs why spans can't be exported.
  if (!await runHorse(() => openTracing({ brief: true }))) throw new UsageError(help);
  return 0;
}
