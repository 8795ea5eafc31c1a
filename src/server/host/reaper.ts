/**
 * The reaper: as process 1 of a container, this process inherits all orphans, which stay zombies until it waits for them. Deno
 * only waits for children that it has started, so the reaper calls the C library. It runs only as PID 1.
 *
 * A child that Deno has started is a zombie, too, until Deno has noticed its end. Reaping it would lose its exit code: so a
 * process is reaped only if it was a zombie at the previous step as well.
 *
 * @module
 */
import type { Clock } from "../../clock.ts";
import type { Log } from "../../log/log.ts";
import { Loop, type LoopBody } from "../component.ts";
import { Tasks } from "../control/tasks.ts";

const INTERVAL_MS = 2_000;
/** Lets `waitpid` return at once if the process has not ended. */
const WNOHANG = 1;

export class Reaper implements LoopBody<void> {
  readonly name = "reaper";
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #libc = Deno.dlopen("libc.so.6", {
    waitpid: { parameters: ["i32", "pointer", "i32"], result: "i32" },
  });
  /** Zombies at the previous step. */
  #seen = new Set<number>();

  constructor(options: { clock: Clock; log: Log }) {
    this.#clock = options.clock;
    this.#log = options.log;
  }

  /** Reaps processes that were zombies at the previous step. */
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

  end(): void {
    this.#libc.close();
  }
}

/** Reaps until the signal aborts, in a process without other loops. */
export function reapUntil(over: AbortSignal, { clock, log }: { readonly clock: Clock; readonly log: Log }): void {
  const reaper = new Loop(new Reaper({ clock, log }), { clock, log, tasks: new Tasks(clock) });
  reaper.start();
  over.addEventListener("abort", () => void reaper.stop());
}

/** Returns the children of this process that have ended and were not waited for. */
async function findZombies(): Promise<Set<number>> {
  const zombies = new Set<number>();
  const children = await Deno.readTextFile(`/proc/self/task/${Deno.pid}/children`);
  for (const pid of children.split(" ").filter(Boolean)) {
    const stat = await Deno.readTextFile(`/proc/${pid}/stat`).catch(() => "");
    // The name before the state, in parentheses, may contain anything.
    if (stat.slice(stat.lastIndexOf(")") + 2).startsWith("Z")) zombies.add(Number(pid));
  }
  return zombies;
}
