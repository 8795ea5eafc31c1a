/**
 * No verb decides on a row that it has only read, and then writes: another transaction may change the row in between. A verb holds such rows
 * before it reads them, or locks a name that all writers of the table lock, or has its reason in the lists here.
 *
 * @module
 */
import { assertEquals } from "@std/assert";
import enqueueText from "../../src/store/postgres/enqueue.sql" with { type: "text" };
import functionsText from "../../src/store/postgres/functions.sql" with { type: "text" };
import schemaText from "../../src/store/postgres/schema.sql" with { type: "text" };
import { startPostgres } from "../support/postgres.ts";
import { Explorer, type Sent } from "./explorer.ts";
import { VERBS } from "./verbs.ts";

/** The tables, and the views through which bodies write. */
const TABLES = new Set([
  ...Array.from(schemaText.matchAll(/CREATE (?:UNLOGGED )?TABLE (\w+)/g), ([, name]) => name!),
  "queue",
]);

/** The names that guard a table: each transaction that decides by its rows has locked one of them. */
const GUARDS: Readonly<Record<string, readonly string[]>> = {
  cron: ["cron"],
  departure: ["departure"],
  event: ["events"],
  // Only a spread changes nodes that wait.
  flow_node: ["flows"],
  given_up: ["take"],
  group_limit: ["queue"],
  log: ["cron", "log"],
  queue: ["queue"],
  signal: ["signal"],
  start: ["queue"],
  step_wait: ["signal", "sleep"],
  stream: ["stream"],
  throttled: ["throttle"],
  unique_lock: ["unique"],
  worker: ["worker"],
  worker_name: ["name"],
};

/** The rows that guard those of a table. The payload of a job changes only under its place or its lease. */
const GUARDING_ROWS: Readonly<Record<string, readonly string[]>> = { job: ["queued", "member", "lease"] };

/** Plain reads before a write that need no guard, by table and the begin of the statement or the name of the function: the reason. */
const EXCEPTIONS: Readonly<Record<string, string>> = {
  "batch: SELECT id FROM batch WHERE due <= $1 ORDER BY due LIMIT $2": "each one is held, and read again",
  "batch: SELECT closed_as FROM batch WHERE id = $1": "a flow is closed under the name of all flows",
  "batch: SELECT flow FROM batch WHERE id = $1": "whether it is a flow doesn't change",
  "cron: SELECT max(name) AS name FROM (SELECT name FROM cron WHERE name > $1 ORDER BY name LIMIT $":
    "the number of entries of a step, not their content",
  "flow_node: SELECT * FROM flow_node WHERE flow = $1 AND name = $2": "the job of a node has one end at a time",
  "job: SELECT job.id, jid, payload, place, NULL AS queue, member.at, NULL AS worker FROM member C":
    "the entries are held, and read again",
  "member: SELECT job.id, jid, payload, place, NULL AS queue, member.at, NULL AS worker FROM member C":
    "the entries are held, and read again",
  "lease: SELECT id, heartbeat_at, ttl, CASE WHEN EXISTS (SELECT 1 FROM lease WHERE worker_id = (SEL":
    "the leases of a worker are held, and read again",
  "lease: SELECT job, lease.queue, lease.at, name AS name, parent FROM lease CROSS JOIN queue WHERE ":
    "a lease that is held afterwards had this queue and time",
  "queue: SELECT job, lease.queue, lease.at, name AS name, parent FROM lease CROSS JOIN queue WHERE ":
    "a lease that is held afterwards had this queue and time",
  "member: SELECT job FROM member WHERE place = 'dead' AND at < $1 ORDER BY at, job LIMIT $2":
    "expired ones stay so; the DELETE returns those that it drops",
  "queue: SELECT worker_number($1) AS number FROM (SELECT 1) AS one WHERE NOT EXISTS (SELECT 1 FROM ":
    "a pause of all queues counts from the next take on",
  "job: UPDATE member SET at = CASE WHEN at < $1 THEN at ELSE $1 END WHERE place = 'scheduled' AND":
    "the jid of a job doesn't change; its sleep is locked",
  "batch: SELECT 1 FROM batch WHERE id = $1": "the name of a new batch is locked",
  "event: number_events": "looks again under its lock",
  "debounce: put_off": "the name of the key is locked, and the UPDATE of the member looks again",
  "lease_worker: worker_number": "a shared lock for it, and an exclusive one for deletions",
  "once_key: enqueue_checked": "the name of the key is locked; the upsert decides",
  "once_key: sweep_keys": "expired ones, whose DELETE looks again; rows that others hold are skipped",
  "queue_row: fold_groups": "the caller has the name of the queue",
};

/** Returns the tables that a statement reads without a lock, holds, and writes. */
function tablesIn(text: string): Record<"reads" | "holds" | "writes", string[]> {
  const plain = text.replace(/\bjobs\./g, "").replace(/--.*$/gm, "").replace(/\'(?:[^\']|\'\')*\'/g, "''");
  const find = (pattern: RegExp) =>
    Array.from(plain.matchAll(pattern), ([, name]) => name!).filter((name) => TABLES.has(name));
  const writes = find(/\b(?:INSERT INTO|UPDATE|DELETE FROM) (\w+)/g);
  const read = find(/(?<!DELETE )\b(?:FROM|JOIN) (\w+)/g);
  const isHeld = /\bFOR (?:NO KEY UPDATE|UPDATE|KEY SHARE|SHARE)\b/.test(plain);
  // The rows of an UPDATE or DELETE itself are locked.
  return isHeld ? { reads: [], holds: read, writes } : { reads: read, holds: [], writes };
}

/** Returns the reads of statements in order that a later one writes, unless they are guarded. */
function unguarded(
  statements: readonly { readonly text: string; readonly names: readonly string[] }[],
  where?: string,
): string[] {
  const found: string[] = [];
  const held = new Set<string>();
  const names = new Set<string>();
  for (const [i, { text, names: locked }] of statements.entries()) {
    for (const name of locked) names.add(name.replace(/:.*/s, ""));
    const { reads, holds, writes } = tablesIn(text);
    for (const table of reads) {
      const isWritten = statements.slice(i).some((later) => tablesIn(later.text).writes.includes(table));
      const isGuarded = held.has(table) || (GUARDS[table] ?? []).some((name) => names.has(name)) ||
        (GUARDING_ROWS[table] ?? []).some((other) => held.has(other));
      if (isWritten && !isGuarded) {
        found.push(`${table}: ${where ?? text.replace(/\bjobs\./g, "").replace(/\s+/g, " ").slice(0, 90)}`);
      }
    }
    for (const table of [...holds, ...writes]) held.add(table);
  }
  return found;
}

function namesIn({ text, values }: Sent): string[] {
  return text.includes("lock_names(")
    ? Array.from(String(values[0]).matchAll(/"((?:[^"\\]|\\.)*)"/g), ([, name]) => name!)
    : [];
}

Deno.test("no verb writes what it has read without a lock", async () => {
  await using postgres = await startPostgres();
  await using explorer = await Explorer.open(postgres);
  const found = new Set<string>();
  for (const verb of Object.keys(VERBS)) {
    const { transactions } = await explorer.touched(verb);
    for (const sent of transactions) {
      for (const line of unguarded(sent.map((one) => ({ text: one.text, names: namesIn(one) })))) found.add(line);
    }
  }
  assertEquals([...found].filter((line) => !(line in EXCEPTIONS)).sort(), []);
});

Deno.test("no function of the schema writes what it has read without a lock", () => {
  const found = new Set<string>();
  for (
    const [, name, body] of `${functionsText}${enqueueText}`.matchAll(/FUNCTION (\w+)\([\s\S]*?\$\$([\s\S]*?)\$\$/g)
  ) {
    const statements = body!.split(";").map((text) => ({
      text,
      names: Array.from(text.matchAll(/lock_number\('(\w+)/g), ([, name]) => name!),
    }));
    for (const line of unguarded(statements, name)) found.add(line);
  }
  assertEquals([...found].filter((line) => !(line in EXCEPTIONS)).sort(), []);
});
