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
import type { Clock } from "../clock.ts";
import { acceptAll } from "../handlers/accept.ts";
import { readToken } from "../handlers/frames.ts";
import { howItEnded, memoryOf } from "../handlers/process_group.ts";
import { selfCommand } from "../handlers/self_command.ts";
import { formatBytes } from "../job/bytes.ts";
import type { Log } from "../log.ts";
import { Exchange } from "./exchange.ts";
import { identityOf, randomId } from "./identity.ts";
import { MEMBER_VARIABLE, type MemberTold } from "./membership.ts";
import type { Asked, Inbox } from "./signals.ts";

/** What a supervisor is made with. */
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
  /** Called once, when all processes take jobs. */
  readonly onReady: () => void;
  /** Called once, when it is asked to stop. */
  readonly onStopping: () => void;
  /** Called when the log is to be reopened; the processes are told, too. */
  readonly onReopen: () => void;
}

/** How often memory is looked at while there is a limit. */
const LOOK_MS = 1_000;
/** One that lived so long did not die of its start. */
const GROWN_UP_MS = 10_000;
const FIRST_BACKOFF_MS = 500;
const LONGEST_BACKOFF_MS = 30_000;

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
}

/** Keeps processes running. */
export class Supervisor {
  readonly #options: SupervisorOptions;
  readonly #address = `\0jobs-${crypto.randomUUID()}`;
  /** By index, from 1. */
  readonly #members = new Map<number, Member>();
  /** Called when the process with the token says that it is ready. */
  readonly #awaited = new Map<string, () => void>();
  /** Which process it is that connects to the exchange with the token. */
  readonly #expected = new Map<string, number>();
  readonly #exchange = new Exchange(() => this.#members.keys());
  readonly #stop = new AbortController();
  #replacing: Promise<void> = Promise.resolve();
  /** The first exit code, other than 0, of a worker that stopped: it could not store everything. */
  #code = 0;

  constructor(options: SupervisorOptions) {
    this.#options = options;
  }

  /** Starts the processes and keeps them running until asked to stop, or until all have ended. Returns the exit code. */
  async run(): Promise<number> {
    const { count, inbox, maxMemoryBytes, onReady } = this.#options;
    const over = new AbortController();
    using listener = Deno.listen({ transport: "unix", path: this.#address });
    void acceptAll(listener, (one) => void this.#readToken(one), { ...this.#options, signal: over.signal });
    void this.#hear(inbox, over.signal);
    const first = this.#start(1);
    if (!await first.ready) {
      const { code } = await first.child.status;
      over.abort();
      // One that ends because it was asked to has not failed.
      return this.#stop.signal.aborted ? 0 : code;
    }
    const kept = [this.#keep(1, first)];
    // None of them would be told that all are to stop.
    for (let index = 2; index <= count && !this.#stop.signal.aborted; index++) {
      kept.push(this.#keep(index, this.#start(index)));
    }
    void Promise.all([...this.#members.values()].map(({ ready }) => ready)).then((all) =>
      all.every(Boolean) && !this.#stop.signal.aborted && onReady()
    );
    if (maxMemoryBytes > 0) void this.#watchMemory(over.signal);
    await Promise.all(kept);
    over.abort();
    return this.#code;
  }

  #start(index: number): Member {
    const { program, args } = selfCommand();
    const token = crypto.randomUUID();
    const exchange = crypto.randomUUID();
    const nonce = randomId();
    // Only for one that has ended is another started in its place.
    const predecessor = this.#members.get(index)?.identity;
    const told: MemberTold = { index, address: this.#address, token, exchange, nonce, predecessor };
    const child = new Deno.Command(program, {
      args: [...args, ...this.#options.args],
      env: { [MEMBER_VARIABLE]: JSON.stringify(told) },
      stdin: "null",
      // What a terminal sends to its foreground reaches us, and them once: from us.
      detached: true,
    }).spawn();
    const said = new Promise<true>((resolve) => this.#awaited.set(token, () => resolve(true)));
    this.#expected.set(exchange, index);
    const ended = child.status.then(() => {
      this.#expected.delete(exchange);
      return false;
    });
    const ready = Promise.race([said, ended]).finally(() => this.#awaited.delete(token));
    const identity = identityOf(child.pid, nonce);
    const member: Member = { child, identity, ready, isReady: false, replaced: false };
    void said.then(() => member.isReady = true);
    this.#members.set(index, member);
    return member;
  }

  /** Starts another in its place whenever one dies, until it ends by itself or all are to stop. */
  async #keep(index: number, first: Member): Promise<void> {
    const { clock, log } = this.#options;
    let failures = 0;
    let since = clock.monotonic();
    for (let member = first;; member = this.#start(index)) {
      const status = await member.child.status;
      if (this.#stop.signal.aborted || (status.success && !member.replaced)) {
        // A start that a stop interrupts is no failure, and a signal is the operator's.
        if (member.isReady && status.signal === null) this.#code ||= status.code;
        break;
      }
      failures = member.replaced || clock.monotonic() - since >= GROWN_UP_MS ? 0 : failures + 1;
      if (!member.replaced) {
        const backoffMs = Math.min(LONGEST_BACKOFF_MS, FIRST_BACKOFF_MS * 2 ** Math.max(0, failures - 1));
        log.error(`Process ${howItEnded(status)}, starting another`, { index, pid: member.child.pid, inMs: backoffMs });
        await clock.sleep(backoffMs, this.#stop.signal);
        if (this.#stop.signal.aborted) break;
      }
      since = clock.monotonic();
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
    await old.child.status;
    // Whoever keeps it has started the next one, or ends.
    await this.#options.clock.turn();
    const next = this.#members.get(index);
    return this.#stop.signal.aborted || next === undefined || await next.ready;
  }

  async #watchMemory(over: AbortSignal): Promise<void> {
    const { clock, log, maxMemoryBytes } = this.#options;
    while (!over.aborted) {
      await clock.sleep(LOOK_MS, over);
      for (const [index, { child, replaced }] of this.#members) {
        const used = await memoryOf(child.pid);
        if (used <= maxMemoryBytes || replaced || over.aborted) continue;
        log.warn("Process uses too much memory, replacing it", { index, pid: child.pid, used: formatBytes(used) });
        this.#replacing = this.#replacing.then(async () => void await this.#replace(index));
        await this.#replacing;
      }
    }
  }

  async #readToken(connection: Deno.Conn): Promise<void> {
    using _connection = connection;
    const token = await readToken(connection);
    const index = this.#expected.get(token);
    if (index !== undefined) {
      this.#expected.delete(token);
      return await this.#exchange.serve(index, connection);
    }
    this.#awaited.get(token)?.();
    // It stays open as long as both are there: its end tells the process of ours.
    await connection.read(new Uint8Array(1)).catch(() => null);
  }
}

function send(child: Deno.ChildProcess, signal: Deno.Signal): void {
  try {
    child.kill(signal);
  } catch {
    // It has just ended.
  }
}
