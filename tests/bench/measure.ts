import { denoCommand, outputOf } from "../../scripts/deno_command.ts";
/**
 * How figures are measured and printed: in turns, as medians with their spread, as Markdown tables.
 *
 * @module
 */

/** The project's folder. */
export const ROOT = new URL("../../", import.meta.url).pathname;

/** The median of several runs, and the lowest and the highest. */
export interface Spread {
  readonly median: number;
  readonly min: number;
  readonly max: number;
}

/** Returns the spread of at least one value. */
export function spreadOf(values: readonly number[]): Spread {
  const sorted = values.toSorted((a, b) => a - b);
  const half = sorted.length >> 1;
  const median = sorted.length % 2 === 1 ? sorted[half]! : (sorted[half - 1]! + sorted[half]!) / 2;
  return { median, min: sorted[0]!, max: sorted.at(-1)! };
}

/** Formats a spread: `12,300 (11,900–12,800)`. */
export function formatSpread({ median, min, max }: Spread): string {
  return `${formatNumber(median)} (${formatNumber(min)}–${formatNumber(max)})`;
}

/** Formats a number with three significant digits below 1,000, and as a whole number above. */
export function formatNumber(value: number): string {
  return value >= 1_000 ? Math.round(value).toLocaleString("en") : String(Number(value.toPrecision(3)));
}

/**
 * Runs each case once per round, one after the other, so that other load on the machine affects all of them alike. The
 * order changes from round to round.
 *
 * @returns the results of each case, in the order of the rounds
 */
export async function inTurn<Result>(
  cases: Readonly<Record<string, () => Promise<Result>>>,
  rounds: number,
): Promise<Record<string, Result[]>> {
  const results: Record<string, Result[]> = Object.fromEntries(Object.keys(cases).map((name) => [name, []]));
  const names = Object.keys(cases);
  for (let round = 0; round < rounds; round++) {
    const first = round % names.length;
    for (const name of [...names.slice(first), ...names.slice(0, first)]) results[name]!.push(await cases[name]!());
  }
  return results;
}

/** Prints a table in Markdown. */
export function printTable(head: readonly string[], rows: readonly (readonly string[])[]): void {
  const widths = head.map((cell, i) => Math.max(cell.length, ...rows.map((row) => row[i]!.length)));
  const line = (cells: readonly string[]) => `| ${cells.map((cell, i) => cell.padEnd(widths[i]!)).join(" | ")} |`;
  console.log([line(head), line(widths.map((width) => "-".repeat(width))), ...rows.map(line), ""].join("\n"));
}

/**
 * Runs a script of this folder in a new process, and returns the JSON of its last line.
 *
 * @throws {Error} if it fails
 */
export async function runScript<Result>(name: string, ...args: readonly string[]): Promise<Result> {
  const command = denoCommand("run", "--allow-all", `${ROOT}tests/bench/${name}`, ...args);
  const { success, stdout } = await outputOf(command, { stderr: "inherit" });
  if (!success) throw new Error(`${name} ${args.join(" ")} failed`);
  return JSON.parse(stdout.trim().split("\n").at(-1)!);
}

/** Returns the machine and the moment, in one line. Names the load of other programs, which makes figures worse. */
export async function describeMachine(): Promise<string> {
  const cpu = (await Deno.readTextFile("/proc/cpuinfo")).match(/model name\s*:\s*(.*)/)?.[1] ?? "unknown processor";
  const [load] = Deno.loadavg();
  return `${navigator.hardwareConcurrency} cores, ${cpu}, Deno ${Deno.version.deno}, load ${load!.toFixed(1)}, ${
    new Date().toISOString()
  }`;
}

/** Returns the processor time of a process in milliseconds. */
export async function cpuMsOf(pid: number): Promise<number> {
  const fields = (await Deno.readTextFile(`/proc/${pid}/stat`)).split(") ")[1]!.split(" ");
  return (Number(fields[11]) + Number(fields[12])) * 10;
}

/** Returns the resident memory of a process in bytes; 0 if it has ended. */
export async function memoryOf(pid: number): Promise<number> {
  const status = await Deno.readTextFile(`/proc/${pid}/status`).catch(() => "");
  return Number(status.match(/VmRSS:\s*(\d+)/)?.[1] ?? 0) * 1_024;
}
