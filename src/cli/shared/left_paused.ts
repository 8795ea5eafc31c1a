/**
 * The jobs that a worker with `--burst` leaves in paused queues.
 *
 * @module
 */
import { logger } from "../../log/log.ts";
import type { Store } from "../../store/admin/store.ts";
import { ALL_QUEUES } from "../../store/port/paused_queues.ts";
import { number } from "../../text/format.ts";

/** The exit code of `jobs run --burst` if jobs wait in paused queues: the queues aren't empty. */
export const EXIT_LEFT_PAUSED = 3;
/** The log names this many queues. */
const MAX_NAMES = 10;

/**
 * Logs the paused queues that have jobs.
 *
 * @param serves whether the worker processes a queue
 * @returns whether there are any
 */
export async function reportLeftPaused(
  { admin }: Pick<Store, "admin">,
  serves: (queue: string) => boolean,
): Promise<boolean> {
  const { queues } = await admin.stats();
  const areAllPaused = queues.some(({ name, paused }) => name === ALL_QUEUES && paused);
  const left = queues.filter(({ name, size, paused }) =>
    name !== ALL_QUEUES && size > 0 && (paused || areAllPaused) && serves(name)
  );
  if (left.length === 0) return false;
  const names = left.slice(0, MAX_NAMES).map(({ name, size }) => `${name} (${number(size)})`);
  if (left.length > MAX_NAMES) names.push(`${number(left.length - MAX_NAMES)} more`);
  logger("run").warn("Jobs are left in paused queues; jobs resume ends a pause", { queues: names.join(", ") });
  return true;
}
