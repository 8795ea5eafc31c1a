/**
 * The supervisor's side of its connections to its members. A member reports when it takes jobs, and requests the counts of the
 * others: the hub passes requests and answers on, and keeps nothing. The members' side, `member_link.ts`, limits the wait.
 *
 * @module
 */
import { FrameConnection } from "../../handlers/isolation/ipc.ts";
import type { ServerCounts } from "../stats/counters.ts";
import type { ClassCounts } from "../stats/counters.ts";

/** Counts in a frame, without a `Map`. */
export interface CountsFrame extends Omit<ServerCounts, "classes"> {
  /** The version of the sender: the counts of another version may have another form. */
  readonly version: string;
  readonly classes: readonly (readonly [string, ClassCounts])[];
}

export type ToMember =
  /** The reply is `pong`. */
  | { readonly kind: "ping" }
  /** Requests its counts. */
  | { readonly kind: "ask"; readonly id: number; readonly by: number }
  /** The other members, and how many of them were asked: a member that is being started has no connection. */
  | { readonly kind: "asked"; readonly id: number; readonly others: readonly number[]; readonly asked: number }
  /** The counts of one of them. */
  | { readonly kind: "answer"; readonly id: number; readonly from: number; readonly counts: CountsFrame };

export type FromMember =
  /** It takes jobs. Its stop waits this long for running ones. */
  | { readonly kind: "ready"; readonly shutdownTimeoutMs: number }
  | { readonly kind: "pong" }
  /** Requests the counts of all others. */
  | { readonly kind: "ask"; readonly id: number }
  | { readonly kind: "answer"; readonly id: number; readonly to: number; readonly counts: CountsFrame };

type Line = FrameConnection<FromMember, ToMember>;

export class MemberHub {
  /** By the member's index. */
  readonly #lines = new Map<number, Line>();
  readonly #members: () => Iterable<number>;
  /** Pings without a reply. */
  readonly #pings = new Map<number, PromiseWithResolvers<void>>();

  /** @param members returns the indices of all members, including those that are being restarted */
  constructor(members: () => Iterable<number>) {
    this.#members = members;
  }

  /**
   * Serves one member; resolves when its connection has ended.
   *
   * @param onReady called when the member takes jobs, with its shutdown timeout
   */
  async serve(index: number, connection: Deno.Conn, onReady: (shutdownTimeoutMs: number) => void): Promise<void> {
    using line: Line = new FrameConnection(connection);
    this.#lines.set(index, line);
    await line.read((frame) => {
      if (frame.kind === "ready") onReady(frame.shutdownTimeoutMs);
      else if (frame.kind === "pong") this.#pings.get(index)?.resolve();
      else this.#pass(index, line, frame);
    });
    // Its successor may have connected already.
    if (this.#lines.get(index) === line) this.#lines.delete(index);
  }

  /** Resolves when a member has replied: its event loop turns. Never, if it has no connection. */
  ping(index: number): Promise<void> {
    let ping = this.#pings.get(index);
    if (ping === undefined) {
      this.#pings.set(index, ping = Promise.withResolvers<void>());
      void ping.promise.then(() => this.#pings.delete(index));
    }
    this.#lines.get(index)?.send({ kind: "ping" });
    return ping.promise;
  }

  #pass(index: number, line: Line, frame: Exclude<FromMember, { kind: "ready" | "pong" }>): void {
    if (frame.kind === "answer") {
      const { id, to, counts } = frame;
      this.#lines.get(to)?.send({ kind: "answer", id, from: index, counts });
      return;
    }
    const { id } = frame;
    const others = [...this.#members()].filter((other) => other !== index);
    const lines = others.flatMap((other) => this.#lines.get(other) ?? []);
    // Before the requests: the answers use the same connection.
    line.send({ kind: "asked", id, others, asked: lines.length });
    for (const other of lines) other.send({ kind: "ask", id, by: index });
  }
}
