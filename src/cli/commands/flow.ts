/** `jobs flow push|list|show|cancel|retry`. @module */
import { Client } from "../../client/client.ts";
import { parseFlow } from "../../client/flow_text.ts";
import { systemClock } from "../../clock.ts";
import type { Settings } from "../../config/settings.ts";
import { InvalidPayload } from "../../job/errors.ts";
import type { Store } from "../../store/admin/store.ts";
import { retryBatch } from "../../store/ops/batches.ts";
import { cancelFlow, nodeStates } from "../../store/ops/flows.ts";
import type { Batch } from "../../store/port/batches.ts";
import type { FlowNode } from "../../store/port/flows.ts";
import { batchStateText } from "../../text/batches.ts";
import { flowJson, nodeJson, waitText } from "../../text/flows.ts";
import { closestWord } from "../../text/suggest.ts";
import { localTime } from "../../text/times.ts";
import { recordAudit } from "../shared/audit.ts";
import { BATCH_COLUMNS, batchRow } from "../shared/batch_rows.ts";
import { withStore } from "../shared/store.ts";
import { type ClientTracing, traced } from "../shared/tracing.ts";
import { COMMON_FLAGS, parseCommand } from "../terminal/args.ts";
import { NotFoundError, UsageError } from "../terminal/errors.ts";
import { print, printError, printJson } from "../terminal/output.ts";
import { type Column, printTable, STATE_COLORS } from "../terminal/table.ts";

/** The text of `--help`. */
export const help = `
Usage: jobs flow push FILE|-
       jobs flow list [-n 25]
       jobs flow show|cancel|retry ID

Pushes a flow, which is jobs that run after each other, or lists, shows, cancels
or retries flows. FILE is a JSON object with name and nodes (- is stdin). A node
has class, args, the options of a job, the nodes before it (after), and what
happens to the nodes after it if it fails (onDead: stop, continue or cancel).
push checks the whole flow before it stores anything, and prints its ID. retry
enqueues its dead nodes again. cancel and retry look through all jobs.

      --strict           with push, reject a class that no worker has registered
  -n, --limit N          list this many flows, or show this many nodes (25, 100)

Examples
  jobs flow push nightly.json
  echo '{"name": "two", "nodes": {
    "a": {"class": "Extract", "args": []},
    "b": {"class": "Load", "args": [], "after": ["a"]}}}' | jobs flow push -
  jobs flow show 1a203f735340c7e1a8800001`;

const VERBS = ["push", "list", "show", "cancel", "retry"];

/** Flags of the subcommands. */
interface Flags {
  readonly json: boolean;
  readonly limit: number | undefined;
  readonly strict: boolean;
}

/** Runs the subcommand. */
export function run(argv: readonly string[]): Promise<number> {
  return traced(async (tracing) => {
    const { flags, args } = parseCommand("flow", argv, {
      ...COMMON_FLAGS,
      strict: { takes: "switch" },
      limit: { takes: "text", short: "n" },
    }, "push|list|show|cancel|retry [FILE|ID]");
    const [verb = "", target] = args;
    checkVerb(verb, target);
    const limit = limitOf(flags.limit);
    const given = { json: flags.json, limit, strict: flags.strict };
    // Read before the store is opened: a wrong file must not wait for Redis.
    const text = verb === "push" ? await readText(target!) : "";
    await withStore(flags, async (store, settings) => {
      if (verb === "push") await push(store, text, given, { settings, tracing });
      else if (verb === "list") await list(store, given);
      else if (verb === "show") await show(store, target!, given);
      else if (verb === "cancel") await cancel(store, target!, given);
      else await retry(store, target!, given);
    }, { make: verb === "push" ? "always" : "never" });
    return 0;
  });
}

function checkVerb(verb: string, target: string | undefined): void {
  if (!VERBS.includes(verb)) {
    const meant = verb === "ls" ? "list" : closestWord(verb, VERBS);
    throw new UsageError(
      `Unknown command "flow ${verb}"; ${meant ? `did you mean jobs flow ${meant}?` : "see jobs flow --help"}`,
    );
  }
  if (verb === "list" && target !== undefined) {
    throw new UsageError(`Unexpected argument "${target}". Usage: jobs flow list`);
  }
  if (verb !== "list" && target === undefined) {
    const missing = verb === "push" ? "FILE" : "ID";
    throw new UsageError(`Missing argument: ${missing}. Usage: jobs flow ${verb} ${missing}`);
  }
}

function limitOf(text: unknown): number | undefined {
  if (text === undefined) return undefined;
  const limit = Number(text);
  if (Number.isSafeInteger(limit) && limit >= 1 && limit <= 10_000) return limit;
  throw new UsageError(`Invalid --limit "${text}": expected a whole number from 1 to 10000`);
}

async function readText(file: string): Promise<string> {
  if (file === "-") return await new Response(Deno.stdin.readable).text();
  try {
    return await Deno.readTextFile(file);
  } catch (error) {
    throw new UsageError(`Cannot read "${file}": ${(error as Error).message}`);
  }
}

async function push(
  store: Store,
  text: string,
  { json, strict }: Flags,
  { settings, tracing }: { readonly settings: Settings; readonly tracing: ClientTracing },
): Promise<void> {
  const { maxPayloadBytes, sidekiqWire } = settings;
  const onUnregistered = (name: string) =>
    printError(`jobs: No worker has registered the class "${name}"; its node waits until one does`);
  const client = new Client({ store, strict, maxPayloadBytes, sidekiqWire, onUnregistered, ...tracing });
  try {
    const { name, nodes, options } = parseFlow(text);
    const { id, jids } = await client.flow(name, nodes, options);
    if (json) printJson({ id, nodes: Object.entries(jids).map(([name, jid]) => ({ name, jid })) });
    else print(id);
  } catch (error) {
    if (error instanceof InvalidPayload) throw new UsageError(`Invalid flow: ${error.message}`);
    throw error;
  }
}

async function list(store: Store, { json, limit = 25 }: Flags): Promise<void> {
  const { batches } = await store.batches.page({ limit, flows: true });
  if (json) return printJson(batches.map(flowJson));
  const now = systemClock.now();
  printTable(BATCH_COLUMNS, batches.map((flow) => batchRow(flow, now)), "No flows; push one with jobs flow push FILE");
}

const NODE_COLUMNS: readonly Column[] = [
  "node",
  { heading: "state", colors: STATE_COLORS },
  "class",
  "after",
  "waits for",
  { heading: "jid", is: "whole" },
  { heading: "since", is: "optional" },
];

async function show(store: Store, id: string, { json, limit = 100 }: Flags): Promise<void> {
  const flow = await find(store, id);
  const { nodes, next } = await store.flows.nodes(id, { limit });
  const states = await nodeStates(store, nodes);
  const stateOf = (node: FlowNode) => states.get(node.name)!;
  if (json) return printJson({ ...flowJson(flow), nodes: nodes.map((node) => nodeJson(node, stateOf(node))) });
  const now = systemClock.now();
  for (const [label, text] of summary(flow, now)) if (text !== undefined) print(`${label.padEnd(10)} ${text}`);
  print("");
  printTable(
    NODE_COLUMNS,
    nodes.map((node) => [
      node.name,
      stateOf(node),
      node.class,
      node.after.length > 5 ? `${node.after.slice(0, 5).join(", ")} … (${node.after.length})` : node.after.join(", "),
      waitText(node) ?? "",
      node.jid,
      localTime(node.changedAt, now),
    ]),
    "No nodes",
  );
  if (next !== undefined) print(`${flow.total - nodes.length} more nodes; show them with -n`);
}

function summary(flow: Batch, now: number): (readonly [string, string | undefined])[] {
  const states = (["waiting", "dead", "succeeded", "failed", "cancelled", "expired", "deleted"] as const)
    .filter((state) => (flow[state] ?? 0) > 0).map((state) => `${flow[state]} ${state}`);
  return [
    ["id", flow.id],
    ["name", flow.name],
    ["state", `${flow.state}: ${batchStateText(flow)}`],
    ["nodes", `${flow.total}${states.length > 0 ? ` (${states.join(", ")})` : ""}`],
    ["tags", flow.tags.length > 0 ? flow.tags.join(", ") : undefined],
    ["batch", flow.parent],
    ["created", localTime(flow.createdAt, now)],
    ["completed", flow.completedAt === undefined ? undefined : localTime(flow.completedAt, now)],
    ...flow.callbacks.map(({ event, jid, class: className, pushedAt }) =>
      [
        event,
        `${className} ${pushedAt === undefined ? "not pushed" : `pushed ${localTime(pushedAt, now)}, job ${jid}`}`,
      ] as const
    ),
  ];
}

async function cancel(store: Store, id: string, { json }: Flags): Promise<void> {
  await find(store, id);
  const result = await cancelFlow(store, id, systemClock.now());
  if (result?.closedAs !== "cancelled") {
    throw new UsageError(
      `Can't cancel flow "${id}": it ${result?.closedAs === "closed" ? "has ended" : "never started"}`,
    );
  }
  const { cancelled } = await find(store, id);
  await recordAudit(store, { action: "flow cancel", target: `flow:${id}`, count: result.members });
  if (json) printJson({ cancelled: id, nodes: cancelled });
  else print(`Cancelled flow ${id}: ${nodes(cancelled)} cancelled`);
}

async function retry(store: Store, id: string, { json }: Flags): Promise<void> {
  await find(store, id);
  const count = await retryBatch(store, id);
  await recordAudit(store, { action: "flow retry", target: `flow:${id}`, count });
  if (json) printJson({ retried: count });
  else print(`Enqueued ${nodes(count)} again`);
}

async function find(store: Store, id: string): Promise<Batch> {
  const flow = await store.batches.get(id);
  if (flow?.flow) return flow;
  if (flow !== undefined) throw new UsageError(`"${id}" is a batch, not a flow; see jobs batch show ${id}`);
  throw new NotFoundError(
    `Flow "${id}" not found: its record has expired, or it is in another store (jobs flow list)`,
  );
}

function nodes(count: number): string {
  return count === 1 ? "1 node" : `${count} nodes`;
}
