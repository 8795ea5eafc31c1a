/**
 * A random program of batches and flows on real workers, which are killed, frozen and cut off while it runs. At quiet points,
 * when no job is left to run, the store must be as the model has it.
 *
 * @module
 */
import { Client } from "../../../src/client/client.ts";
import type { BatchEvent } from "../../../src/job/batch.ts";
import { nodeJid } from "../../../src/job/flow.ts";
import { parsePayload } from "../../../src/job/job.ts";
import { getField } from "../../../src/job/raw.ts";
import { outcomeOf } from "../../../src/store/ops/outcome.ts";
import type { Entry, Place } from "../../../src/store/port/entries.ts";
import type { Store } from "../../../src/store/admin/store.ts";
import { cancelBatch, retryBatch } from "../../../src/store/ops/batches.ts";
import { cancelJob } from "../../../src/store/ops/cancel.ts";
import { Random } from "../../soak/random.ts";
import { entries, jid as jidOf, workerRecord } from "../../store_contract/jobs.ts";
import { until } from "../../support/eventually.ts";
import { checkBatches } from "./check.ts";
import { type Member, type ModelBatch, type Node, nodeStates } from "./model.ts";
import { randomEvents, randomMember, randomNodes } from "./random_jobs.ts";

/** The queue of callbacks, which only the program takes from: it counts how often each is pushed. */
const CALLBACKS = "callbacks";
const OWNER = "program:1:aaaaaaaaaaaa";
const DAY_MS = 86_400_000;
/** A quiet point is reached within this time, also on a machine that does much else. */
const QUIET_WITHIN_MS = 300_000;
/** A program. */
export class Program {
  readonly batches: ModelBatch[] = [];
  readonly #store: Store;
  readonly #client: Client;
  readonly #folder: string;
  readonly #random: Random;
  readonly #callbacks: string[] = [];
  #jobs = 0;

  /** @param folder the folder of the handlers' notes */
  constructor(store: Store, folder: string, seed: number) {
    this.#store = store;
    this.#folder = folder;
    this.#random = new Random(seed);
    this.#client = new Client({ store, onUnregistered: () => {} });
  }

  /** Registers the program as the worker of callbacks. */
  async start(): Promise<void> {
    await this.#store.workers.heartbeat(workerRecord(OWNER, { queues: [CALLBACKS] }), DAY_MS);
  }

  /** Does one random thing. */
  async step(): Promise<void> {
    const { run } = this.#random.pick([
      { weight: 3, run: () => this.#open() },
      { weight: 8, run: () => this.#add() },
      { weight: 3, run: () => this.#close() },
      { weight: 3, run: () => this.#pushFlow() },
      { weight: 0.3, run: () => this.#cancel() },
      { weight: 4, run: () => this.#edit() },
      { weight: 1, run: () => this.#cancelOne() },
    ]);
    await run();
  }

  /** Waits until no job is left to run, and compares the store with the model. */
  async quiet(): Promise<void> {
    const start = performance.now();
    for (let calm = 0; calm < 2;) {
      await until(
        () => this.#isIdle(),
        async () => `all jobs end: ${JSON.stringify(await this.#store.admin.stats())}`,
        QUIET_WITHIN_MS,
      );
      const hasMore = (await this.#store.batches.tend(1_000, "nodes")).more;
      const pushed = await this.#takeCallbacks();
      // Jobs move in one step, so a second look finds what the first has set in motion.
      calm = hasMore || pushed > 0 ? 0 : calm + 1;
      if (performance.now() - start > QUIET_WITHIN_MS) throw new Error("The callbacks don't end");
    }
    const notes = (await Deno.readTextFile(`${this.#folder}/notes`)).split("\n");
    await checkBatches(this.#store, this.batches, { callbacks: this.#callbacks, notes });
  }

  /**
   * At a quiet point: deletes some dead members, and retries those of a share of the batches. A job that fails for good
   * succeeds from then on.
   */
  async mend(share: number): Promise<void> {
    for (const { ref, payload } of await entries(this.#store, { in: "dead" })) {
      const found = this.#find(String(getField(payload, "jid")));
      if (found === undefined || !this.#random.chance(0.1) || await this.#store.jobs.edit([ref], "delete") === 0) {
        continue;
      }
      this.#keepCancelled(found.batch);
      this.#force(found.batch, found.member, "deleted");
    }
    for (const batch of this.batches) {
      if (!this.#random.chance(share)) continue;
      this.#keepCancelled(batch);
      for (const member of batch.members.values()) {
        if (member.how === "dead" && !member.mended) {
          await Deno.writeTextFile(`${this.#folder}/mended-${member.jid}`, "");
          member.mended = true;
        }
        if (member.forced === "dead") delete member.forced;
      }
      await retryBatch(this.#store, batch.id);
    }
  }

  /** Nodes that are cancelled stay so, also when the node that caused it is retried. */
  #keepCancelled({ nodes, closedAs }: ModelBatch): void {
    if (nodes === undefined || closedAs === "cancelled") return;
    for (const [name, state] of nodeStates(nodes)) {
      if (state === "cancelled") nodes.get(name)!.forced = "cancelled";
    }
  }

  /** Closes all batches. */
  async closeAll(): Promise<void> {
    for (const batch of this.batches) if (batch.closedAs === undefined) await this.#closeOne(batch);
  }

  async #isIdle(): Promise<boolean> {
    const { queues, scheduled, retry, running } = await this.#store.admin.stats();
    return scheduled + retry + running === 0 && queues.every(({ name, size }) => name === CALLBACKS || size === 0);
  }

  /** Takes and acknowledges the callbacks that are queued. Returns how many. */
  async #takeCallbacks(): Promise<number> {
    const leases = await this.#store.jobs.take({ queues: [CALLBACKS], limit: 100, worker: OWNER });
    for (const { token, payload } of leases) {
      const job = parsePayload(payload)!;
      this.#callbacks.push(job.jid);
      const { lost } = await this.#store.jobs.settle(OWNER, [
        outcomeOf(token, job, { kind: "ack", as: "succeeded" }, {}),
      ]);
      if (lost.length > 0) throw new Error(`The lease is lost: ${payload}`);
    }
    return leases.length;
  }

  #callbackOptions(events: readonly BatchEvent[]) {
    return Object.fromEntries(events.map((event) => [event, { class: "Callback", args: [event], queue: CALLBACKS }]));
  }

  #pickOpen(): ModelBatch | undefined {
    const open = this.batches.filter(({ closedAs, nodes }) => closedAs === undefined && nodes === undefined);
    return open[this.#random.between(0, open.length - 1)];
  }

  #record(batch: ModelBatch): void {
    batch.parent?.children.push(batch);
    this.batches.push(batch);
  }

  async #open(): Promise<void> {
    const events = randomEvents(this.#random);
    const parent = this.#random.chance(0.3) ? this.#pickOpen() : undefined;
    const options = { name: "random", keepFor: "1d", ...(parent && { parent: parent.id }) };
    const { id } = await this.#client.batches.open({ ...options, ...this.#callbackOptions(events) });
    this.#record({ id, events, members: new Map(), children: [], due: new Set(), ...(parent && { parent }) });
  }

  async #add(): Promise<void> {
    const batch = this.#pickOpen();
    if (batch === undefined) return await this.#open();
    const jobs = Array.from({ length: this.#random.between(1, 12) }, () => {
      const { n, ...member } = randomMember(this.#random);
      const jid = jidOf(++this.#jobs);
      this.#addMember(batch, { ...member, jid });
      const later = this.#random.chance(0.3) ? { in: this.#random.between(1, 10) / 10 } : {};
      return { class: "Member", args: [member.how, this.#folder, n], jid, batch: batch.id, ...later };
    });
    for await (const { jid, refused } of this.#client.pushMany(jobs)) {
      if (jid === undefined) throw new Error(`refused: ${refused}`);
    }
  }

  #addMember({ members }: ModelBatch, member: Member): void {
    members.set(member.jid, member);
    for (let i = 1; i <= member.adds; i++) {
      const jid = `${member.jid}a${i}`;
      members.set(jid, { jid, how: "slow", adds: 0 });
    }
  }

  async #close(): Promise<void> {
    const batch = this.#pickOpen();
    if (batch !== undefined) await this.#closeOne(batch);
  }

  async #closeOne(batch: ModelBatch): Promise<void> {
    if (this.#random.chance(0.1)) {
      await this.#store.batches.close(batch.id, "abandoned");
      batch.closedAs = "abandoned";
      // Members may only be added to a closed batch, not to an abandoned one.
      for (const member of batch.members.values()) this.#doubtChildren(batch, member);
    } else {
      await this.#client.batches.close(batch.id);
      batch.closedAs = "closed";
    }
  }

  async #pushFlow(): Promise<void> {
    const events = randomEvents(this.#random).filter((event) => event !== "abandoned");
    const parent = this.#random.chance(0.2) ? this.#pickOpen() : undefined;
    const nodes = randomNodes(this.#random);
    const inputs = Object.fromEntries(nodes.map(({ name, how, n, after, onDead }) => {
      const later = this.#random.chance(0.2) ? { in: 0.2 } : {};
      return [name, { job: { class: "Member", args: [how, this.#folder, n], ...later }, after, onDead }];
    }));
    const { id } = await this.#client.flow("random", inputs, {
      ...{ keepFor: "1d", ...this.#callbackOptions(events) },
      ...(parent && { parent: parent.id }),
    });
    const all = nodes.map((node, i): Node => ({ ...node, jid: nodeJid(id, i + 1) }));
    this.#record({
      ...{ id, events, children: [], due: new Set(), closedAs: "closed", ...(parent && { parent }) },
      members: new Map(all.map((node) => [node.jid, node])),
      nodes: new Map(all.map((node) => [node.name, node])),
    });
  }

  async #cancel(): Promise<void> {
    const batch = this.batches[this.#random.between(0, this.batches.length - 1)];
    if (batch === undefined || batch.closedAs === "cancelled" || batch.closedAs === "abandoned") return;
    const result = await cancelBatch(this.#store, batch.id, Date.now());
    if (result?.closedAs !== "cancelled") return;
    batch.closedAs = "cancelled";
    for (const member of batch.members.values()) {
      member.isUncertain = true;
      this.#doubtChildren(batch, member);
    }
  }

  /** Returns a random job that waits, with its member. */
  async #waiting(): Promise<
    { readonly entry: Entry; readonly batch: ModelBatch; readonly member: Member } | undefined
  > {
    const places: Place[] = [{ in: "queue", queue: "default" }, { in: "scheduled" }, { in: "retry" }];
    const page = await this.#store.admin.page(places[this.#random.between(0, 2)]!, { limit: 50 });
    const entry = page.entries[this.#random.between(0, page.entries.length - 1)];
    const jid = entry && String(getField(entry.payload, "jid"));
    const found = jid === undefined ? undefined : this.#find(jid);
    return found && { entry: entry!, ...found };
  }

  #find(jid: string): { readonly batch: ModelBatch; readonly member: Member } | undefined {
    const batch = this.batches.find(({ members }) => members.has(jid));
    return batch && { batch, member: batch.members.get(jid)! };
  }

  /** Requeues, deletes or kills a job that waits. */
  async #edit(): Promise<void> {
    const found = await this.#waiting();
    if (found === undefined) return;
    const edit = (["requeue", "delete", "kill"] as const)[this.#random.between(0, 2)]!;
    if (await this.#store.jobs.edit([found.entry.ref], edit) === 0 || edit === "requeue") return;
    this.#force(found.batch, found.member, edit === "delete" ? "deleted" : "dead");
  }

  async #cancelOne(): Promise<void> {
    const found = await this.#waiting();
    // The model has no uncertain nodes: the states of all after them would be uncertain, too.
    if (found === undefined || found.batch.nodes !== undefined) return;
    const result = await cancelJob(this.#store, found.member.jid, Date.now());
    if (result === "removed") this.#force(found.batch, found.member, "cancelled");
    else if (result === "aborted") found.member.isUncertain = true;
    if (result !== "absent") this.#doubtChildren(found.batch, found.member);
  }

  #force(batch: ModelBatch, member: Member, forced: NonNullable<Member["forced"]>): void {
    member.forced = forced;
    member.wasEdited = true;
    this.#doubtChildren(batch, member);
  }

  /** The members that a member adds may be missing: it may have ended before, or never run. */
  #doubtChildren({ members }: ModelBatch, { jid, adds }: Member): void {
    for (let i = 1; i <= adds; i++) {
      const child = members.get(`${jid}a${i}`)!;
      child.mayBeMissing = true;
    }
  }
}
