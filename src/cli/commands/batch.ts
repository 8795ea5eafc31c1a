/** `jobs batch open|close|list|show|cancel|retry|check`. @module */
import { systemClock } from "../../clock.ts";
import type { Store } from "../../store/admin/store.ts";
import { checkBatchCounts, closeBatch, openBatch } from "../../operator/actions/batches.ts";
import { BATCH_COLUMNS, batchJson, batchLines, whyNotEnded } from "../../text/batches.ts";
import { closestWord } from "../../job/suggest.ts";
import { actHere } from "../shared/act.ts";
import { cancelAndPrint, retryAndPrint } from "../shared/cancel_batch.ts";
import { clientOf, type CommandClient, pushDefinition, readDefinition } from "../shared/client.ts";
import { withStore } from "../shared/store.ts";
import { traced } from "../shared/tracing.ts";
import { COMMON_FLAGS, parseCommand } from "../terminal/args.ts";
import { NotFoundError, UsageError } from "../terminal/errors.ts";
import { print, printJson } from "../terminal/output.ts";
import { printList } from "../terminal/table.ts";

/** The text of `--help`. */
export const help = `
Usage: jobs batch open [FILE|-]
       jobs batch list [-n 25]
       jobs batch close|show|cancel|retry|check ID

open opens a batch and prints its ID. FILE is a JSON object with name, tags, the
jobs to push (success, complete, death, abandoned), closeWithin (1d), keepFor
(7d) and parent; - is stdin. jobs push --batch ID adds jobs. After close, only
members add jobs, and the callbacks follow when all have ended. list shows the
latest batches first, show one: members by state, callbacks. cancel closes a
batch and cancels its members. retry enqueues its dead members again. check
counts its members in the store, and corrects its counters if another program
removed some. On Redis, cancel, retry and check look through all jobs.

      --strict           with open, reject a class that no worker has registered
  -n, --limit N          list this many (25)

Examples
  echo '{"success": {"class": "Notify", "args": [42]}}' | jobs batch open -
  jobs batch close 1a203f735340c7e1a8800001
  jobs batch show 1a203f735340c7e1a8800001
  jobs batch retry 1a203f735340c7e1a8800001 --json`;

type Verb = (store: Store, id: string, json: boolean) => Promise<void>;

/** Commands that need the ID of a batch. */
const VERBS: Readonly<Record<string, Verb>> = { close, show, cancel, retry, check };
const NAMES = ["open", "list", ...Object.keys(VERBS)];

/** Runs the subcommand. */
export function run(argv: readonly string[]): Promise<number> {
  return traced(async (tracing) => {
    const { flags, args } = parseCommand("batch", argv, {
      ...COMMON_FLAGS,
      strict: { takes: "switch" },
      limit: { takes: "text", short: "n" },
    }, "open|close|list|show|cancel|retry|check [FILE|ID]");
    const [verb = "", target] = args;
    checkVerb(verb, target);
    const limit = Number(flags.limit ?? 25);
    if (!Number.isSafeInteger(limit) || limit < 1 || limit > 10_000) {
      throw new UsageError(`Invalid --limit "${flags.limit}": expected a whole number from 1 to 10000`);
    }
    // Read before the store is opened: a wrong file must not wait for Redis.
    const text = verb === "open" && target !== undefined ? await readDefinition(target) : "{}";
    await withStore(flags, async (store, settings) => {
      if (verb === "open") await open(store, text, flags.json, { settings, tracing, strict: flags.strict });
      else if (verb === "list") await list(store, limit, flags.json);
      else await VERBS[verb]!(store, target!, flags.json);
    }, { make: verb === "open" ? "always" : "never" });
    return 0;
  });
}

function checkVerb(verb: string, target: string | undefined): void {
  if (!NAMES.includes(verb)) {
    const meant = verb === "ls" ? "list" : closestWord(verb, NAMES);
    throw new UsageError(
      `Unknown command "batch ${verb}"; ${meant ? `did you mean jobs batch ${meant}?` : "see jobs batch --help"}`,
    );
  }
  if (verb === "list" && target !== undefined) {
    throw new UsageError(`Unexpected argument "${target}". Usage: jobs batch list`);
  }
  if (verb in VERBS && target === undefined) {
    throw new UsageError(`Missing argument: ID. Usage: jobs batch ${verb} ID`);
  }
}

async function open(store: Store, text: string, json: boolean, command: CommandClient): Promise<void> {
  const client = clientOf(store, command, "so its callback waits until one does");
  const { id } = await pushDefinition("batch", store, openBatch, { document: text }, client);
  if (json) printJson({ id });
  else print(id);
}

async function close(store: Store, id: string, json: boolean): Promise<void> {
  const { flow } = found((await store.batches.read({ ids: [id] })).batches[0], id);
  if (flow) throw new UsageError(`"${id}" is a flow, not a batch: it closes when all its nodes are stored`);
  const { alreadyClosed } = await actHere(store, closeBatch, { id });
  const done = !alreadyClosed;
  if (json) printJson({ closed: id, done });
  else print(done ? `Closed batch ${id}` : `Batch ${id} was closed already`);
}

async function list(store: Store, limit: number, json: boolean): Promise<void> {
  const { batches } = await store.batches.read({ limit });
  if (json) return printJson({ batches: batches.map(batchJson) });
  printList(BATCH_COLUMNS, batches, "No batches; open one with jobs batch open, or client.batch(…)");
}

async function show(store: Store, id: string, json: boolean): Promise<void> {
  const batch = found((await store.batches.read({ ids: [id] })).batches[0], id);
  const now = systemClock.now();
  if (json) return printJson({ ...batchJson(batch), why: whyNotEnded(batch, now) });
  for (const line of batchLines(batch, now)) print(line);
}

async function cancel(store: Store, id: string, json: boolean): Promise<void> {
  await cancelAndPrint(store, found((await store.batches.read({ ids: [id] })).batches[0], id), {
    json,
    field: "members",
  });
}

async function retry(store: Store, id: string, json: boolean): Promise<void> {
  await retryAndPrint(store, found((await store.batches.read({ ids: [id] })).batches[0], id), json);
}

async function check(store: Store, id: string, json: boolean): Promise<void> {
  found((await store.batches.read({ ids: [id] })).batches[0], id);
  const { result, before, pending, dead } = await actHere(store, checkBatchCounts, { id });
  if (json) return printJson({ result, pending, dead, before });
  const counts = `${pending} pending, ${dead} dead`;
  print(
    result === "right"
      ? `Batch ${id} is correct: ${counts}`
      : result === "corrected"
      ? `Corrected batch ${id}: ${counts}; it counted ${before.pending} pending, ${before.dead} dead`
      : `Batch ${id} kept changing: nothing corrected; run this again when fewer of its jobs end or move`,
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
