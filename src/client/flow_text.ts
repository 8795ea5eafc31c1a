/**
 * A flow as JSON text: `jobs flow push FILE`, and the HTTP API.
 *
 * @module
 */
import { InvalidPayload } from "../job/errors.ts";
import { fieldTexts } from "../job/raw.ts";
import { callbackJobs } from "./batch_options.ts";
import type { FlowNodeInput, FlowNodes } from "./flow_graph.ts";
import type { FlowOptions } from "./flows.ts";
import { jobIn, objectIn, parseObject } from "./json_object.ts";

export interface FlowDefinition {
  readonly name: string;
  readonly nodes: FlowNodes;
  readonly options: FlowOptions;
}

/**
 * Parses a flow: an object with `name`, `nodes` and the options of a flow. Each node is a job with `class`, `args` and its
 * options, and has `after` and `onDead`.
 *
 * @throws {InvalidPayload} if it isn't such an object, or has two nodes of one name or an unknown field in a job
 */
export function parseFlow(text: string): FlowDefinition {
  const { name, nodes, ...options } = parseObject("flow", text, "an object with name and nodes");
  const repeated = repeatedName(fieldTexts(text)?.findLast(([field]) => field === "nodes")?.[1]);
  if (repeated !== undefined) throw new InvalidPayload(`nodes.${repeated}`, "two nodes", "one node of each name");
  const entries = Object.entries(objectIn("nodes", nodes)).map(([name, node]) => {
    const { after, onDead, ...job } = jobIn(`nodes.${name}`, node, ["after", "onDead"]);
    return [name, { job, ...(after !== undefined && { after }), ...(onDead !== undefined && { onDead }) }];
  });
  return {
    name: name as string,
    // An object without a prototype: "__proto__" is an ordinary name.
    nodes: Object.assign(Object.create(null), Object.fromEntries(entries)) as Record<string, FlowNodeInput>,
    options: callbackJobs(options) as FlowOptions,
  };
}

/** JSON.parse keeps the last of two fields with one name, without an error. */
function repeatedName(text: string | undefined): string | undefined {
  const seen = new Set<string>();
  for (const [name] of (text === undefined ? undefined : fieldTexts(text)) ?? []) {
    if (seen.has(name)) return name;
    seen.add(name);
  }
  return undefined;
}
