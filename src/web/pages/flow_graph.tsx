/**
 * The graph of a flow as an SVG: nodes in columns, each to the right of those that it waits for.
 *
 * @module
 */
import type { ShownState } from "../../store/ops/flows.ts";
import type { FlowNode } from "../../store/port/flows.ts";
import { link, type View } from "./view.tsx";

const WIDTH = 150;
const HEIGHT = 34;
const GAP_X = 60;
const GAP_Y = 14;
const MAX_LABEL_CHARS = 20;

interface Placed {
  readonly node: FlowNode;
  readonly x: number;
  readonly y: number;
}

/** The graph of these nodes; edges to other nodes are left out. */
export function FlowGraph({ view, nodes, states }: {
  readonly view: View;
  readonly nodes: readonly FlowNode[];
  readonly states: ReadonlyMap<string, ShownState>;
}) {
  const placed = place(nodes);
  const byName = new Map(placed.map((one) => [one.node.name, one]));
  const width = Math.max(...placed.map(({ x }) => x)) + WIDTH + 2;
  const height = Math.max(...placed.map(({ y }) => y)) + HEIGHT + 2;
  return (
    <div class="graph" id="graph" data-live tabindex={0} role="region" aria-label="Graph">
      <svg
        viewBox={`0 0 ${width} ${height}`}
        width={width}
        height={height}
        role="group"
        aria-label="Nodes and their order"
      >
        {placed.flatMap(({ node, x, y }) =>
          node.after.flatMap((before) => {
            const from = byName.get(before);
            if (from === undefined) return [];
            const [x1, y1, y2] = [from.x + WIDTH, from.y + HEIGHT / 2, y + HEIGHT / 2];
            const middle = (x1 + x) / 2;
            return [<path class="edge" d={`M${x1} ${y1}C${middle} ${y1} ${middle} ${y2} ${x} ${y2}`} />];
          })
        )}
        {placed.map(({ node, x, y }) => {
          const state = states.get(node.name) ?? "waiting";
          const label = node.name.length > MAX_LABEL_CHARS ? `${node.name.slice(0, MAX_LABEL_CHARS - 1)}…` : node.name;
          const shape = (
            <>
              <title>{`${node.name}: ${state}, ${node.class}`}</title>
              <rect class={`node ${state}`} x={x} y={y} width={WIDTH} height={HEIGHT} rx="6" />
              <text x={x + 10} y={y + HEIGHT / 2 + 4}>{label}</text>
            </>
          );
          // A waiting node has no page: it isn't in a queue yet.
          return node.state === "waiting"
            ? <g>{shape}</g>
            : <a href={link(view, `/jobs/${encodeURIComponent(node.jid)}`)}>{shape}</a>;
        })}
      </svg>
    </div>
  );
}

/** Places each node in the column after the last of those that it waits for. */
function place(nodes: readonly FlowNode[]): Placed[] {
  const byName = new Map(nodes.map((node) => [node.name, node]));
  const columns = new Map<string, number>();
  const followers = new Map<string, string[]>();
  const needs = new Map<string, number>();
  for (const { name, after } of nodes) {
    const known = after.filter((before) => byName.has(before));
    needs.set(name, known.length);
    for (const before of known) followers.set(before, [...followers.get(before) ?? [], name]);
  }
  const ready = nodes.filter(({ name }) => needs.get(name) === 0).map(({ name }) => name);
  for (const name of ready) {
    const column = columns.get(name) ?? 0;
    columns.set(name, column);
    for (const follower of followers.get(name) ?? []) {
      columns.set(follower, Math.max(columns.get(follower) ?? 0, column + 1));
      needs.set(follower, needs.get(follower)! - 1);
      if (needs.get(follower) === 0) ready.push(follower);
    }
  }
  const rows = new Map<number, number>();
  return nodes.map((node) => {
    const column = columns.get(node.name) ?? 0;
    const row = rows.get(column) ?? 0;
    rows.set(column, row + 1);
    return { node, x: 1 + column * (WIDTH + GAP_X), y: 1 + row * (HEIGHT + GAP_Y) };
  });
}
