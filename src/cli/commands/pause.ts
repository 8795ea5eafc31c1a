/** `jobs pause [QUEUE …]`. @module */
import { parseDuration } from "../../job/duration.ts";
import { COMMON_FLAGS, parseCommand, UsageError } from "../terminal/args.ts";
import { changePauses } from "../shared/pause_queues.ts";

/** What `--help` prints. */
export const help = `
Usage: jobs pause QUEUE … [--for 10m]
       jobs pause [--for 10m]

Pauses queues, or, without a name, all of them: no process takes jobs from them until jobs resume, or until the time of
--for is over, by the store's clock. Running jobs go on, and jobs can be pushed. It holds within a second everywhere, and
over restarts. Pausing again replaces the time.`;

/** Pauses queues. */
export function run(argv: readonly string[]): Promise<number> {
  const { flags, args } = parseCommand("pause", argv, { ...COMMON_FLAGS, for: { takes: "text" } });
  const forMs = flags.for === undefined ? undefined : pauseTime(flags.for);
  return changePauses("pause", flags, args, (store, queue) => store.admin.pause(queue, forMs));
}

function pauseTime(text: string): number {
  try {
    const ms = parseDuration(text);
    if (ms > 0) return ms;
  } catch (error) {
    throw new UsageError(`Option --for: ${(error as Error).message}`);
  }
  throw new UsageError(`Option --for is "${text}"; wanted: a time such as 10m; to end a pause: jobs resume`);
}
