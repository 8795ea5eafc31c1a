/**
 * The rules of webhooks: each end of a job, a batch or a flow is announced once, and nothing that did not happen is.
 *
 * @module
 */
import { JOB_ENDS, type Notice, type Subscription, WEBHOOK_EVENTS } from "../../src/job/webhook.ts";
import { expected } from "./jobs.ts";
import type { Model, Run } from "./model.ts";
import type { World } from "./world.ts";

/** The webhook of the plans that have one: it gets everything. */
export const HOOK: Subscription = { name: "hook", on: WEBHOOK_EVENTS.filter((event) => event !== "alert") };

export class HookRules {
  readonly #world: World;
  readonly #model: Model;
  readonly #notices = new Map<string, Notice>();
  #isOver = false;

  constructor(world: World, model: Model) {
    this.#world = world;
    this.#model = model;
  }

  /** A delivery runs, perhaps again. */
  delivered(notice: Notice): void {
    this.#notices.set(notice.id, notice);
  }

  /** The subscription is gone, in another store. */
  end(): void {
    this.#isOver = true;
  }

  /** @param dead the jids in the dead set */
  judge(dead: ReadonlySet<string>): void {
    const model = this.#model;
    if (this.#isOver) return;
    const ofJobs = this.#notices.values().filter(({ type }) => JOB_ENDS.some((end) => end === type));
    const byJid = Map.groupBy(ofJobs, ({ data }) => String(data["jid"]));
    const isTouched = (id: string, jid: string) => model.touched.has(id) || model.isTouchedJob(jid);
    // A push that replaces another has its jid.
    const runs = [...model.allRuns()];
    // A program whose server has died may report what its job returned after the timeout.
    const mayReturn = ({ how, machine }: Run) => how === "returned" || how === "aborted" && model.programs.has(machine);
    const returned = new Set(runs.filter(mayReturn).map(({ jid }) => jid));
    for (const { id, jid } of runs) {
      // An occurrence that the next one replaces may be ended by the simulation.
      if (isTouched(id, jid) || id.startsWith("tick ")) continue;
      this.#judge(
        jid,
        id,
        byJid.get(jid),
        (type) => type === "dead" ? dead.has(jid) : !dead.has(jid) && (type !== "succeeded" || returned.has(jid)),
      );
    }
    for (const [id, { plan, state, jid }] of model.pushes) {
      // The first expiry may have been undone.
      const mayExpire = plan.options["expires_in"] !== undefined && !model.isUndone;
      if (state !== "stored" || !mayExpire || isTouched(id, jid!) || model.runsOf(id).length > 0) continue;
      this.#judge(jid!, id, byJid.get(jid!), (type) => type === "expired");
    }
    for (const { id, kind, batch, isClosed, members } of model.groups.groups.values()) {
      // A node that is dead holds those after it, and so the end of its flow.
      if (kind === "flow" && members.some((member) => expected(member) !== "succeed")) continue;
      if (!isClosed || [id, ...members.map(({ id }) => id)].some((one) => model.touched.has(one))) continue;
      const type = kind === "flow" ? "flow.ended" : "batch.complete";
      const notices = this.#notices.values().filter((one) => one.type === type && one.data["id"] === batch);
      this.#judge(batch!, id, [...notices], () => true);
    }
  }

  #judge(
    what: string,
    id: string,
    notices: readonly Notice[] | undefined,
    mayBe: (type: Notice["type"]) => boolean,
  ): void {
    if (notices?.length === 1 && mayBe(notices[0]!.type)) return;
    const got = notices?.map(({ id, type }) => `${type} (${id})`).join(", ") || "nothing";
    this.#world.fail("an end is announced once", `${id} (${what}): ${got}`);
  }
}
