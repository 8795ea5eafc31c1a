/**
 * The parts in which a flow's nodes go to the store.
 *
 * @module
 */
import type { NewNode } from "../store/port/flows.ts";

/** Nodes of one call to the store: this many, or as many as come to {@linkcode MAX_PART_CHARS}. */
const MAX_PART = 250;
const MAX_PART_CHARS = 1024 * 1024;

/** Splits nodes into parts that a store takes in one step. */
export function* nodeParts(nodes: readonly NewNode[]): Generator<readonly NewNode[]> {
  let part: NewNode[] = [];
  let chars = 0;
  for (const node of nodes) {
    const size = node.payload.length + 8 * (node.after.length + node.followers.length);
    if (part.length > 0 && (part.length >= MAX_PART || chars + size > MAX_PART_CHARS)) {
      yield part;
      [part, chars] = [[], 0];
    }
    part.push(node);
    chars += size;
  }
  if (part.length > 0) yield part;
}
