/**
 * Processes of this machine, named so that another process can tell whether they still run. Linux only: elsewhere nothing is known.
 *
 * @module
 */

/** `ended`: it no longer runs. `stopped`: a signal has stopped it (`SIGSTOP`), until another one continues it. */
export type ProcessState = "ended" | "stopped";

/** The part of a worker's record that names its process. */
export interface NamedProcess {
  readonly id: string;
  readonly pid: number;
  /** See {@linkcode processKey}. */
  readonly processKey?: string | undefined;
}

/**
 * Returns a name for this process: the boot of the machine, the PID namespace and the time of the start. A process with the same first
 * two sees the same PIDs, and the time tells whether a PID is used again. Returns undefined without `/proc`, or permission to read it.
 */
export function processKey(): string | undefined {
  try {
    return `${scope()}:${startOf(read("self"))}`;
  } catch {
    return undefined;
  }
}

/** Returns the processes that no longer run or are stopped, by the ID of their worker. Those of other machines are left out. */
export function endedProcesses(workers: readonly NamedProcess[]): ReadonlyMap<string, ProcessState> {
  if (workers.every((worker) => worker.processKey === undefined)) return new Map();
  try {
    const here = `${scope()}:`;
    const local = workers.filter(({ processKey }) => processKey?.startsWith(here));
    return new Map(local.flatMap(({ id, pid, processKey }) => {
      const state = stateOf(pid, processKey!.slice(here.length));
      return state === undefined ? [] : [[id, state]];
    }));
  } catch {
    return new Map();
  }
}

function stateOf(pid: number, start: string): ProcessState | undefined {
  let stat: string;
  try {
    stat = read(pid);
  } catch (error) {
    // Where others' processes are hidden (hidepid), that of init is, too.
    return error instanceof Deno.errors.NotFound && isVisible(1) ? "ended" : undefined;
  }
  if (startOf(stat) !== start) return "ended";
  const state = fieldsOf(stat)[0];
  // Its parent hasn't read the exit code of a zombie yet.
  return state === "Z" || state === "X" ? "ended" : state === "T" ? "stopped" : undefined;
}

function isVisible(pid: number): boolean {
  try {
    return read(pid) !== "";
  } catch {
    return false;
  }
}

/** Returns the boot of the machine and the PID namespace. */
function scope(): string {
  const boot = Deno.readTextFileSync("/proc/sys/kernel/random/boot_id").slice(0, 8);
  return `${boot}:${Deno.readLinkSync("/proc/self/ns/pid").replaceAll(/\D/g, "")}`;
}

function read(pid: number | "self"): string {
  return Deno.readTextFileSync(`/proc/${pid}/stat`);
}

/** Returns when a process started, in ticks since the boot. */
function startOf(stat: string): string {
  return fieldsOf(stat)[19]!;
}

/** Returns the fields from the state on. The name of the program before it, in parentheses, may contain any character. */
function fieldsOf(stat: string): string[] {
  return stat.slice(stat.lastIndexOf(")") + 2).split(" ");
}
