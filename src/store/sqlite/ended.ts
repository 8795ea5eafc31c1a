/**
 * The removal of ended jobs in the order of their numbers.
 *
 * A job's row lies next to those of the jobs that were pushed with it, of whatever queues, and jobs end in the order of their queues. To
 * remove the rows of a hundred jobs that lie apart changes two hundred pages of the file, all of which go to the log. So their numbers
 * are noted in `ended`, in the step that ends them, until there are enough for the lowest of them to lie together again. A job that fills
 * pages by itself is removed at once: to wait would not save any, and ten thousand of them would fill the disk.
 *
 * @module
 */
import { type Body, query } from "../sql/body.ts";
import { remove } from "../sql/job_rows.ts";

/** Fewer jobs are removed at once, wherever they lie. */
const MIN_JOBS = 32;
/** Jobs lie apart if their numbers span this many times their count. A page holds the rows of about ten small jobs. */
const MIN_SPREAD = 8;
/** A larger job is removed at once: half a page. */
const MAX_BYTES = 2_048;
/** Beyond this number, some are removed. */
const MAX_NOTED = 10_000;
/** The number that is removed in one transaction, which takes some milliseconds. */
export const MAX_REMOVED = 2_000;

/** See `Engine.removeEnded`. */
export function* removeEnded(jobs: readonly number[]): Body<void> {
  if (!lieApart(jobs)) return yield* remove(jobs);
  const small = yield query(
    "INSERT INTO ended (job) SELECT job.id FROM json_each(?1) CROSS JOIN job ON job.id = value WHERE octet_length(payload) <= ?2 RETURNING job",
    [JSON.stringify(jobs), MAX_BYTES],
  );
  if (small.length < jobs.length) {
    const waiting = new Set(small.map(({ job }) => Number(job)));
    yield* remove(jobs.filter((job) => !waiting.has(job)));
  }
  const [noted] = yield query("SELECT count(*) AS count FROM ended");
  if (Number(noted!.count) > MAX_NOTED) yield* removeNoted();
}

/** Removes the rows of noted jobs, the lowest numbers first. Returns whether there may be more. */
export function* removeNoted(): Body<boolean> {
  const rows = yield query("SELECT job FROM ended ORDER BY job LIMIT ?1", [MAX_REMOVED]);
  if (rows.length === 0) return false;
  yield* remove(rows.map(({ job }) => Number(job)));
  yield query("DELETE FROM ended WHERE job <= ?1", [Number(rows.at(-1)!.job)]);
  return rows.length === MAX_REMOVED;
}

function lieApart(jobs: readonly number[]): boolean {
  if (jobs.length < MIN_JOBS) return false;
  let [first, last] = [Infinity, -Infinity];
  for (const job of jobs) {
    if (job < first) first = job;
    if (job > last) last = job;
  }
  return last - first > MIN_SPREAD * jobs.length;
}

/** Returns whether jobs are noted. */
export function* hasNoted(): Body<boolean> {
  return (yield query("SELECT 1 FROM ended LIMIT 1")).length > 0;
}
