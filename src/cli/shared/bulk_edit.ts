/**
 * Actions on many jobs at the command line: progress and Ctrl-C.
 *
 * @module
 */
import { systemClock } from "../../clock.ts";
import type { Action, Progress } from "../../operator/actions/action.ts";
import type { Store } from "../../store/admin/store.ts";
import { number } from "../../text/format.ts";
import { Interrupted } from "../terminal/errors.ts";
import { LongWork } from "../terminal/progress.ts";
import { actHere } from "./act.ts";

/** An action on many jobs, in the words of its command. */
export interface BulkWords {
  /** The present participle: `Deleting`. */
  readonly doing: string;
  /** The past participle: `Deleted`. */
  readonly done: string;
  /** The number of jobs, if it is known better than by the action. */
  readonly total?: number | undefined;
  /** When the user was asked: see `Tools`. */
  readonly asOf?: number;
}

/**
 * Does an action on many jobs.
 *
 * @throws {Interrupted} on Ctrl-C; the jobs changed by then stay changed
 */
export async function actInSteps<In, Out>(
  store: Store,
  action: Action<In, Out>,
  raw: unknown,
  { doing, done, total, asOf }: BulkWords,
): Promise<Out> {
  using work = new LongWork(doing);
  let at: Progress = { changed: 0, total: 0, answer: {} };
  const out = await actHere(store, action, raw, {
    signal: work.signal,
    ...(asOf !== undefined && { asOf }),
    progress: async (now) => {
      at = now;
      work.at({ done: now.changed, total: total ?? now.total });
      // Lets a signal arrive: on SQLite, a step never yields to the event loop.
      await systemClock.sleep(1);
    },
    beforeRecord: () => work.clear(),
  });
  if (!work.signal.aborted || at.changed >= at.total) return out;
  throw new Interrupted(
    `Interrupted: ${done.toLowerCase()} ${number(at.changed)} of ${number(total ?? at.total)} jobs`,
  );
}
