/**
 * Random members, nodes and callbacks.
 *
 * @module
 */
import { BATCH_EVENTS, type BatchEvent } from "../../../src/job/batch.ts";
import type { OnDead } from "../../../src/job/flow.ts";
import type { Random } from "../../soak/random.ts";
import type { How, Member, Node } from "./model.ts";

const HOWS: readonly { readonly how: How; readonly weight: number }[] = [
  { how: "ok", weight: 6 },
  { how: "slow", weight: 6 },
  { how: "flaky", weight: 3 },
  { how: "snooze", weight: 1 },
  { how: "discard", weight: 1 },
  { how: "dead", weight: 1 },
  { how: "adder", weight: 2 },
];
const ON_DEAD: readonly OnDead[] = ["stop", "continue", "cancel"];
/** Needs several steps of the store, as each pushes up to 100 nodes. */
const LARGE = 150;

/** A member, and the number that its handler takes. */
export type RandomMember = Omit<Member, "jid"> & { readonly n: number };

/** Returns the events that have a callback. */
export function randomEvents(random: Random): BatchEvent[] {
  return BATCH_EVENTS.filter(() => random.chance(0.8));
}

/** Returns the behaviour of a job. */
export function randomMember(random: Random): RandomMember {
  const { how } = random.pick(HOWS);
  const n = how === "slow" ? random.between(5, 60) : random.between(1, 3);
  return { how, n, adds: how === "adder" ? n : 0 };
}

/** Returns the nodes of a flow: most flows are small, and most nodes of a large one follow its first. */
export function randomNodes(random: Random): (Omit<Node, "jid"> & { readonly n: number })[] {
  const count = random.chance(0.05) ? LARGE : random.between(1, 12);
  const nodes: (Omit<Node, "jid"> & { readonly n: number })[] = [];
  for (let i = 0; i < count; i++) {
    const { how, n } = randomMember(random);
    const name = `n${i}`;
    const after = count < LARGE ? nodes.filter(() => random.chance(2 / count)).map(({ name }) => name) : ["n0"];
    const onDead = ON_DEAD[random.between(0, 2)]!;
    nodes.push({ how: how === "adder" ? "ok" : how, n, adds: 0, name, onDead, after: i === 0 ? [] : after });
  }
  return nodes;
}
