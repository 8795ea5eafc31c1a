/** `jobs pause [QUEUE …]`. @module */
import { COMMON_FLAGS, parseCommand } from "../terminal/args.ts";
import { changePauses } from "../shared/pause_queues.ts";

/** The text of `--help`. */
export const help = `
Usage: jobs pause [QUEUE …] [--for 10m]
       jobs pause QUEUE --group NAME [--for 10m]

Pauses queues, or all queues if none is named: no worker fetches jobs from them
until jobs resume, or until the time of --for has passed. Running jobs continue,
and jobs can be pushed. Takes effect within a second on every worker and
outlives restarts. Pausing again replaces the time.

      --for TIME         resume after this time: 90, 10m, 2h
      --group NAME       pause only this group of the queue (jobs push --group)

Examples
  jobs pause mail
  jobs pause mail low --for 10m
  jobs pause exports --group acme --for 1h
  jobs pause`;

/** Pauses queues, or a group of one. */
export async function run(argv: readonly string[]): Promise<number> {
  const { flags, args } = parseCommand("pause", argv, {
    ...COMMON_FLAGS,
    for: { takes: "text" },
    group: { takes: "text" },
  }, "[QUEUE …]");
  return await changePauses("pause", flags, args);
}
