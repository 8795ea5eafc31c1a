/**
 * The workers part of the port: heartbeats, names, and commands to workers.
 *
 * @module
 */
import type { RunningSuspects } from "../../job/suspicion.ts";
import {
  CANCELLED_WORKER,
  type Command,
  type HeartbeatReply,
  type Mailbox,
  type NameHolder,
  type WorkerInfo,
  type WorkerRecord,
  type WorkerStore,
} from "../port/workers.ts";
import { BLOCK_S, type Context, retryLostReply, serverTime } from "./context.ts";
import { commandsKey, leasesKey, nameKey, PROCESSES, replyKey, signalsKey, workerKey, WORKERS } from "./keys.ts";
import type { LeaseBook } from "../ops/lease_book.ts";
import { parseRef } from "./refs.ts";
import { isOutcomeUnknown } from "./client/errors.ts";
import { infoOf, readWorker, workOf } from "./worker_fields.ts";
import { SCRIPTS } from "./client/scripts.ts";

/** Sidekiq's signals, and the verbs of the same meaning. */
const SIGNALS: Readonly<Record<string, Command["verb"]>> = { TSTP: "quiet", TERM: "stop", TTIN: "dump", INFO: "dump" };
/** The verbs that Sidekiq supports, and their signals. */
const SIGNAL_FOR: Readonly<Partial<Record<Command["verb"], string>>> = { quiet: "TSTP", stop: "TERM", dump: "TTIN" };
/** Pause after a failure, which the client has logged. */
const RETRY_MS = 500;
/** Maximum number of messages read at once. */
const MAX_MESSAGES_PER_READ = "100";

/** The workers part of the port. */
export class Workers implements WorkerStore {
  readonly #context: Context;
  readonly #book: LeaseBook;
  /** The message that a wait has popped, and its list, by the first list of the mailbox: {@linkcode collect} returns it. */
  readonly #popped = new Map<string, [key: string, text: string]>();
  /** Duration of the last heartbeat, shown on Sidekiq's pages. */
  #roundTripUs = 0;
  /** The workers whose reply to a heartbeat was lost: it may have reported a lapse. */
  readonly #mayHaveLapsed = new Set<string>();

  constructor(context: Context, book: LeaseBook) {
    this.#context = context;
    this.#book = book;
  }

  get losses(): number {
    return this.#context.client.losses;
  }

  async heartbeat(record: WorkerRecord, ttlMs: number): Promise<HeartbeatReply> {
    const start = this.#context.client.clock.monotonic();
    const [lapsed, ...signals] = await retryLostReply(this.#context, () => this.#sendHeartbeat(record, ttlMs));
    this.#roundTripUs = Math.round((this.#context.client.clock.monotonic() - start) * 1000);
    const reply = {
      commands: signals.flatMap(readSignal),
      lapsed: this.#mayHaveLapsed.delete(record.id) || lapsed === 1,
    };
    return reply;
  }

  async #sendHeartbeat(record: WorkerRecord, ttlMs: number): Promise<[lapsed: number, ...signals: string[]]> {
    const { client, offset } = this.#context;
    const args = {
      worker: record.id,
      now: offset(),
      ttl: Math.ceil(ttlMs),
      info: infoOf(record),
      concurrency: record.concurrency,
      busy: record.busy,
      rttUs: this.#roundTripUs,
      quiet: `${record.quiet}`,
      rssKb: Math.round(record.rss / 1024),
      work: record.work.map((job) => ({ task: job.task, record: workOf(job) })),
    };
    try {
      return await client.run(SCRIPTS.heartbeat, args, { repeatable: false }) as [number, ...string[]];
    } catch (error) {
      if (isOutcomeUnknown(error)) this.#mayHaveLapsed.add(record.id);
      throw error;
    }
  }

  async note(
    worker: string,
    { running, ended = "" }: { readonly running?: RunningSuspects; readonly ended?: string },
  ): Promise<void> {
    const { client, offset } = this.#context;
    const suspects = running && JSON.stringify(running.tokens);
    await client.run(SCRIPTS.note, { now: offset(), worker, suspects, alone: running?.alone ? 1 : 0, ended });
  }

  async deregister(worker: string): Promise<void> {
    await this.#context.client.run(SCRIPTS.deregister, {
      leases: leasesKey(worker),
      now: this.#context.offset(),
      worker,
    });
    this.#book.dropAll(worker);
  }

  async claim(name: string, worker: string, ttlMs: number): Promise<NameHolder | undefined> {
    const { client, offset } = this.#context;
    const reply = await client.run(SCRIPTS.claim, {
      claim: nameKey(name),
      now: offset(),
      worker,
      ttl: Math.ceil(ttlMs),
    });
    if (reply === null) return undefined;
    const [holder, heartbeatUntil] = reply as [string, string];
    return { worker: holder, heartbeatUntil: Number(heartbeatUntil) };
  }

  /** Resolves when a mailbox isn't empty, or when `stop` aborts. One connection blocks on the store's commands and Sidekiq's signals. */
  async wait(box: Mailbox, stop: AbortSignal): Promise<void> {
    const keys = keysOf(box);
    if (this.#popped.has(keys[0]!)) return;
    const popped = await this.#popBlocking("commandsTo" in box ? "receive" : "reply", keys, stop);
    if (popped) this.#popped.set(keys[0]!, popped);
  }

  async collect(box: Mailbox): Promise<string[]> {
    const keys = keysOf(box);
    const popped = this.#popped.get(keys[0]!);
    this.#popped.delete(keys[0]!);
    const read = async (key: string): Promise<string[]> => {
      const rest = await this.#context.client.call(["RPOP", key, MAX_MESSAGES_PER_READ]).catch((error) => {
        if (popped) return null;
        throw error;
      }) as string[] | null;
      const all = [...popped ? [popped[1]] : [], ...rest ?? []];
      return key === keys[1] ? all.flatMap(readSignal).map((command) => JSON.stringify(command)) : all;
    };
    const texts = (await Promise.all((popped ? [popped[0]] : keys).map(read))).flat();
    return "commandsTo" in box || texts.length === 0 ? texts : await this.#unexpired(texts);
  }

  /** Returns the replies whose minute isn't over. */
  async #unexpired(replies: readonly string[]): Promise<string[]> {
    const now = await serverTime(this.#context);
    return replies.flatMap((reply) => {
      const [, till, text] = /^(\d+) (.*)$/s.exec(reply)!;
      return Number(till) > now ? [text!] : [];
    });
  }

  async send(to: string, message: Command | string): Promise<boolean> {
    const { client, offset } = this.#context;
    if (typeof message === "string") {
      await client.run(SCRIPTS.reply, { replies: replyKey(to), now: offset(), text: message }, { repeatable: false });
      return true;
    }
    const { ref, ...command } = message;
    const lease = ref === undefined ? undefined : parseRef(ref);
    if (ref !== undefined && (lease?.in !== "running" || lease.worker !== to)) return false;
    const token = lease?.in === "running" ? lease.token : "";
    const signal = SIGNAL_FOR[command.verb];
    const args = { now: offset(), worker: to, command: JSON.stringify(command), signal, token };
    return await client.run(SCRIPTS.send, args, { repeatable: false }) === 1;
  }

  async list(): Promise<WorkerInfo[]> {
    const { client } = this.#context;
    const [now, workers, registered] = await Promise.all([
      serverTime(this.#context),
      client.call(["ZRANGE", WORKERS, "0", "-1", "WITHSCORES"]),
      client.call(["SMEMBERS", PROCESSES]),
    ]) as [number, [string, number][], string[]];
    const deadlines = new Map(workers);
    deadlines.delete(CANCELLED_WORKER);
    const ids = [...new Set([...deadlines.keys(), ...registered])].sort();
    return (await Promise.all(ids.map((id) => this.#read(id, deadlines.get(id), now))))
      .filter((worker) => worker !== undefined);
  }

  async #read(id: string, deadline: number | undefined, now: number): Promise<WorkerInfo | undefined> {
    const { client } = this.#context;
    const [fields, work, olderWork] = await Promise.all([
      client.call(["HMGET", id, "info", "concurrency", "busy", "beat", "quiet", "rss"]),
      client.call(["HGETALL", `${id}:work`]),
      client.call(["HGETALL", `${id}:workers`]),
    ]) as [(string | null)[], Record<string, string>, Record<string, string>];
    const [info = null, concurrency = null, busy = null, beat = null, quiet = null, rss = null] = fields;
    const found = { info, concurrency, busy, beat, quiet, rss, work: { ...olderWork, ...work } };
    // A Sidekiq process that has ended: its key has expired, and its name isn't removed yet.
    if (deadline === undefined) return info === null ? undefined : readWorker(id, found, true);
    if (beat !== null) return readWorker(id, found, deadline > now);
    // Its key has expired since its last heartbeat, its leases have not.
    const [ttl, kept] = await client.call(["HMGET", workerKey(id), "ttl", "info"]) as (string | null)[];
    const beaten = `${(deadline - Number(ttl)) / 1_000}`;
    return readWorker(id, { ...found, info: kept ?? null, beat: beaten }, deadline > now);
  }

  /** Pops from the first list that isn't empty. Returns undefined when `signal` aborts. Never rejects. */
  async #popBlocking(name: string, keys: string[], signal: AbortSignal): Promise<[string, string] | undefined> {
    if (signal.aborted) return undefined;
    const client = this.#context.blockingClient(name);
    const abort = () => void client.close();
    signal.addEventListener("abort", abort, { once: true });
    try {
      while (!signal.aborted && !client.closed) {
        const popped = await client.call(["BRPOP", ...keys, `${BLOCK_S}`])
          .catch(() => this.#context.client.clock.sleep(RETRY_MS, signal)) as [string, string] | null | undefined;
        if (popped) return popped;
      }
    } finally {
      signal.removeEventListener("abort", abort);
      await client.close();
    }
    return undefined;
  }
}

function keysOf(box: Mailbox): string[] {
  if ("replyTo" in box) return [replyKey(box.replyTo)];
  return [commandsKey(box.commandsTo), signalsKey(box.commandsTo)];
}

function readSignal(signal: string): Command[] {
  const verb = SIGNALS[signal];
  return verb ? [{ verb }] : [];
}
