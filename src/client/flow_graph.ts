/**
 * The graph of a flow: checked as a whole before anything of it is stored.
 *
 * @module
 */
import { ON_DEAD, type OnDead } from "../job/flow.ts";
import type { JobClass } from "../job/definition.ts";
import { InvalidPayload } from "../job/errors.ts";
import type { JobOptions } from "../job/payload.ts";
import { expectedOption } from "../job/suggest.ts";
import type { JobInput } from "./options.ts";

/** A node of a flow: a job, and the nodes that run before it. */
export interface FlowNodeInput {
  /** The job: class, and perhaps arguments and options; or an object, as `client.push` accepts it. */
  readonly job:
    // deno-lint-ignore no-explicit-any -- a class with any arguments
    | readonly [definition: JobClass<any> | string, args?: readonly unknown[], options?: JobOptions]
    | JobInput;
  /** The names of the nodes that run before it. Default: none. */
  readonly after?: string | readonly string[];
  /** The effect of its failure on the nodes after it. Default `stop`. */
  readonly onDead?: OnDead;
  /** The delay once the nodes before it are done: seconds, or a duration. */
  readonly in?: number | string;
  /** The earliest time at which it runs. */
  readonly at?: Date | number | string;
}

/** The nodes of a flow, by name. */
export type FlowNodes = Readonly<Record<string, FlowNodeInput>>;

export interface GraphNode {
  readonly name: string;
  readonly job: JobInput;
  readonly after: readonly string[];
  readonly followers: readonly string[];
  readonly onDead: OnDead;
}

/** A flow has this many nodes at most. */
export const MAX_NODES = 10_000;
/** A flow has this many edges at most: names in `after`. */
const MAX_EDGES = 100_000;

const NODE_NAME = /^[A-Za-z0-9_.:/-]{1,100}$/;
const FIELDS: ReadonlySet<string> = new Set(["job", "after", "onDead", "in", "at"]);
/** Options of a job that its flow sets, or that mean nothing for a job that isn't pushed by itself. */
const NOT_OF_NODES = ["id", "within", "jid", "batch", "unique_for", "debounce", "throttle", "flow_node"] as const;

/**
 * Checks the graph and returns its nodes in the order of the definition.
 *
 * @throws {InvalidPayload} if a node is invalid, names an unknown one, or waits for itself, directly or through others
 */
export function checkGraph(nodes: FlowNodes): GraphNode[] {
  if (typeof nodes !== "object" || nodes === null || Array.isArray(nodes)) {
    throw new InvalidPayload("nodes", nodes, "an object: each name with its node");
  }
  const names = Object.keys(nodes);
  if (names.length === 0 || names.length > MAX_NODES) {
    throw new InvalidPayload("nodes", `${names.length} nodes`, `1 to ${MAX_NODES} nodes`);
  }
  const followers = new Map<string, string[]>(names.map((name) => [name, []]));
  let edges = 0;
  const checked = names.map((name): GraphNode => {
    if (!NODE_NAME.test(name)) {
      throw new InvalidPayload("nodes", name, "names of 1 to 100 letters, digits and _ . : / -");
    }
    const { job, after, onDead } = checkNode(name, nodes[name]!);
    for (const before of after) {
      const list = followers.get(before);
      if (list === undefined) throw new InvalidPayload(`nodes.${name}.after`, before, "the name of another node");
      list.push(name);
    }
    if ((edges += after.length) > MAX_EDGES) {
      throw new InvalidPayload("nodes", `more than ${MAX_EDGES} names in after`, `at most ${MAX_EDGES}`);
    }
    return { name, job, after, onDead, followers: followers.get(name)! };
  });
  refuseCycle(checked);
  return checked;
}

function checkNode(name: string, node: FlowNodeInput): Pick<GraphNode, "job" | "after" | "onDead"> {
  const path = `nodes.${name}`;
  if (typeof node !== "object" || node === null) throw new InvalidPayload(path, node, "an object with a job");
  for (const field of Object.keys(node)) {
    if (!FIELDS.has(field)) {
      throw new InvalidPayload(
        `${path}.${field}`,
        node[field as keyof FlowNodeInput],
        expectedOption(field, [...FIELDS]),
      );
    }
  }
  const { job, onDead = "stop", in: delay, at } = node;
  if (!ON_DEAD.includes(onDead)) throw new InvalidPayload(`${path}.onDead`, onDead, ON_DEAD.join(", "));
  const input = Array.isArray(job) ? { ...job[2], class: job[0], args: job[1] } : job as JobInput;
  if (typeof input !== "object" || input === null) {
    throw new InvalidPayload(`${path}.job`, input, "[class, arguments, options], or an object with class and args");
  }
  for (const field of NOT_OF_NODES) {
    if (input[field] !== undefined) {
      throw new InvalidPayload(`${path}.job.${field}`, input[field], "no such option on a node of a flow");
    }
  }
  return {
    job: { ...input, ...(delay !== undefined && { in: delay }), ...(at !== undefined && { at }) } as JobInput,
    after: namesIn(`${path}.after`, node.after),
    onDead,
  };
}

function namesIn(path: string, after: FlowNodeInput["after"]): readonly string[] {
  if (after === undefined) return [];
  const names = typeof after === "string" ? [after] : after;
  if (!Array.isArray(names)) throw new InvalidPayload(path, after, "the names of other nodes");
  const seen = new Set<string>();
  for (const name of names) {
    if (typeof name !== "string") throw new InvalidPayload(path, name, "the name of another node");
    if (seen.has(name)) throw new InvalidPayload(path, name, "each name once");
    seen.add(name);
  }
  return names;
}

/** Takes away nodes that wait for none, until none is left: those that stay wait for each other. */
function refuseCycle(nodes: readonly GraphNode[]): void {
  const byName = new Map(nodes.map((node) => [node.name, node]));
  const needs = new Map(nodes.map(({ name, after }) => [name, after.length]));
  const ready = nodes.filter(({ after }) => after.length === 0);
  for (const { name, followers } of ready) {
    needs.delete(name);
    for (const follower of followers) {
      const left = needs.get(follower)! - 1;
      needs.set(follower, left);
      if (left === 0) ready.push(byName.get(follower)!);
    }
  }
  const [start] = needs.keys();
  if (start === undefined) return;
  // Each node that stays waits for another one that does: a walk back comes to a node twice.
  const path: string[] = [];
  for (let name = start;;) {
    const seen = path.indexOf(name);
    if (seen >= 0) {
      const cycle = [...path.slice(seen), name].reverse();
      const shown = cycle.length > 8 ? [...cycle.slice(0, 7), `… (${cycle.length - 1} nodes)`] : cycle;
      throw new InvalidPayload(`nodes.${cycle[1]}.after`, shown.join(" → "), "no cycle");
    }
    path.push(name);
    name = byName.get(name)!.after.find((before) => needs.has(before))!;
  }
}
