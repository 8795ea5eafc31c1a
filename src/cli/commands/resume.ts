/** `jobs resume [QUEUE …]`, `jobs resume QUEUE --group NAME`, `jobs resume --worker WORKER`. @module */
import { COMMON_FLAGS, parseCommand } from "../terminal/args.ts";
import { UsageError } from "../terminal/errors.ts";
import { commandWorkers } from "../shared/command_workers.ts";
import { changePauses } from "../shared/pause_queues.ts";

/** The text of `--help`. */
export const help = `
Usage: jobs resume [QUEUE …]
       jobs resume QUEUE --group NAME
       jobs resume --worker WORKER | --here | --all

Ends the pause of queues, or of all queues if none is named. A queue that was
also paused by its name stays paused, and so do its paused groups and quiet
workers; it says which.

      --group NAME       resume only this group of the queue

With one of these, quiet workers fetch jobs again:
      --worker WORKER    this worker, as jobs workers shows it; repeatable
      --here             all workers on this machine
      --all              all workers; also --all-workers

Examples
  jobs resume mail
  jobs resume exports --group acme
  jobs resume
  jobs resume --worker web1`;

/** Resumes queues or workers. */
export async function run(argv: readonly string[]): Promise<number> {
  const { flags, args } = parseCommand("resume", argv, {
    ...COMMON_FLAGS,
    worker: { takes: "list" },
    here: { takes: "switch" },
    all: { takes: "switch" },
    "all-workers": { takes: "switch" },
    group: { takes: "text" },
  }, "[QUEUE …]");
  const all = flags.all || flags["all-workers"];
  const kinds = [flags.worker.length > 0, flags.here, all].filter(Boolean).length;
  const { group } = flags;
  if (group !== undefined && kinds > 0) {
    throw new UsageError("--group contradicts --worker, --here and --all-workers (--all)");
  }
  if (kinds === 0) return await changePauses("resume", flags, args);
  if (kinds > 1) throw new UsageError("Expected one of --worker, --here and --all");
  if (args.length > 0) throw new UsageError(`Unexpected argument "${args[0]}": resume queues and workers separately`);
  return await commandWorkers("resume", { flags: { ...flags, all }, names: flags.worker });
}
