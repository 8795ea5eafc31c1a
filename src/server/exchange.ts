/**
 * The exchange: what the members of one supervisor ask of one another goes through the supervisor. It passes on and keeps
 * nothing; how long to wait is decided by who asks. The members' side is `peers.ts`.
 *
 * It is a connection beside the one that says who is ready, so that processes of two versions under one supervisor
 * understand each other as far as they can: a new executable, then HUP.
 *
 * @module
 */
import { FrameConnection } from "../handlers/frames.ts";
import type { ServerCounts } from "./tally.ts";
import type { ClassCounts } from "./totals.ts";

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
  /** Asks what all others have counted. */
  | { readonly kind: "ask"; readonly id: number }
  | { readonly kind: "answer"; readonly id: number; readonly to: number; readonly counts: CountsFrame };

type Line = FrameConnection<FromMember, ToMember>;

/** Passes on. */
export class Exchange {
  /** By the member's index. */
  readonly #lines = new Map<number, Line>();
  readonly #members: () => Iterable<number>;

  /** @param members the indices of those that are kept running, also while one of them is being started again */
  constructor(members: () => Iterable<number>) {
    this.#members = members;
  }

  /** Passes on what a member says, and what it is told; resolves when it is gone. */
  async serve(index: number, connection: Deno.Conn): Promise<void> {
    const line: Line = new FrameConnection(connection);
    this.#lines.set(index, line);
    await line.read((frame) => this.#pass(index, line, frame));
    // The next one may be here already.
    if (this.#lines.get(index) === line) this.#lines.delete(index);
  }

  #pass(index: number, line: Line, frame: FromMember): void {
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
