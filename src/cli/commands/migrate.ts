/** `jobs move --from URL --to URL`. @module */
import { type MigrateProgress, migrateStore, sameStore } from "../../store/migrate.ts";
import { hidePassword, openStore } from "../../store/open.ts";
import { isSameFile } from "../../store/open_same_file.ts";
import { number } from "../../text/format.ts";
import { COMMON_FLAGS, parseCommand, UsageError } from "../terminal/args.ts";
import { jobCount } from "../terminal/confirm.ts";
import { print, printJson } from "../terminal/output.ts";
import { Interrupted, LongWork } from "../terminal/progress.ts";
import { loadSettings, storeOptions } from "../shared/store.ts";

/** What `--help` prints. */
export const help = `
Usage: jobs move --from URL --to URL [--json]

Moves everything from one store to another: queues in their order, scheduled, retry and dead, pauses, limits, and the crontab.
Stop the processes that take jobs from the source first (jobs stop --all --store URL). It may be stopped or killed at any
moment and run again: no job is lost, and none is there twice. Totals, and what is kept of ended jobs, stay behind.`;

/** Moves a store. */
export async function run(argv: readonly string[]): Promise<number> {
  const { store: _store, ...common } = COMMON_FLAGS;
  const { flags, args } = parseCommand("move", argv, { ...common, from: { takes: "text" }, to: { takes: "text" } });
  const { from, to } = flags;
  if (from === undefined || to === undefined || args.length > 0) {
    throw new UsageError("Two stores are wanted: jobs move --from sqlite:PATH --to redis://HOST");
  }
  if (from === to) throw new UsageError(`--from and --to are both "${from}"; wanted: two stores`);
  if (await isSameFile(from, to)) throw sameStore(hidePassword(from), hidePassword(to));
  const { settings } = await loadSettings({ ...flags, store: undefined });
  await using source = await openStore(from, { ...storeOptions(settings), create: false });
  await using target = await openStore(to, storeOptions(settings));
  using work = new LongWork("Moving");
  let far = { moved: 0, total: 0 };
  const onProgress = (now: MigrateProgress) => {
    far = now;
    work.at({ done: now.moved, total: now.total });
  };
  const moved = await migrateStore(source, target, { onProgress, signal: work.signal }).catch((error) => {
    if (error !== work.signal.reason) throw error;
    throw new Interrupted(
      `Stopped: ${number(far.moved)} of ${number(far.total)} jobs are moved; run it again to go on`,
    );
  });
  work.clear();
  if (flags.json) printJson(moved);
  else {print(
      `${jobCount(moved.jobs)} and ${moved.cron} crontab ${
        moved.cron === 1 ? "entry" : "entries"
      } moved to ${target.url}`,
    );}
  return 0;
}
