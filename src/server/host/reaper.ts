/**
 * The reaper: as process 1 of a container, this process inherits the orphans of everything in it, and they stay zombies
 * until it waits for them. Deno waits only for children of its own, so this asks the C library. It runs only as PID 1.
 *
 * A child of our own is a zombie too, for a moment, until Deno has seen it end; taking it away would lose its exit code.
 * So only what was a zombie at the step before is reaped.
 *
 * @module
 */
import type { Clock } from "../../clock.ts";
import type { Log } from "../../log/log.ts";
import type { LoopBody } from "../component.ts";

const INTERVAL_MS = 2_000;
/** `waitpid` returns at once when the process has not ended. */
const WNOHANG = 1;

/** Its loop's task is `reaper`. */
export class Reaper implements LoopBody<void> {
  readonly name = "reaper";
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #libc = Deno.dlopen("libc.so.6", {
    waitpid: { parameters: ["i32", "pointer", "i32"], result: "i32" },
  });
  /** Zombies seen at the step before. */
  #seen = new Set<number>();

  constructor(options: { clock: Clock; log: Log }) {
    this.#clock = options.clock;
    this.#log = options.log;
  }

  /** Reaps what was a zombie last time and still is. */
  async step(): Promise<void> {
    const zombies = await findZombies();
    for (const pid of zombies) {
      if (this.#seen.has(pid) && this.#libc.symbols.waitpid(pid, null, WNOHANG) === pid) {
        this.#log.debug("Reaped an orphan", { pid });
        zombies.delete(pid);
      }
    }
    this.#seen = zombies;
  }

  rest(_result: void, signal: AbortSignal): Promise<void> {
    return this.#clock.sleep(INTERVAL_MS, signal);
  }

  /** Closes the C library. */
  end(): void {
    this.#libc.close();
  }
}

/** The children of this process that have ended and nobody has waited for. */
async function findZombies(): Promise<Set<number>> {
  const zombies = new Set<number>();
  const children = await Deno.readTextFile(`/proc/self/task/${Deno.pid}/children`);
  for (const pid of children.split(" ").filter(Boolean)) {
    const stat = await Deno.readTextFile(`/proc/${pid}/stat`).catch(() => "");
    // The name before it, in parentheses, may contain anything.
    if (stat.slice(stat.lastIndexOf(")") + 2).startsWith("Z")) zombies.add(Number(pid));
  }
  return zombies;
}
