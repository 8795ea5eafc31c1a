/**
 * The peers: the other processes of the same supervisor, as one of them sees them. Each says what it has counted when
 * another asks, so that the one with the web can tell Prometheus of all. The way between is `exchange.ts`.
 *
 * @module
 */
import type { Clock } from "../clock.ts";
import { FrameConnection } from "../handlers/frames.ts";
import { VERSION } from "../version.ts";
import type { CountsFrame, FromMember, ToMember } from "./exchange.ts";
import type { MemberTold } from "./membership.ts";
import type { ServerCounts } from "./tally.ts";

/** What one of them has counted. */
export interface PeerCounts {
  /** Which one it is, from 1. */
  readonly process: number;
  /** Undefined when it did not say in time, or was of another version. */
  readonly counts: ServerCounts | undefined;
}

/** One whose event loop does not turn is not waited for any longer: who scrapes has a bound, too. */
const PATIENCE_MS = 2_000;

/** An asking under way. */
interface Asking {
  others: readonly number[];
  /** How many were asked; unknown until the supervisor says so. */
  asked: number;
  readonly answers: Map<number, CountsFrame>;
  readonly over: AbortController;
}

/** What it is made with. */
export interface PeersOptions {
  /** What this process has counted, as of now. */
  readonly counts: () => ServerCounts;
  readonly clock: Clock;
  /** Called once when the connection has ended: the supervisor is gone, or this process goes. */
  readonly onEnd?: () => void;
}

/** The others. */
export class Peers implements Disposable {
  readonly #socket: Deno.Conn;
  readonly #line: FrameConnection<ToMember, FromMember>;
  readonly #options: PeersOptions;
  readonly #askings = new Map<number, Asking>();
  #lastId = 0;

  private constructor(socket: Deno.Conn, options: PeersOptions) {
    this.#socket = socket;
    this.#line = new FrameConnection(socket);
    this.#options = options;
    void this.#line.read((frame) => this.#receive(frame)).then(() => {
      this.#line[Symbol.dispose]();
      for (const { over } of this.#askings.values()) over.abort();
      options.onEnd?.();
    });
  }

  /** Connects; undefined when the supervisor knows of no exchange, or is gone: `sayReady` learns of that. */
  static async join({ address, exchange }: MemberTold, options: PeersOptions): Promise<Peers | undefined> {
    if (exchange === undefined) return undefined;
    try {
      const socket = await Deno.connect({ transport: "unix", path: address });
      await socket.write(new TextEncoder().encode(exchange));
      return new Peers(socket, options);
    } catch {
      return undefined;
    }
  }

  /** What the others have counted; takes at most two seconds. */
  async counts(): Promise<PeerCounts[]> {
    const id = ++this.#lastId;
    const asking: Asking = { others: [], asked: Infinity, answers: new Map(), over: new AbortController() };
    this.#askings.set(id, asking);
    this.#line.send({ kind: "ask", id });
    await this.#options.clock.sleep(PATIENCE_MS, asking.over.signal);
    this.#askings.delete(id);
    return asking.others.map((process) => ({ process, counts: unpack(asking.answers.get(process)) }));
  }

  /** Says that it is going: the supervisor closes, and the reading ends. Closing would not end a reading under way. */
  [Symbol.dispose](): void {
    this.#socket.closeWrite().catch(() => {}); // it is closed already
  }

  #receive(frame: ToMember): void {
    if (frame.kind === "ask") {
      const { id, by } = frame;
      this.#line.send({ kind: "answer", id, to: by, counts: pack(this.#options.counts()) });
      return;
    }
    const asking = this.#askings.get(frame.id);
    if (asking === undefined) return; // too late
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
