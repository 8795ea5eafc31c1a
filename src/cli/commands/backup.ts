/** `jobs backup FILE`. @module */
import { backupStore } from "../../store/open_file.ts";
import { formatBytes } from "../../job/bytes.ts";
import { COMMON_FLAGS, parseCommand } from "../terminal/args.ts";
import { print, printJson } from "../terminal/output.ts";
import { checkAddress, loadSettings, storeUrl } from "../shared/store.ts";

/** The text of `--help`. */
export const help = `
Usage: jobs backup FILE [--replace] [--json]

Copies a SQLite store to a file, consistently and while workers use it. A plain
copy of the file isn't enough: the latest jobs are in a second file next to it.
FILE must not exist, unless --replace replaces an earlier backup. jobs restore
restores it. For Redis, use the backups of the server (BGSAVE, or a replica).

Options
  --replace       replace the backup at FILE. The new one is written next to it
                  and takes its name when complete; after a failure, the earlier
                  one stays

Examples
  jobs backup /var/backups/jobs-$(date +%F).db
  jobs backup /var/backups/jobs.db --replace
  jobs backup jobs.bak --store sqlite:/var/lib/jobs/jobs.db`;

/** Backs up a store. */
export async function run(argv: readonly string[]): Promise<number> {
  const { flags, args } = parseCommand("backup", argv, { ...COMMON_FLAGS, replace: { takes: "switch" } }, "FILE");
  const { settings } = await loadSettings(flags);
  const url = storeUrl(settings);
  checkAddress(url);
  const { jobs, bytes } = await backupStore(url, args[0]!, { replace: flags.replace === true });
  if (flags.json) printJson({ file: args[0], jobs, bytes });
  else print(`Backed up ${jobs === 1 ? "1 job" : `${jobs} jobs`} to ${args[0]} (${formatBytes(bytes)})`);
  return 0;
}
