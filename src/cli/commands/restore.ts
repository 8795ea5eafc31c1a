/** `jobs restore FILE`. @module */
import { restoreStore } from "../../store/open_file.ts";
import { confirm, YES } from "../terminal/confirm.ts";
import { COMMON_FLAGS, parseCommand } from "../terminal/args.ts";
import { print, printJson } from "../terminal/output.ts";
import { checkAddress, loadSettings, storeUrl } from "../shared/store.ts";
import { hidePassword } from "../../store/port/hide_password.ts";

/** The text of `--help`. */
export const help = `
Usage: jobs restore FILE [--yes] [--json]

Replaces a SQLite store by a backup that jobs backup made. Stop its workers
first (jobs stop --all): while a worker is online, it refuses. A store that
exists is replaced after a question, and kept next to it as FILE.before-restore.
Jobs that were running at the time of the backup run again.

  -y, --yes              don't ask before

Examples
  jobs restore /var/backups/jobs-2026-11-22.db
  jobs restore jobs.bak --store sqlite:/var/lib/jobs/jobs.db --yes`;

/** Restores a store. */
export async function run(argv: readonly string[]): Promise<number> {
  const { flags, args } = parseCommand("restore", argv, { ...COMMON_FLAGS, ...YES }, "FILE");
  const { settings } = await loadSettings(flags);
  const url = storeUrl(settings);
  checkAddress(url);
  const { jobs, kept } = await restoreStore(url, args[0]!, {
    confirmReplace: () => confirm("Replace", `the store ${hidePassword(url)} by ${args[0]}`, flags),
  });
  if (flags.json) printJson({ store: hidePassword(url), jobs, kept });
  else {
    print(`Restored ${jobs === 1 ? "1 job" : `${jobs} jobs`} to ${hidePassword(url)}`);
    if (kept !== undefined) print(`The previous store is kept as ${kept}`);
  }
  return 0;
}
