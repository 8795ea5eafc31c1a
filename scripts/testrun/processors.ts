/**
 * How busy the processors of the machine are.
 *
 * @module
 */

/** Processors are watched for this long before another task starts. */
const WATCH_MS = 3_000;

/** The unit of `/proc/stat` on all platforms that Deno has executables for. */
const TICKS_PER_SECOND = 100;

/** The times of all processors since the machine has started, in ticks. */
export interface ProcessorTimes {
  readonly all: number;
  readonly idle: number;
}

/** Watches the processors for a while, and returns their idle share; 0 where it is unknown. */
export async function idleShare(): Promise<number> {
  const before = processorTimes();
  await new Promise((resolve) => setTimeout(resolve, WATCH_MS));
  return idleSince(before) ?? 0;
}

/** Returns the idle share of the processors, from 0 to 1; undefined where it is unknown. */
export function idleSince(before: ProcessorTimes, after: ProcessorTimes = processorTimes()): number | undefined {
  return after.all > before.all ? (after.idle - before.idle) / (after.all - before.all) : undefined;
}

/** Returns the seconds of all processors, and those of them that were busy; undefined where they are unknown. */
export function busySeconds(
  before: ProcessorTimes,
  after: ProcessorTimes = processorTimes(),
): { all: number; busy: number } | undefined {
  if (after.all === before.all) return undefined;
  const all = (after.all - before.all) / TICKS_PER_SECOND;
  return { all, busy: all - (after.idle - before.idle) / TICKS_PER_SECOND };
}

/** Returns the times until now; zeros where they are unknown. A processor that waits for a disk has nothing else to do: it is idle. */
export function processorTimes(stat: string = read("/proc/stat")): ProcessorTimes {
  // user nice system idle iowait irq softirq steal
  const times = stat.split("\n", 1)[0]!.split(/ +/).slice(1, 9).map(Number);
  return { all: times.reduce((sum, one) => sum + one, 0), idle: (times[3] ?? 0) + (times[4] ?? 0) };
}

function read(path: string): string {
  try {
    return Deno.readTextFileSync(path);
  } catch {
    return "";
  }
}
