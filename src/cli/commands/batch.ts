/** `jobs batch list|show|cancel|retry|check`. @module */
import { systemClock } from "../../clock.ts";
import type { Store } from "../../store/admin/store.ts";
import { cancelBatch, checkBatch, retryBatch } from "../../store/ops/batches.ts";
import { batchJson, batchStateText } from "../../text/batches.ts";
import { localTime } from "../../text/times.ts";
import { closestWord } from "../../text/suggest.ts";
import { recordAudit } from "../shared/audit.ts";
import { BATCH_COLUMNS, batchRow } from "../shared/batch_rows.ts";
import { withStore } from "../shared/store.ts";
import { COMMON_FLAGS, parseCommand } from "../terminal/args.ts";
import { NotFoundError, UsageError } from "../terminal/errors.ts";
import { print, printJson } from "../terminal/output.ts";
import { printTable } from "../terminal/table.ts";

/** The text of `--help`. */
export const help = `
Usage: jobs batch list [-n 25]
       jobs batch show|cancel|retry|check ID

Lists batches, the latest first, or shows one: members by state, callbacks.
cancel closes a batch and cancels its members. retry enqueues its dead members
again. check counts its members in the store, and corrects its counters if
another program removed some. cancel, retry and check look through all jobs.

  -n, --limit N          list this many (25)

Examples
  jobs batch list
  jobs batch show 1a203f735340c7e1a8800001
  jobs batch retry 1a203f735340c7e1a8800001 --json`;

type Verb = (store: Store, id: string, json: boolean) => Promise<void>;

const VERBS: Readonly<Record<string, Verb>> = { show, cancel, retry, check };

/** Runs the subcommand. */
export async function run(argv: readonly string[]): Promise<number> {
  const { flags, args } = parseCommand("batch", argv, {
    ...COMMON_FLAGS,
    limit: { takes: "text", short: "n" },
  }, "list|show|cancel|retry|check [ID]");
  const [verb = "", id] = args;
  const names = ["list", ...Object.keys(VERBS)];
  if (!names.includes(verb)) {
    const meant = verb === "ls" ? "list" : closestWord(verb, names);
    throw new UsageError(
      `Unknown command "batch ${verb}"; ${meant ? `did you mean jobs batch ${meant}?` : "see jobs batch --help"}`,
    );
  }
  if (verb === "list" && id !== undefined) throw new UsageError(`Unexpected argument "${id}". Usage: jobs batch list`);
  if (verb !== "list" && id === undefined) throw new UsageError(`Missing argument: ID. Usage: jobs batch ${verb} ID`);
  const limit = Number(flags.limit ?? 25);
  if (!Number.isSafeInteger(limit) || limit < 1 || limit > 10_000) {
    throw new UsageError(`Invalid --limit "${flags.limit}": expected a whole number from 1 to 10000`);
  }
  await withStore(flags, async (store) => {
    if (verb === "list") await list(store, limit, flags.json);
    else await VERBS[verb]!(store, id!, flags.json);
  });
  return 0;
}

async function list(store: Store, limit: number, json: boolean): Promise<void> {
  const { batches } = await store.batches.page({ limit });
  if (json) return printJson(batches.map(batchJson));
  const now = systemClock.now();
  printTable(
    BATCH_COLUMNS,
    batches.map((batch) => batchRow(batch, now)),
    "No batches; a program opens one with client.batch(…)",
  );
}

async function show(store: Store, id: string, json: boolean): Promise<void> {
  const batch = found(await store.batches.get(id), id);
  if (json) return printJson(batchJson(batch));
  const now = systemClock.now();
  const { name, tags, parent, createdAt, closedAt, completedAt, callbacks } = batch;
  const members = (["pending", "dead", "succeeded", "failed", "cancelled", "expired", "deleted"] as const)
    .filter((state) => batch[state] > 0).map((state) => `${batch[state]} ${state}`);
  const rows: (readonly [string, string | undefined])[] = [
    ["id", id],
    ["name", name],
    ["state", `${batch.state}: ${batchStateText(batch)}`],
    ["members", `${batch.total}${members.length > 0 ? ` (${members.join(", ")})` : ""}`],
    ["tags", tags.length > 0 ? tags.join(", ") : undefined],
    ["parent", parent],
    ["created", localTime(createdAt, now)],
    ["closed", closedAt === undefined ? undefined : localTime(closedAt, now)],
    ["completed", completedAt === undefined ? undefined : localTime(completedAt, now)],
    ...callbacks.map(({ event, jid, class: className, pushedAt }) =>
      [
        event,
        `${className} ${pushedAt === undefined ? "not pushed" : `pushed ${localTime(pushedAt, now)}, job ${jid}`}`,
      ] as const
    ),
  ];
  for (const [label, text] of rows) if (text !== undefined) print(`${label.padEnd(10)} ${text}`);
}

async function cancel(store: Store, id: string, json: boolean): Promise<void> {
  const result = found(await cancelBatch(store, id, systemClock.now()), id);
  if (result.closedAs !== "cancelled") {
    throw new UsageError(
      `Can't cancel batch "${id}": it ${result.closedAs === "closed" ? "has ended" : "was abandoned"}`,
    );
  }
  await recordAudit(store, { action: "batch cancel", target: `batch:${id}`, count: result.members });
  if (json) printJson({ cancelled: id, members: result.members });
  else print(`Cancelled batch ${id} and ${jobs(result.members)}`);
}

async function retry(store: Store, id: string, json: boolean): Promise<void> {
  found(await store.batches.get(id), id);
  const members = await retryBatch(store, id);
  await recordAudit(store, { action: "batch retry", target: `batch:${id}`, count: members });
  if (json) printJson({ retried: members });
  else print(`Enqueued ${jobs(members)} again`);
}

async function check(store: Store, id: string, json: boolean): Promise<void> {
  const { result, before, pending, dead } = found(await checkBatch(store, id), id);
  if (result === "corrected") await recordAudit(store, { action: "batch check", target: `batch:${id}` });
  if (json) return printJson({ result, pending, dead, before });
  const counts = `${pending} pending, ${dead} dead`;
  print(
    result === "right"
      ? `Batch ${id} is correct: ${counts}`
      : result === "corrected"
      ? `Corrected batch ${id}: ${counts}; it counted ${before.pending} pending, ${before.dead} dead`
      : `Batch ${id} kept changing: nothing corrected; run this again when fewer of its jobs end`,
  );
}

function found<T>(value: T | undefined, id: string): T {
  if (value === undefined) {
    throw new NotFoundError(
      `Batch "${id}" not found: its record has expired, or it is in another store (jobs batch list)`,
    );
  }
  return value;
}

function jobs(count: number): string {
  return count === 1 ? "1 job" : `${count} jobs`;
}
