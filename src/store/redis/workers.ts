/**
 * Processes: alive or not, what they do, and what is asked of them.
 *
 * @module
 */
import { systemClock } from "../../clock.ts";
import type { RunningSuspects } from "../../job/suspicion.ts";
import type { Command, HeartbeatReply, NameHolder, WorkerInfo, WorkerRecord, WorkerStore } from "../port/workers.ts";
import { BLOCK_S, type Context, insist, serverTime } from "./context.ts";
import { commandsKey, leasesKey, nameKey, OWNERS, PROCESSES, replyKey, signalsKey } from "./keys.ts";
import type { LeaseCache } from "./lease_cache.ts";
import { isOutcomeUnknown } from "./client/errors.ts";
import { infoOf, readProcess, workOf } from "./worker_fields.ts";
import { SCRIPTS } from "./client/scripts.ts";

/** Sidekiq's signals, and what they ask. */
const SIGNALS: Readonly<Record<string, Command["verb"]>> = { TSTP: "quiet", TERM: "stop", TTIN: "dump", INFO: "dump" };
/** What Sidekiq can be asked, and by which signal. */
const SIGNAL_FOR: Readonly<Partial<Record<Command["verb"], string>>> = { quiet: "TSTP", stop: "TERM", dump: "TTIN" };
/** After a failure, which the client has reported, the next attempt comes so much later. */
const RETRY_MS = 500;
/** So many commands are read at once. */
const READ_AT_ONCE = "100";

/** The workers part of the port. */
export class Workers implements WorkerStore {
  readonly #context: Context;
  readonly #leases: LeaseCache;
  /** How long the last beat took, shown in Sidekiq's pages. */
  #roundTripUs = 0;
  /** The answer to a beat was lost: it may have told of a lapse. */
  #unsure = false;

  /** @param leases what this process has: a deregistered worker has none */
  constructor(context: Context, leases: LeaseCache) {
    this.#context = context;
    this.#leases = leases;
  }

  async heartbeat(process: WorkerRecord, ttlMs: number): Promise<HeartbeatReply> {
    const start = systemClock.monotonic();
    const [lapsed, ...signals] = await insist(this.#context, () => this.#beat(process, ttlMs));
    this.#roundTripUs = Math.round((systemClock.monotonic() - start) * 1000);
    const told = { commands: signals.flatMap(readSignal), lapsed: lapsed === 1 || this.#unsure };
    this.#unsure = false;
    return told;
  }

  async #beat(process: WorkerRecord, ttlMs: number): Promise<[lapsed: number, ...signals: string[]]> {
    const { client, offset } = this.#context;
    const args = [
      process.identity,
      offset(),
      `${Math.ceil(ttlMs)}`,
      infoOf(process),
      `${process.concurrency}`,
      `${process.busy}`,
      `${this.#roundTripUs}`,
      `${process.quiet}`,
      `${Math.round(process.rss / 1024)}`,
      ...process.work.flatMap((job) => [job.task, workOf(job)]),
    ];
    try {
      return await client.run(SCRIPTS.heartbeat, [], args, { repeatable: false }) as [number, ...string[]];
    } catch (error) {
      if (isOutcomeUnknown(error)) this.#unsure = true;
      throw error;
    }
  }

  async noteSuspects(owner: string, { tokens, alone }: RunningSuspects): Promise<void> {
    const { client, offset } = this.#context;
    await client.run(SCRIPTS.suspects, [], [offset(), owner, JSON.stringify(tokens), alone ? "1" : "0"]);
  }

  async noteDeath(identity: string, ended: string): Promise<void> {
    await this.#context.client.run(SCRIPTS.death, [], [identity, ended]);
  }

  async deregister(identity: string): Promise<void> {
    await this.#context.client.run(SCRIPTS.deregister, [leasesKey(identity)], [identity]);
    this.#leases.forget(identity);
  }

  async claimName(name: string, owner: string, ttlMs: number): Promise<boolean> {
    const { client, offset } = this.#context;
    const args = [offset(), owner, `${Math.ceil(ttlMs)}`];
    return await client.run(SCRIPTS.claimName, [nameKey(name)], args) === 1;
  }

  async nameHolder(name: string): Promise<NameHolder | undefined> {
    const { client, offset } = this.#context;
    const reply = await client.run(SCRIPTS.nameHolder, [nameKey(name)], [offset()]);
    if (reply === null) return undefined;
    const [owner, heartbeatUntil, freeInMs] = reply as [string, string, string];
    return { owner, heartbeatUntil: Number(heartbeatUntil), freeInMs: Number(freeInMs) };
  }

  async releaseName(name: string, owner: string): Promise<void> {
    await this.#context.client.run(SCRIPTS.releaseName, [nameKey(name)], [owner]);
  }

  /** One connection blocks on our commands and Sidekiq's signals at once. */
  async receive(identity: string, signal: AbortSignal): Promise<Command[]> {
    const keys = [commandsKey(identity), signalsKey(identity)];
    const popped = await this.#popBlocking("receive", keys, signal);
    if (!popped) return [];
    const [key, first] = popped;
    const rest = await this.#context.client.call(["RPOP", key, READ_AT_ONCE]).catch(() => null) as string[] | null;
    const all = [first, ...rest ?? []];
    return key === keys[0] ? all.map((json) => JSON.parse(json) as Command) : all.flatMap(readSignal);
  }

  async send(identity: string, command: Command): Promise<boolean> {
    const args = [this.#context.offset(), identity, JSON.stringify(command), SIGNAL_FOR[command.verb] ?? ""];
    return await this.#context.client.run(SCRIPTS.send, [], args, { repeatable: false }) === 1;
  }

  async reply(id: string, text: string): Promise<void> {
    await this.#context.client.run(SCRIPTS.reply, [replyKey(id)], [this.#context.offset(), text], {
      repeatable: false,
    });
  }

  async awaitReply(id: string, signal: AbortSignal): Promise<string | undefined> {
    for (;;) {
      const popped = await this.#popBlocking("reply", [replyKey(id)], signal);
      if (!popped) return undefined;
      const [, till, text] = /^(\d+) (.*)$/s.exec(popped[1])!;
      if (Number(till) > await serverTime(this.#context)) return text;
    }
  }

  async list(): Promise<WorkerInfo[]> {
    const { client } = this.#context;
    const [now, owners, registered] = await Promise.all([
      serverTime(this.#context),
      client.call(["ZRANGE", OWNERS, "0", "-1", "WITHSCORES"]),
      client.call(["SMEMBERS", PROCESSES]),
    ]) as [number, [string, number][], string[]];
    const deadlines = new Map(owners);
    const identities = [...new Set([...deadlines.keys(), ...registered])].sort();
    return (await Promise.all(identities.map((identity) => this.#read(identity, deadlines.get(identity), now))))
      .filter((process) => process !== undefined);
  }

  async #read(identity: string, deadline: number | undefined, now: number): Promise<WorkerInfo | undefined> {
    const { client } = this.#context;
    const [fields, work, olderWork] = await Promise.all([
      client.call(["HMGET", identity, "info", "concurrency", "busy", "beat", "quiet", "rss"]),
      client.call(["HGETALL", `${identity}:work`]),
      client.call(["HGETALL", `${identity}:workers`]),
    ]) as [(string | null)[], Record<string, string>, Record<string, string>];
    const [info = null, concurrency = null, busy = null, beat = null, quiet = null, rss = null] = fields;
    // A process of Sidekiq's that is gone: its key has expired, and nobody has swept its name up yet.
    if (deadline === undefined && info === null) return undefined;
    const alive = deadline === undefined || deadline > now;
    return readProcess(identity, { info, concurrency, busy, beat, quiet, rss, work: { ...olderWork, ...work } }, alive);
  }

  /** Pops from the first of the lists that has something; undefined when `signal` aborts. Never rejects. */
  async #popBlocking(name: string, keys: string[], signal: AbortSignal): Promise<[string, string] | undefined> {
    if (signal.aborted) return undefined;
    const client = this.#context.blockingClient(name);
    const abort = () => void client.close();
    signal.addEventListener("abort", abort, { once: true });
    try {
      while (!signal.aborted && !client.closed) {
        const popped = await client.call(["BRPOP", ...keys, `${BLOCK_S}`])
          .catch(() => systemClock.sleep(RETRY_MS, signal)) as [string, string] | null | undefined;
        if (popped) return popped;
      }
    } finally {
      signal.removeEventListener("abort", abort);
      await client.close();
    }
    return undefined;
  }
}

function readSignal(signal: string): Command[] {
  const verb = SIGNALS[signal];
  return verb ? [{ verb }] : [];
}
