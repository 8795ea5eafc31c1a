/**
 * The supervisor's side of its connections to its members. It hears when a member takes jobs, and passes on what members
 * ask one another. It keeps nothing, and how long to wait is decided by the one that asks. The members' side is `member_link.ts`.
 *
 * @module
 */
import { FrameConnection } from "../../handlers/isolation/ipc.ts";
import type { ServerCounts } from "../stats/counters.ts";
import type { ClassCounts } from "../stats/counters.ts";

/** Counts as they travel: a `Map` does not. */
export interface CountsFrame extends Omit<ServerCounts, "classes"> {
  /** Whose counts these are; another version's may have another form. */
  readonly version: string;
  readonly classes: readonly (readonly [string, ClassCounts])[];
}

/** To a member. */
export type ToMember =
  /** Asks what it has counted. */
  | { readonly kind: "ask"; readonly id: number; readonly by: number }
  /** Who else there is, and which of them were asked: one that is just being started has no connection. */
  | { readonly kind: "asked"; readonly id: number; readonly others: readonly number[]; readonly asked: number }
  /** What one of them has counted. */
  | { readonly kind: "answer"; readonly id: number; readonly from: number; readonly counts: CountsFrame };

/** From a member. */
export type FromMember =
  /** It takes jobs. */
  | { readonly kind: "ready" }
  /** Asks what all others have counted. */
  | { readonly kind: "ask"; readonly id: number }
  | { readonly kind: "answer"; readonly id: number; readonly to: number; readonly counts: CountsFrame };

type Line = FrameConnection<FromMember, ToMember>;

/** Passes on. */
export class MemberHub {
  /** By the member's index. */
  readonly #lines = new Map<number, Line>();
  readonly #members: () => Iterable<number>;

  /** @param members the indices of those that are kept running, also while one of them is being started again */
  constructor(members: () => Iterable<number>) {
    this.#members = members;
  }

  /**
   * Serves one member; resolves when its connection has ended.
   *
   * @param onReady called when it takes jobs
   */
  async serve(index: number, connection: Deno.Conn, onReady: () => void): Promise<void> {
    using line: Line = new FrameConnection(connection);
    this.#lines.set(index, line);
    await line.read((frame) => frame.kind === "ready" ? onReady() : this.#pass(index, line, frame));
    // The next one may be here already.
    if (this.#lines.get(index) === line) this.#lines.delete(index);
  }

  #pass(index: number, line: Line, frame: Exclude<FromMember, { kind: "ready" }>): void {
    if (frame.kind === "answer") {
      const { id, to, counts } = frame;
      this.#lines.get(to)?.send({ kind: "answer", id, from: index, counts });
      return;
    }
    const { id } = frame;
    const others = [...this.#members()].filter((other) => other !== index);
    const lines = others.flatMap((other) => this.#lines.get(other) ?? []);
    // First of all: the answers come on the same way.
    line.send({ kind: "asked", id, others, asked: lines.length });
    for (const other of lines) other.send({ kind: "ask", id, by: index });
  }
}
