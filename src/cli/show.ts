/** `jobs show JID`. @module */
import type { Entry } from "../store/admin.ts";
import { COMMON_FLAGS, parseCommand, UsageError } from "./args.ts";
import { entryJson, payloadTime, placeName, readable, relative, shownClass } from "./entries.ts";
import { plain, print, printJson, remark } from "./output.ts";
import { withStore } from "./store.ts";
import { systemClock } from "../clock.ts";

/** What `--help` prints. */
export const help = `
Usage: jobs show JID [--json]

Shows one job: where it is, since when or until when, its arguments, and its last error. Exit 1 when the store does
not know it (it is done, was deleted, or was never there).`;

/** Shows one job. */
export async function run(argv: readonly string[]): Promise<number> {
  const { flags, args: [jid, ...more] } = parseCommand("show", argv, COMMON_FLAGS);
  if (jid === undefined || more.length > 0) throw new UsageError("One JID is wanted: jobs show JID");
  const entries = await withStore(flags, (store) => store.find(jid));
  if (entries.length === 0) {
    remark(`jobs: no job "${jid}" here: it is done, was deleted, or is in another store`);
    return 1;
  }
  if (flags.json) printJson(entries.length === 1 ? entryJson(entries[0]!) : entries.map(entryJson));
  else print(entries.map((entry) => describe(entry).join("\n")).join("\n\n"));
  return 0;
}

function describe(entry: Entry): string[] {
  const payload = readable(entry);
  if (payload === undefined) return [`(unreadable) ${plain(entry.payload)}`];
  const when = entry.at === undefined
    ? ""
    : ` ${relative(entry.at, systemClock.now())} (${new Date(entry.at).toISOString()})`;
  const where = entry.place.in === "queue" ? `queue ${entry.place.queue}` : `${placeName(entry)}${when}`;
  const rows: [string, unknown][] = [
    ["jid", payload.jid],
    ["class", shownClass(payload)],
    ["args", JSON.stringify(payload.args, (_key, value) => typeof value === "bigint" ? String(value) : value)],
    ["state", entry.owner === undefined ? where : `${where} at ${entry.owner}`],
    ["queue", payload.queue],
    ["created", payloadTime(payload.created_at)],
    ["enqueued", payloadTime(payload.enqueued_at)],
    ["retry", payload.retry],
    ["tags", payload.tags?.join(", ")],
    ["failures", payload.retry_count === undefined ? undefined : payload.retry_count + 1],
    ["failed", payloadTime(payload.failed_at)],
    ["retried", payloadTime(payload.retried_at)],
    ["error", payload.error_class === undefined ? undefined : `${payload.error_class}: ${payload.error_message}`],
    ["rescues", payload.rescues],
  ];
  return rows.filter(([, value]) => value !== undefined).map(([name, value]) =>
    `${name.padEnd(9)} ${plain(String(value))}`
  );
}
