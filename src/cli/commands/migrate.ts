/** `jobs migrate --from URL --to URL`. @module */
import { previousRunOf } from "../../cron/previous_run.ts";
import { type MigrateProgress, migrateStore } from "../../store/ops/migrate/migrate.ts";
import { sameStore } from "../../store/ops/migrate/refusals.ts";
import { hidePassword } from "../../store/port/hide_password.ts";
import { openStore } from "../../store/open.ts";
import { isSameFile } from "../../store/open_file.ts";
import { number } from "../../text/format.ts";
import { COMMON_FLAGS, parseCommand } from "../terminal/args.ts";
import { Interrupted, UsageError } from "../terminal/errors.ts";
import { jobCount } from "../terminal/confirm.ts";
import { print, printError, printJson } from "../terminal/output.ts";
import { LongWork } from "../terminal/progress.ts";
import { checkAddress, loadSettings, storeOptions } from "../shared/store.ts";

/** The text of `--help`. */
export const help = `
Usage: jobs migrate --from URL --to URL [--json]

Moves everything from one store to another: queues in their order, scheduled,
retrying and dead jobs, pauses, limits, IDs of idempotent pushes, and cron
entries. Counters, the records of finished jobs, signals that no job waits for
yet, and the sessions of dashboards with their key stay behind: users log in
again. First stop the workers of the source (jobs stop --all --store URL) and
all programs that push to it: if one pushes meanwhile, no job is lost, and the
command exits with 1, to be run again. It may be interrupted or killed at any
moment and run again: no job is lost or duplicated.

      --from URL         the store to empty
      --to URL           the store to fill

Examples
  jobs migrate --from sqlite:jobs.db --to redis://localhost:6379
  jobs migrate --from redis://old:6379/0 --to rediss://new:6380/0`;

/** Migrates a store. */
export async function run(argv: readonly string[]): Promise<number> {
  const { store: _store, ...common } = COMMON_FLAGS;
  const { flags } = parseCommand(
    "migrate",
    argv,
    { ...common, from: { takes: "text" }, to: { takes: "text" } },
    "--from URL --to URL",
  );
  const { from, to } = flags;
  if (from === undefined || to === undefined) {
    throw new UsageError(
      `Missing option: ${from === undefined ? "--from" : "--to"} URL. Usage: jobs migrate --from URL --to URL`,
    );
  }
  checkAddress(from);
  checkAddress(to);
  if (from === to) throw new UsageError(`--from and --to are both "${hidePassword(from)}": expected two stores`);
  if (await isSameFile(from, to)) throw sameStore(hidePassword(from), hidePassword(to));
  const { settings } = await loadSettings({ ...flags, store: undefined });
  await using source = await openStore(from, { ...storeOptions(settings), create: false });
  await using target = await openStore(to, storeOptions(settings));
  using work = new LongWork("Migrating");
  let progress = { moved: 0, total: 0 };
  const onProgress = (current: MigrateProgress) => {
    progress = current;
    work.at({ done: current.moved, total: current.total });
  };
  const moved = await migrateStore(source, target, { onProgress, signal: work.signal, previousRunOf }).catch(
    (error) => {
      if (error !== work.signal.reason) throw error;
      throw new Interrupted(
        `Interrupted: migrated ${number(progress.moved)} of ${number(progress.total)} jobs; run it again to continue`,
      );
    },
  );
  work.clear();
  const entries = moved.cron === 1 ? "1 cron entry" : `${number(moved.cron)} cron entries`;
  if (flags.json) printJson(moved);
  else print(`Migrated ${jobCount(moved.jobs)} and ${entries} to ${target.url}`);
  if (moved.left.processed > 0) {
    const [processed, failed] = [number(moved.left.processed), number(moved.left.failed)];
    printError(`jobs: the totals stay in the source: ${processed} processed, ${failed} failed; dashboards begin at 0`);
  }
  return 0;
}
