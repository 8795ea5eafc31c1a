/**
 * A member's side of its connection to the supervisor (`member_hub.ts`). On it a member
 *
 *  1. reports that it takes jobs;
 *  2. notices that the supervisor has ended, however that happened: the connection ends;
 *  3. exchanges counts with the other members, its peers, so that the one with the web interface exports the metrics of all.
 *
 * @module
 */
import type { Clock } from "../../clock.ts";
import { FrameConnection } from "../../handlers/isolation/ipc.ts";
import { SpawnError } from "../../handlers/isolation/spawn_self.ts";
import { VERSION } from "../../version.ts";
import type { CountsFrame, FromMember, ToMember } from "./member_hub.ts";
import type { MemberInfo } from "./member.ts";
import type { ServerCounts } from "../stats/counters.ts";

export interface MemberCounts {
  /** Which one it is, from 1. */
  readonly process: number;
  /** Undefined if it didn't answer in time, or has another version. */
  readonly counts: ServerCounts | undefined;
}

/** How long to wait for members whose event loop is blocked: a scrape has a timeout, too. */
const TIMEOUT_MS = 2_000;

interface Asking {
  others: readonly number[];
  /** Number of members asked; Infinity until the supervisor reports it. */
  asked: number;
  readonly answers: Map<number, CountsFrame>;
  readonly over: AbortController;
}

export interface MemberLinkOptions {
  readonly counts: () => ServerCounts;
  readonly clock: Clock;
  /** Called once when the connection has ended: the supervisor has ended, or this process is about to. */
  readonly onEnd: () => void;
}

export class MemberLink implements Disposable {
  readonly #socket: Deno.Conn;
  readonly #line: FrameConnection<ToMember, FromMember>;
  readonly #options: MemberLinkOptions;
  readonly #askings = new Map<number, Asking>();
  #lastId = 0;

  private constructor(socket: Deno.Conn, options: MemberLinkOptions) {
    this.#socket = socket;
    this.#line = new FrameConnection(socket);
    this.#options = options;
    void this.#line.read((frame) => this.#receive(frame)).then(() => {
      this.#line[Symbol.dispose]();
      for (const { over } of this.#askings.values()) over.abort();
      options.onEnd();
    });
  }

  /**
   * Connects to the supervisor; undefined if it has ended.
   *
   * @throws {SpawnError} if it is running and can't be reached
   */
  static async join(
    { address, token, parent }: MemberInfo,
    options: MemberLinkOptions,
  ): Promise<MemberLink | undefined> {
    try {
      const socket = await Deno.connect({ transport: "unix", path: address });
      await socket.write(new TextEncoder().encode(token));
      return new MemberLink(socket, options);
    } catch (error) {
      if (Deno.ppid !== parent) return undefined;
      throw new SpawnError(`Can't connect to the parent process at "${address}": ${(error as Error).message}`, false);
    }
  }

  /** Reports that this process takes jobs, and how long its stop waits for running ones. */
  ready(shutdownTimeoutMs: number): void {
    this.#line.send({ kind: "ready", shutdownTimeoutMs });
  }

  /** Returns the counts of the other members, after at most two seconds. */
  async counts(): Promise<MemberCounts[]> {
    const id = ++this.#lastId;
    const asking: Asking = { others: [], asked: Infinity, answers: new Map(), over: new AbortController() };
    this.#askings.set(id, asking);
    this.#line.send({ kind: "ask", id });
    await this.#options.clock.sleep(TIMEOUT_MS, asking.over.signal);
    this.#askings.delete(id);
    return asking.others.map((process) => ({ process, counts: unpack(asking.answers.get(process)) }));
  }

  /** Closes the writing side: the supervisor then closes the connection. Closing it here would not end a pending read. */
  [Symbol.dispose](): void {
    this.#socket.closeWrite().catch(() => {}); // already closed
  }

  #receive(frame: ToMember): void {
    if (frame.kind === "ping") return void this.#line.send({ kind: "pong" });
    if (frame.kind === "ask") {
      const { id, by } = frame;
      this.#line.send({ kind: "answer", id, to: by, counts: pack(this.#options.counts()) });
      return;
    }
    const asking = this.#askings.get(frame.id);
    if (asking === undefined) return; // the request has timed out
    if (frame.kind === "answer") asking.answers.set(frame.from, frame.counts);
    else {
      asking.others = frame.others;
      asking.asked = frame.asked;
    }
    if (asking.answers.size >= asking.asked) asking.over.abort();
  }
}

function pack(counts: ServerCounts): CountsFrame {
  const classes = [...counts.classes].map(([name, { endings, run, wait }]) => [name, { endings, run, wait }] as const);
  return { ...counts, classes, version: VERSION };
}

function unpack(frame: CountsFrame | undefined): ServerCounts | undefined {
  if (frame === undefined || frame.version !== VERSION) return undefined;
  const { version: _version, ...counts } = frame;
  return { ...counts, classes: new Map(frame.classes) };
}
