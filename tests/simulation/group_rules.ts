/**
 * The rules of batches and flows: callbacks come once and last, nodes follow each other.
 *
 * @module
 */
import { getField } from "../../src/job/raw.ts";
import type { Lease } from "../../src/store/port/jobs.ts";
import { expected, type JobPlan } from "./jobs.ts";
import type { Model, Run } from "./model.ts";
import type { World } from "./world.ts";

/** A batch or a flow. */
export interface Group {
  readonly id: string;
  readonly kind: "batch" | "flow";
  readonly members: readonly JobPlan[];
  /** How many of them aren't of a batch within it; they come first. */
  readonly own: number;
  /** Its ID in the store, once its client knows it. */
  batch?: string;
  cancelledAt?: number;
  /** Of a flow: the positions of the members before each. */
  readonly after?: readonly { readonly before: readonly number[]; readonly onDead: "stop" | "continue" }[];
  /** Whether its client has sent its last request: its callbacks may come. */
  isClosing: boolean;
  /** Whether it was closed: its callbacks are promised. */
  isClosed: boolean;
}

export class GroupRules {
  readonly groups = new Map<string, Group>();
  /** When the jobs were last taken. On Redis it isn't known. */
  readonly #takenAt = new Map<string, number>();
  readonly #world: World;
  readonly #model: Model;

  constructor(world: World, model: Model) {
    this.#world = world;
    this.#model = model;
  }

  /** Checks a callback against its batch, and a node against those before it. */
  begins({ id, jid, machine }: Run, running: readonly Run[]): void {
    const [name, what] = id.split(" ");
    const group = this.groups.get(name!);
    if (group !== undefined && (what === "success" || what === "complete")) {
      if (!group.isClosing && !this.#model.touched.has(name!)) {
        this.#world.fail("callbacks come last", `${id} begins on ${machine.name} before its ${group.kind} is closed`);
      }
      const early = group.members.find((member) => !this.#mayHaveEnded(member, what, running));
      if (early) {
        this.#world.fail("callbacks come last", `${id} begins on ${machine.name} before ${early.id} has ended`);
      }
    }
    for (const group of this.groups.values()) {
      if (group.after) this.#checkNode(id, group);
      const isLate = this.#takenAt.get(jid)! > group.cancelledAt!;
      if (isLate && group.members.slice(0, group.own).some((member) => member.id === id)) {
        this.#world.fail("no member of a cancelled batch begins", `${id} of ${group.id} on ${machine.name}`);
      }
    }
  }

  taken(leases: readonly Lease[]): void {
    for (const { payload } of leases) this.#takenAt.set(String(getField(payload, "jid")), this.#world.time);
  }

  /** The store has cancelled a batch, its members not yet. */
  cancelled(batch: string): void {
    for (const group of this.groups.values()) if (group.batch === batch) group.cancelledAt ??= this.#world.time;
  }

  #mayHaveEnded({ id }: JobPlan, what: string, running: readonly Run[]): boolean {
    const { pushes, touched } = this.#model;
    if (running.some((run) => run.id === id)) return false;
    const push = pushes.get(id);
    if (push?.state !== "stored" || touched.has(id)) return true;
    const runs = this.#model.runsOf(id);
    const how = expected(push.plan);
    if (what === "success") return how === "succeed" && runs.some(({ how }) => how === "returned");
    // A job that ends otherwise has run at least once; that of a killed worker may be dead.
    return runs.length > 0;
  }

  #checkNode(id: string, { members, after }: Group): void {
    const position = members.findIndex((member) => member.id === id);
    if (position === -1) return;
    for (const before of after![position]!.before) {
      const first = members[before]!;
      const hasRun = this.#model.runsOf(first.id).some(({ how }) => how === "returned");
      const mayFail = after![before]!.onDead === "continue" || this.#model.touched.has(first.id);
      if (!hasRun && !mayFail) {
        this.#world.fail("nodes follow each other", `${id} begins before ${first.id} has succeeded`);
      }
    }
  }

  judge(): void {
    for (const group of this.groups.values()) this.#judge(group);
  }

  #judge({ id, kind, members, isClosed }: Group): void {
    const model = this.#model;
    const isTouched = model.touched.has(id) || members.some((member) => model.touched.has(member.id));
    if (!isClosed || isTouched) return;
    const ends = members.map(expected);
    for (const what of ["success", "complete"]) {
      const runs = model.runsOf(`${id} ${what}`);
      if (new Set(runs.map(({ jid }) => jid)).size > 1) {
        this.#world.fail("callbacks come once", `${what} of ${kind} ${id}`);
      }
      // A node that is dead holds those after it, and so the end of its flow.
      if (kind === "flow" && ends.some((end) => end !== "succeed")) continue;
      // A job whose worker or program is frozen may exceed its timeout.
      const mayTimeOut = model.hits > 0 && members.some(({ options }) => options["timeout"] !== undefined);
      const isDue = what === "complete" || !mayTimeOut && ends.every((end) => end === "succeed");
      if (isDue && !runs.some(({ how }) => how === "returned") && model.hits < 3) {
        this.#world.fail("callbacks come", `${what} of ${kind} ${id} never ran`);
      }
    }
  }
}
