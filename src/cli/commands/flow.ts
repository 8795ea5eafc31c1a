/** `jobs flow push|list|show|cancel|retry`; `flow_results.ts` has `results`. @module */
import { systemClock } from "../../clock.ts";
import type { Store } from "../../store/admin/store.ts";
import { pushFlow } from "../../operator/actions/batches.ts";
import { nodeStates } from "../../store/ops/flows.ts";
import type { Batch } from "../../store/port/batches.ts";
import type { FlowNode } from "../../store/port/flows.ts";
import { BATCH_COLUMNS, batchLines, whyNotEnded } from "../../text/batches.ts";
import { flowJson, NODE_COLUMNS, nodeJson } from "../../text/flows.ts";
import { closestWord } from "../../job/suggest.ts";
import { queueReasons } from "../../text/why_waiting.ts";
import { cancelAndPrint, retryAndPrint } from "../shared/cancel_batch.ts";
import { clientOf, type CommandClient, pushDefinition, readDefinition } from "../shared/client.ts";
import { afterPush, warnIfBlocked } from "../shared/blocked_warning.ts";
import { report } from "../shared/report.ts";
import { withStore } from "../shared/store.ts";
import { traced } from "../shared/tracing.ts";
import { COMMON_FLAGS, parseCommand, splitCommand } from "../terminal/args.ts";
import { NotFoundError, UsageError } from "../terminal/errors.ts";
import { print, printJson } from "../terminal/output.ts";
import { printList } from "../terminal/table.ts";

/** The text of `--help`. */
export const help = `
Usage: jobs flow push FILE|-
       jobs flow list [-n 25]
       jobs flow show|cancel|retry ID
       jobs flow results [NODE …]

Pushes a flow, which is jobs that run after each other, or lists, shows, cancels
or retries flows. FILE is a JSON object with name and nodes (- is stdin). A node
has class, args, the options of a job, the nodes before it (after), and what
happens to the nodes after it if it fails (onDead: stop, continue or cancel).
push checks the whole flow before it stores anything, and prints its ID. retry
enqueues its dead nodes again. On Redis, cancel and retry look through all jobs.

results is for a program that performs a node: it prints the results of earlier
nodes as a JSON object, by default of those directly before it. Exit 1 if its
job isn't a node of a flow.

      --id TEXT          with push, push a flow with this ID once: a later push
                         completes or returns the first one
      --within DURATION  how long the ID is remembered (1d)
      --strict           with push, reject a class that no worker has registered
  -n, --limit N          list this many flows, or show this many nodes (25, 100)

Examples
  jobs flow push nightly.json
  echo '{"name": "two", "nodes": {
    "a": {"class": "Extract", "args": []},
    "b": {"class": "Load", "args": [], "after": ["a"]}}}' | jobs flow push -
  jobs flow show 1a203f735340c7e1a8800001`;

/** The classes and queues of this many nodes are compared with the workers after a push. */
const MAX_REMARKED = 1_000;
/** `show` gives at most this many reasons why nodes don't run. */
const MAX_REASONS = 5;

const VERBS = ["push", "list", "show", "cancel", "retry", "results"];

/** Flags of the subcommands. */
interface Flags {
  readonly json: boolean;
  readonly limit: number | undefined;
}

/** Runs the subcommand. */
export async function run(argv: readonly string[]): Promise<number> {
  const { name, rest } = splitCommand(argv);
  if (name === "results") return await (await import("./flow_results.ts")).results(rest);
  return await operate(argv);
}

function operate(argv: readonly string[]): Promise<number> {
  return traced(async (tracing) => {
    const { flags, args } = parseCommand("flow", argv, {
      ...COMMON_FLAGS,
      id: { takes: "text" },
      within: { takes: "text" },
      strict: { takes: "switch" },
      limit: { takes: "text", short: "n" },
    }, "push|list|show|cancel|retry [FILE|ID]");
    const [verb = "", target] = args;
    checkVerb(verb, target);
    const { id, within } = flags;
    if (verb !== "push" && (id ?? within) !== undefined) {
      throw new UsageError(`Unexpected --${id === undefined ? "within" : "id"}: only jobs flow push has it`);
    }
    const limit = limitOf(flags.limit);
    const given = { json: flags.json, limit };
    // Read before the store is opened: a wrong file must not wait for Redis.
    const text = verb === "push" ? await readDefinition(target!) : "";
    await withStore(flags, async (store, settings) => {
      if (verb === "push") await push(store, text, flags, { settings, tracing, strict: flags.strict });
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

interface PushFlags {
  readonly json: boolean;
  readonly id: string | undefined;
  readonly within: string | undefined;
}

async function push(
  store: Store,
  text: string,
  { json, id: key, within }: PushFlags,
  command: CommandClient,
): Promise<void> {
  const client = clientOf(store, command, "so its jobs wait until one does");
  const document = { document: text, ...(key !== undefined && { id: key }), ...(within !== undefined && { within }) };
  const { id, jids } = await pushDefinition("flow", store, pushFlow, document, client);
  const nodes = Object.entries(jids).map(([name, jid]) => ({ name, jid }));
  const warn = async () => {
    const { nodes } = await store.flows.nodes(id, { limit: MAX_REMARKED });
    await warnIfBlocked(store, nodes);
  };
  await report(() => json ? printJson({ id, nodes }) : print(id), () => afterPush(warn));
}

async function list(store: Store, { json, limit = 25 }: Flags): Promise<void> {
  const { batches } = await store.batches.read({ limit, flows: true });
  if (json) return printJson({ flows: batches.map(flowJson) });
  printList(BATCH_COLUMNS, batches, "No flows; push one with jobs flow push FILE");
}

async function show(store: Store, id: string, { json, limit = 100 }: Flags): Promise<void> {
  const flow = await find(store, id);
  const { nodes, next } = await store.flows.nodes(id, { limit });
  const states = await nodeStates(store, nodes);
  const stateOf = (node: FlowNode) => states.get(node.name)!;
  const now = systemClock.now();
  const why = await reasonsOf(store, nodes.filter((node) => stateOf(node) === "queued"), now);
  if (json) {
    return printJson({
      ...flowJson(flow),
      why: [...whyNotEnded(flow, now), ...why],
      nodes: nodes.map((node) => nodeJson(node, stateOf(node))),
    });
  }
  for (const line of batchLines(flow, now)) print(line);
  for (const reason of why) print(`${"why".padEnd(10)} ${reason}`);
  print("");
  printList(NODE_COLUMNS, nodes.map((node) => ({ node, state: stateOf(node) })), "No nodes");
  if (next !== undefined) print(`${flow.total - nodes.length} more nodes; show them with -n`);
}

/** Returns the reasons why queued nodes don't run, each once. */
async function reasonsOf(store: Store, nodes: readonly FlowNode[], now: number): Promise<string[]> {
  if (nodes.length === 0) return [];
  const [{ queues }, workers] = await Promise.all([store.admin.stats(), store.workers.list()]);
  const reasons = new Set(
    nodes.flatMap((node) => queueReasons(node.queue, node.class, false, { queues, workers, now })),
  );
  return [...reasons].slice(0, MAX_REASONS);
}

async function cancel(store: Store, id: string, { json }: Flags): Promise<void> {
  await cancelAndPrint(store, await find(store, id), { json, field: "nodes" });
}

async function retry(store: Store, id: string, { json }: Flags): Promise<void> {
  await retryAndPrint(store, await find(store, id), json);
}

async function find(store: Store, id: string): Promise<Batch> {
  const flow = (await store.batches.read({ ids: [id] })).batches[0];
  if (flow?.flow) return flow;
  if (flow !== undefined) throw new UsageError(`"${id}" is a batch, not a flow; see jobs batch show ${id}`);
  throw new NotFoundError(
    `Flow "${id}" not found: its record has expired, or it is in another store (jobs flow list)`,
  );
}
