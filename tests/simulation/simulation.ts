/**
 * One simulation: the acts of a plan, calm after them until everything has ended, an orderly stop, and the judgement.
 *
 * @module
 */
import { asForeign } from "./foreign.ts";
import { endCancelled } from "../../src/store/ops/migrate/refusals.ts";
import type { Store } from "../../src/store/admin/store.ts";
import { CANCELLED_WORKER } from "../../src/store/port/workers.ts";
import { HOOK } from "./hook_rules.ts";
import { GROUP_LIMIT, NARROW } from "./jobs.ts";
import type { Link } from "./link.ts";
import { migrate } from "./migration.ts";
import { Model } from "./model.ts";
import { Operator } from "./operator.ts";
import { Places, type Process, type Surroundings } from "./places.ts";
import { type Act, isTrouble, MAX_JUMP_MS, TROUBLE_MS, workMs } from "./plan.ts";
import { Producer } from "./producer.ts";

/** The limits are set within this time. */
const SETUP_MS = 60_000;
/** The workers start within this time. Acts begin after it. */
const START_MS = 500;
/** The last act has met the others by then. */
const CALL_MS = 1_000;
/** After the trouble, everything must have ended within this time: a flow whose push was interrupted is abandoned by then. */
const REST_MS = 20 * 60_000;
/** Jobs that were taken ahead wait for this long, about. */
const AHEAD_MS = 30;
/** The store is idle if it is so at this many looks in a row. */
const IDLE_LOOKS = 3;
const LOOK_MS = 1_000;
/** After the trouble, each job must end within this time, and that of all work before it. */
const JOB_MS = 6 * 60_000;
/** All workers must stop within this time. */
const STOP_MS = 60_000;

export class Simulation {
  readonly #in: Surroundings;
  readonly #places: Places;
  #client!: Process;
  #producer!: Producer;
  #operator!: Operator;
  #isMigrating = false;

  constructor(given: Omit<Surroundings, "model">) {
    this.#in = { ...given, model: new Model(given.world, given.plan, (jid) => given.ground.holder(jid)) };
    this.#places = new Places(this.#in);
  }

  /** @throws {Failure} */
  async play(): Promise<void> {
    const { world, ground, plan, model } = this.#in;
    world.check = async () => {
      for (const one of (await ground.look()).wrong) {
        if (!(model.isSplit && one.startsWith("limits"))) world.fail("the store doesn't contradict itself", one);
      }
    };
    await this.#prepare();
    await this.#connect();
    for (let of = 0; of < plan.workers; of++) {
      world.at(world.time + world.random.next() * START_MS, undefined, () => this.#places.start(of));
    }
    this.#places.remote?.start();
    const begin = world.time + START_MS;
    for (const act of plan.acts) world.at(begin + act.at, undefined, () => this.#begin(act));
    const end = Math.max(...plan.acts.map((act) => act.at + ("forMs" in act ? act.forMs : 0)));
    await this.#go(begin + Math.min(TROUBLE_MS, plan.cron.length > 0 ? TROUBLE_MS : end + CALL_MS), () => false);
    world.note("calm");
    this.#places.calm();
    this.#setClock(0);
    await this.#rest();
    const left = this.#places.stopAll();
    if (!await this.#go(world.time + STOP_MS, () => left() === 0)) {
      world.fail("a worker stops", `${left()} still run ${STOP_MS / 1_000} s after their stop`);
    }
    // A worker that waits no longer for a slow reply has ended.
    await this.#go(world.arrivedBy, () => false);
    await this.#endCancelled();
    if (model.streams.hasAny) await this.#within("reader", (store) => model.streams.judge(store));
    const { jobs } = await ground.look();
    const { left: remains, signals, records } = await ground.lookLast();
    const dead = new Set(jobs.filter(({ place }) => place === "dead").map(({ jid }) => jid));
    model.judge(dead);
    model.steps.judge(new Set(signals), dead);
    model.cron.judge(records, new Set(jobs.map(({ jid }) => jid)));
    for (const one of remains) {
      // The name of a worker that was killed stays for a week, unless its next worker has come. So does one whose release was undone.
      const mayStay = (this.#places.haveDead || model.isUndone) && one.startsWith("a name of a worker");
      if (!mayStay) world.fail("nothing is left over", one);
    }
    world.throwFailure();
  }

  async #prepare(): Promise<void> {
    const { world, model } = this.#in;
    const { store: { admin, webhooks } } = await this.#places.open("setup");
    // In bad weather a reply may take longer than the client waits.
    const configure = async (...args: Parameters<typeof admin.configure>): Promise<void> => {
      await admin.configure(...args).catch(() => configure(...args));
    };
    const declare = async (): Promise<void> => await webhooks.declare([HOOK]).catch(declare);
    let isReady = false;
    const ready = Promise.all([
      configure("narrow", { limit: { running: NARROW } }),
      configure("grouped", { limit: { running: GROUP_LIMIT }, eachGroup: true }),
      ...model.hooks ? [declare()] : [],
    ]).then(() => isReady = true);
    await world.until(() => isReady, SETUP_MS);
    await ready;
  }

  /** Starts the client and the operator. */
  async #connect(): Promise<void> {
    const { ground, model } = this.#in;
    this.#client = await this.#places.open("client");
    this.#producer = new Producer({ ...this.#client, store: asForeign(this.#client.store) }, model);
    this.#operator = new Operator(await this.#places.open("operator"), ground, model);
  }

  /** Waits until everything has ended. Cron continues: its jobs are over in seconds. */
  async #rest(): Promise<void> {
    const { world, ground, plan } = this.#in;
    const maxMs = JOB_MS + workMs(plan.acts);
    let idleLooks = 0;
    const since = new Map<string, number>();
    const look = async () => {
      const state = await ground.look();
      const jobs = state.jobs.filter(({ place, isCron }) => place !== "dead" && !isCron);
      // Nothing ends during a migration.
      if (this.#isMigrating) since.clear();
      for (const { jid, place } of jobs) {
        const first = since.getOrInsert(jid, world.time);
        if (world.time - first > maxMs) {
          world.fail("each job ends", `${jid} is ${place} for ${Math.round(maxMs / 60_000)} minutes`);
        }
      }
      const isQuiet = jobs.length === 0 && this.#producer.pending === 0 && !this.#isMigrating &&
        this.#places.areAwake && world.time > world.lateUntil;
      // A late take of a worker that was killed may have given it a run of cron.
      const holders = state.jobs.flatMap(({ worker }) => worker === CANCELLED_WORKER ? [] : worker ?? []);
      const isIdle = isQuiet && state.batches.every(({ isEnded }) => isEnded) &&
        this.#places.areAll([...state.workers, ...holders]);
      idleLooks = isIdle ? idleLooks + 1 : 0;
      if (idleLooks < IDLE_LOOKS) world.at(world.time + LOOK_MS, undefined, look);
    };
    world.at(world.time, undefined, look);
    if (await this.#go(world.time + REST_MS, () => idleLooks >= IDLE_LOOKS)) return;
    const state = await ground.look();
    const jobs = state.jobs.filter(({ place }) => place !== "dead");
    const batches = state.batches.filter(({ isEnded }) => !isEnded);
    world.fail("everything ends", `left after ${REST_MS / 60_000} minutes: ${JSON.stringify([...jobs, ...batches])}`);
    world.throwFailure();
  }

  /** Ends what the next rescue would end: the occurrences of cron that were cancelled, and that a worker returned as it stopped. */
  async #endCancelled(): Promise<void> {
    const { world, ground } = this.#in;
    if ((await ground.look()).jobs.every(({ worker }) => worker !== CANCELLED_WORKER)) return;
    await this.#within("rescuer", (store) => endCancelled(store, world.now));
  }

  /** Does something with the store, from a new process. */
  async #within(name: string, run: (store: Store) => Promise<unknown>): Promise<void> {
    const { store } = await this.#places.open(name);
    let isOver = false;
    const running = run(store).finally(() => isOver = true);
    await this.#go(this.#in.world.time + STOP_MS, () => isOver);
    await running;
  }

  #setClock(errorMs: number): void {
    this.#in.ground.clockError = errorMs;
    this.#in.model.starts.forget();
  }

  /** Performs events. Returns whether a condition held before a time. */
  async #go(time: number, isDone: () => boolean): Promise<boolean> {
    const { world } = this.#in;
    const hasHeld = await world.until(isDone, time);
    await world.check();
    world.throwFailure();
    return hasHeld;
  }

  /** The machine of the store fails. A store that is a file fails with its workers. */
  async #crash(lagMs: number, downMs: number): Promise<void> {
    const { world, model, ground } = this.#in;
    if (ground.failOver === undefined) {
      model.hit(undefined);
      for (const of of this.#places.all.keys()) this.#places.kill(of, downMs);
      return this.#places.remote?.trouble("kill server", downMs);
    }
    const end = () => {
      model.hit(undefined, downMs);
      this.#places.cutAll(downMs);
    };
    if (lagMs === 0) return await ground.restart!().then(end);
    const from = world.time;
    await ground.stopReplica!();
    world.at(from + lagMs, undefined, async () => {
      await ground.failOver!();
      model.undone(from);
      end();
    });
  }

  #linkOf(of: number | "client" | "operator" | "program"): Link | undefined {
    if (typeof of === "number") {
      const links = this.#places.linksOf(of);
      return links.length > 1 ? this.#in.world.random.pick(links) : links[0];
    }
    return { client: this.#client.link, operator: this.#operator.link, program: this.#places.remote?.link }[of];
  }

  /** Begins an act. Its calls to the store take their time. */
  async #begin(act: Act): Promise<void> {
    const { world, model, ground } = this.#in;
    const places = this.#places;
    const later = (ms: number, run: () => void) => void world.at(world.time + ms, undefined, run);
    if (this.#isMigrating) {
      if (!isTrouble(act)) later(1_000, () => this.#begin(act));
      return;
    }
    if (isTrouble(act)) world.note(`act ${JSON.stringify(act)}`);
    switch (act.do) {
      case "push":
        return void this.#producer.push(act.job);
      case "bulk":
        return void this.#producer.pushBulk(act.jobs);
      case "batch":
        return void this.#producer.pushBatch(act.id, act.jobs, act.inner);
      case "flow":
        return void this.#producer.pushFlow(act.id, act.nodes);
      case "steps":
        return void this.#producer.pushSteps(act.id, act.steps, act.expires);
      case "signal":
        return this.#operator.signal(act.key);
      case "kill":
        model.hit(places.at(act.of).machine);
        return places.kill(act.of, act.downMs);
      case "freeze": {
        const { machine } = places.at(act.of);
        const freeze = () => {
          model.hit(machine, act.forMs);
          machine.freeze();
          later(act.forMs, () => machine.thaw());
        };
        if (act.inTake) machine.onTake = freeze;
        else freeze();
        return;
      }
      case "block": {
        // That doesn't hit its jobs: the worker stays online, and those that haven't begun go to others.
        const { machine, launcher } = places.at(act.of);
        const block = () => {
          // No handler runs before the thread does.
          if (launcher === undefined) return;
          model.blocked.add(machine);
          machine.block();
          later(act.forMs, () => machine.unblock());
        };
        if (act.ahead) machine.onTake = () => later(world.random.next() * AHEAD_MS, block);
        else block();
        return;
      }
      case "call":
        return void this.#linkOf(act.of)?.faults.push(act.fault);
      case "remote":
        return places.remote?.trouble(act.how, act.forMs);
      case "cut": {
        model.hit(places.at(act.of).machine, act.forMs);
        for (const link of places.linksOf(act.of)) link.cut(world.time + act.forMs);
        return;
      }
      case "outage":
        model.hit(undefined, act.forMs);
        return places.cutAll(act.forMs);
      case "jump":
        model.hit(undefined, Math.abs(act.byMs));
        model.clocksJumped = true;
        for (const [of, { machine }] of places.all.entries()) {
          if (act.of === "all" || act.of === of) machine.clockError += act.byMs;
        }
        if (act.of === "all" || act.of === "store") {
          this.#setClock(Math.max(-MAX_JUMP_MS, Math.min(MAX_JUMP_MS, ground.clockError + act.byMs)));
        }
        return;
      case "migrate":
        if (ground.moveOn === undefined) return;
        this.#isMigrating = true;
        return void migrate(this.#in, places, {
          serves: act.serves,
          onDone: async () => {
            await this.#connect();
            this.#isMigrating = false;
          },
        });
      case "crash":
        return await this.#crash(act.lagMs, act.downMs);
      case "restart":
        return void places.restart(act.of);
      case "quiet": {
        const { machine, launcher } = places.at(act.of);
        model.hit(machine, act.forMs);
        void launcher?.quiet();
        return later(act.forMs, () => void launcher?.resume());
      }
      case "pause":
        return this.#operator.pause(act.queue, act.forMs);
      case "limit":
        return this.#operator.limit(act);
      case "edit":
        return places.meets(await this.#operator.edit(act.how, act.nth), act.mishap);
      case "edit batch":
        return await this.#operator.editBatch(act.how, act.nth);
      case "edit steps":
        return this.#operator.editSteps(act.how, act.nth);
    }
  }
}
