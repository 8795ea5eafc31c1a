/**
 * The supervisor: a parent that keeps several processes of one configuration running, one per core. It performs no jobs
 * and opens no store.
 *
 *  1. One that dies is started again, later each time if it dies young, and has the name of the dead one at once. One
 *     that ends by itself (burst, `jobs stop`) is not; when none is left, the supervisor ends.
 *  2. Signals are passed on. HUP replaces the processes one at a time, so that the others take jobs all the while.
 *  3. One that uses too much memory is replaced in the same way.
 *  4. When the first does not even start, nothing does: its exit code is ours.
 *  5. Asked to stop a second time, it kills those that do not take jobs yet: one whose start is stuck may not even hear.
 *
 * @module
 */
import type { Clock } from "../../clock.ts";
import { ChildListener, type ExpectedChild } from "../../handlers/isolation/child_listener.ts";
import { causeOfEnd, howItEnded, memoryOf } from "../../handlers/isolation/process_group.ts";
import { checkDescriptors, spawnSelf } from "../../handlers/isolation/spawn_self.ts";
import { formatBytes } from "../../job/bytes.ts";
import type { Log, LogFields } from "../../log/log.ts";
import { MemberHub } from "./member_hub.ts";
import { identityOf, randomId } from "./identity.ts";
import { MEMBER_VARIABLE, type MemberInfo } from "./member.ts";
import type { Asked, Inbox } from "../control/signals.ts";

/** Options of {@linkcode Supervisor}. */
export interface SupervisorOptions {
  readonly count: number;
  /** The arguments after `jobs` that start a process; the same for all. */
  readonly args: readonly string[];
  /** One that uses more is replaced; 0 for no limit. */
  readonly maxMemoryBytes: number;
  /** What it is asked by signals. */
  readonly inbox: Inbox;
  readonly clock: Clock;
  readonly log: Log;
  /** Called once, when each process has reported that it takes jobs. */
  readonly onReady: () => void;
  /** Called once, when it is asked to stop. */
  readonly onStopping: () => void;
  /** Called when the log is to be reopened; the processes are told, too. */
  readonly onReopen: () => void;
}

/** How often memory is looked at while there is a limit. */
const POLL_INTERVAL_MS = 1_000;
/** One that lived so long did not die of its start. */
const GROWN_UP_MS = 10_000;
const FIRST_BACKOFF_MS = 500;
const MAX_BACKOFF_MS = 30_000;

/** A process that it has started. */
interface Member {
  readonly child: Deno.ChildProcess;
  readonly identity: string;
  /** Resolves with true when it takes jobs, with false when it has ended before. */
  readonly ready: Promise<boolean>;
  /** It takes jobs, or did. */
  isReady: boolean;
  /** It was asked to make room for another. */
  replaced: boolean;
  /** How it ended, if it died. */
  died?: string;
  /** Resolves with the one started in its place, or undefined when none is. */
  readonly successor: PromiseWithResolvers<Member | undefined>;
}

/** Keeps processes running. */
export class Supervisor {
  readonly #options: SupervisorOptions;
  readonly #listener: ChildListener;
  /** By index, from 1. */
  readonly #members = new Map<number, Member>();
  /** The indices of those that took jobs at some time. */
  readonly #ready = new Set<number>();
  readonly #exchange = new MemberHub(() => this.#members.keys());
  readonly #stop = new AbortController();
  #replacing: Promise<void> = Promise.resolve();
  /** The first exit code, other than 0, of a worker that stopped: it could not store everything. */
  #code = 0;

  constructor(options: SupervisorOptions) {
    this.#options = options;
    this.#listener = new ChildListener(options);
  }

  /**
   * Starts the processes and keeps them running until asked to stop, or until all have ended. Returns the exit code.
   *
   * @throws {SpawnError} when the first can't be started
   */
  async run(): Promise<number> {
    const { count, inbox, maxMemoryBytes } = this.#options;
    const over = new AbortController();
    void this.#hear(inbox, over.signal);
    await checkDescriptors();
    // One that ends because it was asked to has not failed.
    if (this.#stop.signal.aborted) return 0;
    const first = this.#start(1);
    if (!await first.ready) {
      const { code } = await first.child.status;
      over.abort();
      return this.#stop.signal.aborted ? 0 : code;
    }
    const others = Array.from({ length: count - 1 }, (_, i) => this.#keep(i + 2));
    if (maxMemoryBytes > 0) void this.#watchMemory(over.signal);
    await Promise.all([this.#keep(1, first), ...others]);
    over.abort();
    return this.#code;
  }

  /** @throws {SpawnError} when it can't be started */
  #start(index: number): Member {
    const expected = this.#listener.expect();
    const nonce = randomId();
    try {
      const child = this.#spawn(index, nonce, expected);
      const member = this.#watch(index, child, nonce, expected);
      this.#members.set(index, member);
      return member;
    } catch (error) {
      expected.cancel();
      throw error;
    }
  }

  /** Starts a process, later if it can't be now; undefined when all are to stop. */
  async #startEventually(index: number): Promise<Member | undefined> {
    for (let failures = 1; !this.#stop.signal.aborted; failures++) {
      try {
        await checkDescriptors();
        if (!this.#stop.signal.aborted) return this.#start(index);
      } catch (error) {
        await this.#backOff(failures, "Can't start a process, trying again", {
          index,
          error: (error as Error).message,
        });
      }
    }
    return undefined;
  }

  async #backOff(failures: number, message: string, fields: LogFields): Promise<void> {
    const inMs = Math.min(MAX_BACKOFF_MS, FIRST_BACKOFF_MS * 2 ** (failures - 1));
    this.#options.log.error(message, { ...fields, inMs });
    await this.#options.clock.sleep(inMs, this.#stop.signal);
  }

  #spawn(index: number, nonce: string, { address, token }: ExpectedChild): Deno.ChildProcess {
    // Only for one that has ended is another started in its place.
    const before = this.#members.get(index);
    const told: MemberInfo = {
      ...{ index, parent: Deno.pid, address, token, nonce },
      predecessor: before?.identity,
      predecessorEnded: before?.died,
    };
    // What a terminal sends to its foreground reaches this process, which passes it on: a group of its own for each.
    return spawnSelf({
      args: this.#options.args,
      env: { [MEMBER_VARIABLE]: JSON.stringify(told) },
      output: "inherit",
    });
  }

  #watch(index: number, child: Deno.ChildProcess, nonce: string, { connection, cancel }: ExpectedChild): Member {
    const { promise: ready, resolve } = Promise.withResolvers<boolean>();
    const successor = Promise.withResolvers<Member | undefined>();
    const identity = identityOf(child.pid, nonce);
    const member: Member = { child, identity, ready, isReady: false, replaced: false, successor };
    const onReady = () => {
      member.isReady = true;
      resolve(true);
      this.#countReady(index);
    };
    void connection.then((socket) => socket && this.#exchange.serve(index, socket, onReady));
    void child.status.then(() => {
      cancel();
      resolve(false);
    });
    return member;
  }

  #countReady(index: number): void {
    const { count, onReady } = this.#options;
    if (this.#ready.size === count || this.#stop.signal.aborted) return;
    if (this.#ready.add(index).size === count) onReady();
  }

  /** Starts another in its place whenever one dies, until it ends by itself or all are to stop. */
  async #keep(index: number, first?: Member): Promise<void> {
    const { clock } = this.#options;
    let failures = 0;
    let member = first ?? await this.#startEventually(index);
    while (member) {
      const since = clock.monotonic();
      const status = await member.child.status;
      const ended = member;
      const { replaced, child: { pid } } = ended;
      member = undefined;
      if (this.#stop.signal.aborted || (status.success && !replaced)) {
        // A start that a stop interrupts is no failure, and a signal is the operator's.
        if (ended.isReady && status.signal === null) this.#code ||= status.code;
      } else {
        failures = replaced || clock.monotonic() - since >= GROWN_UP_MS ? 0 : failures + 1;
        if (!replaced) {
          ended.died = causeOfEnd(status);
          await this.#backOff(Math.max(1, failures), `Process ${howItEnded(status)}, starting another`, { index, pid });
        }
        member = await this.#startEventually(index);
      }
      ended.successor.resolve(member);
    }
    this.#members.delete(index);
  }

  async #hear(inbox: Inbox, over: AbortSignal): Promise<void> {
    while (!over.aborted) this.#act(await inbox.next());
  }

  #act({ verb, by }: Asked): void {
    const { log, onStopping, onReopen } = this.#options;
    if (verb === "reload") {
      log.info("Replacing the processes, one after the other", { by });
      this.#replacing = this.#replacing.then(() => this.#replaceAll());
      return;
    }
    if (verb === "stop" && this.#stop.signal.aborted) {
      for (const { child, isReady } of this.#members.values()) if (!isReady) send(child, "SIGKILL");
    } else if (verb === "stop") {
      log.info("Stopping", { by });
      this.#stop.abort();
      onStopping();
    }
    if (verb === "reopen") onReopen();
    for (const { child } of this.#members.values()) send(child, by as Deno.Signal);
  }

  /** One at a time; when a new one does not start, the others stay as they are. */
  async #replaceAll(): Promise<void> {
    for (const index of [...this.#members.keys()]) {
      if (this.#stop.signal.aborted) return;
      if (await this.#replace(index)) continue;
      this.#options.log.error("The new process did not start; the others stay as they are", { index });
      return;
    }
  }

  async #replace(index: number): Promise<boolean> {
    const old = this.#members.get(index);
    if (old === undefined) return true;
    old.replaced = true;
    send(old.child, "SIGTERM");
    const next = await old.successor.promise;
    return this.#stop.signal.aborted || next === undefined || await next.ready;
  }

  async #watchMemory(over: AbortSignal): Promise<void> {
    const { clock, log, maxMemoryBytes } = this.#options;
    while (!over.aborted) {
      await clock.sleep(POLL_INTERVAL_MS, over);
      for (const [index, { child, replaced }] of this.#members) {
        const used = await memoryOf(child.pid);
        if (used <= maxMemoryBytes || replaced || over.aborted) continue;
        log.warn("Process uses too much memory, replacing it", { index, pid: child.pid, used: formatBytes(used) });
        this.#replacing = this.#replacing.then(async () => void await this.#replace(index));
        await this.#replacing;
      }
    }
  }
}

function send(child: Deno.ChildProcess, signal: Deno.Signal): void {
  try {
    child.kill(signal);
  } catch {
    // It has just ended.
  }
}
