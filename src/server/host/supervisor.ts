/**
 * The supervisor: a parent that keeps several processes of one configuration running, one per core. It performs no jobs and
 * opens no store.
 *
 *  1. It restarts a process that dies, with a growing pause if it dies young. The successor has the name of the dead process at
 *     once. A process that ends by itself (burst, `jobs stop`) is not restarted; when none is left, the supervisor ends.
 *  2. It passes signals on. HUP replaces the processes one at a time, so that the others continue to take jobs. A process that is
 *     starting receives USR1 and USR2 when it takes jobs: until it listens, they would end it. It becomes quiet if the others are.
 *  3. It replaces a process that uses too much memory in the same way.
 *  4. If the first process doesn't start, no other is started, and the supervisor ends with its exit code.
 *  5. At a second stop request it kills processes that don't take jobs yet: their start may be stuck.
 *  6. It kills a process that doesn't end within the time that a stop may take: it is frozen. It logs which processes don't
 *     answer a dump.
 *  7. As process 1 of a container it reaps orphans (`reaper.ts`).
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
import { randomId, workerIdOf } from "./worker_id.ts";
import { endMember, type Member, reportSilent, send } from "./member_process.ts";
import { MEMBER_VARIABLE, type MemberInfo } from "./member.ts";
import { reapUntil } from "./reaper.ts";
import type { Asked, Inbox } from "../control/signals.ts";

export interface SupervisorOptions {
  readonly count: number;
  /** The arguments after `jobs` for each process. */
  readonly args: readonly string[];
  /** Exit codes, besides 0, of a process that ends by itself: it isn't restarted, and the supervisor ends with the code. */
  readonly endCodes?: readonly number[];
  /** A process that uses more is replaced; 0: no limit. */
  readonly maxMemoryBytes: number;
  readonly inbox: Inbox;
  readonly clock: Clock;
  readonly log: Log;
  /** Called once, when each process has reported that it takes jobs. */
  readonly onReady: () => void;
  /** Called once, at the first stop request. */
  readonly onStopping: () => void;
  /** Called to reopen the log. The processes get the signal as well. */
  readonly onReopen: () => void;
}

/** Interval at which memory is checked, if there is a limit. */
const POLL_INTERVAL_MS = 1_000;
/** A process that has lived this long didn't die of its start. */
const GROWN_UP_MS = 10_000;
const FIRST_BACKOFF_MS = 500;
const MAX_BACKOFF_MS = 30_000;

export class Supervisor {
  readonly #options: SupervisorOptions;
  readonly #listener: ChildListener;
  /** By index, from 1. */
  readonly #members = new Map<number, Member>();
  /** The indices of processes that have taken jobs. */
  readonly #ready = new Set<number>();
  readonly #hub = new MemberHub(() => this.#members.keys());
  readonly #stop = new AbortController();
  /** Resolves when the first process takes jobs. If that ends before, so does the supervisor: it must not be replaced. */
  readonly #begun = Promise.withResolvers<void>();
  #replacing: Promise<void> = this.#begun.promise;
  /** Aborts at the next reload, which must not wait for a process whose start is stuck. */
  #reload = new AbortController();
  /** Whether the last request among quiet and resume was quiet. */
  #isQuiet = false;
  /** The first exit code other than 0 of a worker that has stopped: it could not store everything. */
  #code = 0;

  constructor(options: SupervisorOptions) {
    this.#options = options;
    this.#listener = new ChildListener(options);
  }

  /**
   * Starts the processes and keeps them running until a stop request, or until all have ended. Returns the exit code.
   *
   * @throws {SpawnError} if the first can't be started
   */
  async run(): Promise<number> {
    const { count, inbox, maxMemoryBytes } = this.#options;
    const over = new AbortController();
    void this.#listen(inbox, over.signal);
    if (Deno.pid === 1) reapUntil(over.signal, this.#options);
    await checkDescriptors();
    // A stop request during the check isn't a failure.
    if (this.#stop.signal.aborted) return 0;
    const first = this.#start(1);
    if (!await first.ready) {
      const { code } = await first.child.status;
      over.abort();
      return this.#stop.signal.aborted ? 0 : code;
    }
    this.#begun.resolve();
    const others = Array.from({ length: count - 1 }, (_, i) => this.#keep(i + 2));
    if (maxMemoryBytes > 0) void this.#watchMemory(over.signal);
    await Promise.all([this.#keep(1, first), ...others]);
    over.abort();
    return this.#code;
  }

  /** @throws {SpawnError} if it can't be started */
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

  /** Starts a process, and retries until that succeeds; undefined after a stop request. */
  async #startEventually(index: number): Promise<Member | undefined> {
    for (let failures = 1; !this.#stop.signal.aborted; failures++) {
      try {
        await checkDescriptors();
        if (!this.#stop.signal.aborted) return this.#start(index);
      } catch (error) {
        await this.#backOff(failures, "Can't start a process, retrying", {
          process: index,
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
    // A process has a predecessor only if that has ended.
    const before = this.#members.get(index);
    const info: MemberInfo = {
      ...{ index, parent: Deno.pid, address, token, nonce },
      predecessor: before?.workerId,
      predecessorEnded: before?.died,
    };
    // Each has a separate process group: signals of the terminal reach this process only, which passes them on.
    return spawnSelf({
      args: this.#options.args,
      env: { [MEMBER_VARIABLE]: JSON.stringify(info) },
      output: "inherit",
    });
  }

  #watch(index: number, child: Deno.ChildProcess, nonce: string, { connection, cancel }: ExpectedChild): Member {
    const { promise: ready, resolve } = Promise.withResolvers<boolean>();
    const successor = Promise.withResolvers<Member | undefined>();
    const workerId = workerIdOf(child.pid, nonce);
    const member: Member = {
      ...{ child, workerId, ready, successor },
      ...{ isReady: false, replaced: false, isReopenDue: false, shutdownTimeoutMs: 0 },
    };
    const onReady = (shutdownTimeoutMs: number) => {
      member.isReady = true;
      member.shutdownTimeoutMs = shutdownTimeoutMs;
      if (member.isReopenDue) send(child, "SIGUSR2");
      if (this.#isQuiet) send(child, "SIGTSTP");
      resolve(true);
      this.#countReady(index);
    };
    void connection.then((socket) => socket && this.#hub.serve(index, socket, onReady));
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

  /** Restarts a process whenever it dies, until it ends by itself or a stop is requested. */
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
      const endsItself = status.success || status.signal === null && this.#options.endCodes?.includes(status.code);
      if (this.#stop.signal.aborted || (endsItself && !replaced)) {
        // A start that a stop interrupts isn't a failure, nor is the end by an operator's signal.
        if (ended.isReady && status.signal === null) this.#code ||= status.code;
      } else {
        failures = replaced || clock.monotonic() - since >= GROWN_UP_MS ? 0 : failures + 1;
        if (!replaced) {
          ended.died = causeOfEnd(status);
          await this.#backOff(Math.max(1, failures), `Process ${howItEnded(status)}, starting another`, {
            process: index,
            pid,
          });
        }
        member = await this.#startEventually(index);
      }
      ended.successor.resolve(member);
    }
    this.#members.delete(index);
  }

  async #listen(inbox: Inbox, over: AbortSignal): Promise<void> {
    while (!over.aborted) this.#act(await inbox.next());
  }

  #act({ verb, by }: Asked): void {
    const { log, onStopping, onReopen } = this.#options;
    if (verb === "reload") {
      log.info("Replacing the processes, one after the other", { by });
      this.#reload.abort();
      const { signal } = this.#reload = new AbortController();
      this.#replacing = this.#replacing.then(() => this.#replaceAll(signal));
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
    if (verb === "quiet" || verb === "resume") this.#isQuiet = verb === "quiet";
    for (const [index, member] of this.#members) {
      if (verb === "stop") this.#end(index, member, by === "SIGINT" ? by : "SIGTERM");
      else if (member.isReady || verb === "dump" || verb === "resume") send(member.child, by as Deno.Signal);
      else if (verb === "reopen") member.isReopenDue = true;
      if (verb === "dump") void reportSilent(index, member, this.#hub.ping(index), this.#options);
    }
  }

  #end(index: number, member: Member, signal: Deno.Signal): void {
    void endMember(index, member, signal, this.#options).then((isKilled) => {
      if (isKilled) this.#code ||= 1;
    });
  }

  /** Replaces the processes one at a time. If a new one doesn't start, the others are kept. */
  async #replaceAll(outdated: AbortSignal): Promise<void> {
    for (const index of [...this.#members.keys()]) {
      if (this.#stop.signal.aborted || outdated.aborted) return;
      if (await this.#replace(index, outdated)) continue;
      this.#options.log.error("The new process did not start: the others are kept", { process: index });
      return;
    }
  }

  async #replace(index: number, outdated: AbortSignal): Promise<boolean> {
    const old = this.#members.get(index);
    if (old === undefined) return true;
    old.replaced = true;
    // The exit code is about the last processes.
    void endMember(index, old, "SIGTERM", this.#options);
    const next = await old.successor.promise;
    if (this.#stop.signal.aborted || next === undefined || outdated.aborted) return true;
    const over = new Promise<boolean>((resolve) => outdated.addEventListener("abort", () => resolve(true)));
    return await Promise.race([next.ready, over]);
  }

  async #watchMemory(over: AbortSignal): Promise<void> {
    const { clock, log, maxMemoryBytes } = this.#options;
    while (!over.aborted) {
      await clock.sleep(POLL_INTERVAL_MS, over);
      for (const [index, { child, replaced }] of this.#members) {
        const used = await memoryOf(child.pid);
        if (used <= maxMemoryBytes || replaced || over.aborted) continue;
        log.warn("Process uses too much memory, replacing it", {
          process: index,
          pid: child.pid,
          used: formatBytes(used),
        });
        this.#replacing = this.#replacing.then(async () => void await this.#replace(index, this.#reload.signal));
        await this.#replacing;
      }
    }
  }
}
