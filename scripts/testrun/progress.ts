/**
 * The lines that a run prints: one for each task that has ended, one every ten seconds in between, and the summary.
 *
 * @module
 */
import type { Task } from "./plan.ts";
import type { TaskResult } from "./run_task.ts";

/** A progress line is printed at least this often. */
const HEARTBEAT_MS = 9_000;

/** Prints the progress of a run. */
export class Progress implements Disposable {
  readonly #total: number;
  readonly #print: (line: string) => void;
  readonly #running = new Map<Task, number>();
  #ended = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(total: number, print: (line: string) => void) {
    this.#total = total;
    this.#print = print;
    this.#restart();
  }

  started(task: Task): void {
    this.#running.set(task, performance.now());
  }

  ended(result: TaskResult): void {
    this.#running.delete(result.task);
    this.#ended++;
    this.#print(`${describeResult(result)}`);
    for (const { title, outcome } of result.tests) if (outcome === "failed") this.#print(`          ${title}`);
    this.#restart();
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#timer);
  }

  #restart(): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      const running = [...this.#running].map(([task, since]) => `${task.name} (${elapsed(since)})`);
      this.#print(`…         ${this.#ended} of ${this.#total} done; running: ${running.join(", ")}`);
      this.#restart();
    }, HEARTBEAT_MS);
  }
}

/** One line about a task: `ok        tests/cli/cron_test.ts  12 passed  5.1 s`. */
export function describeResult(result: TaskResult): string {
  const { passed, failed, skipped } = count([result]);
  const state = result.missing !== undefined ? "skipped" : failed > 0 ? "FAILED" : "ok";
  const parts = [
    ...(result.missing === undefined ? [] : [`${result.missing} not available`]),
    ...(result.failure === undefined ? [] : [result.failure]),
    ...(passed > 0 ? [`${passed} passed`] : []),
    ...(failed > 0 && result.failure === undefined ? [`${failed} failed`] : []),
    ...(skipped > 0 && result.missing === undefined ? [`${skipped} skipped`] : []),
    `${result.seconds.toFixed(1)} s (${result.cpuSeconds.toFixed(1)} s of a processor)`,
  ];
  return `${state.padEnd(9)} ${result.task.name.padEnd(44)} ${parts.join(", ")}`;
}

/** The totals of a run. A file that couldn't be loaded and a failed check count as one test each. */
export interface Totals {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
}

/** Adds up results. */
export function count(results: readonly TaskResult[]): Totals {
  const totals = { passed: 0, failed: 0, skipped: 0 };
  for (const { tests, failure, missing } of results) {
    for (const { outcome } of tests) totals[outcome]++;
    if (failure !== undefined) totals.failed++;
    if (missing !== undefined) totals.skipped++;
  }
  return totals;
}

/** The figures of a whole run, for its summary. */
export interface Run {
  /** How many of the slowest tests it names. */
  readonly slowest?: number;
  readonly seconds: number;
  /** The idle share of the processors, from 0 to 1; undefined where it is unknown. */
  readonly idle?: number | undefined;
  /** Lines about the whole run. */
  readonly notes?: readonly string[];
}

/** Returns the summary of a run: output of failed tasks, skipped tests with reasons, slowest tests, totals. */
export function summarize(results: readonly TaskResult[], { slowest = 0, seconds, idle, notes = [] }: Run): string[] {
  const totals = count(results);
  const lines: string[] = [];
  for (const result of results) {
    if (count([result]).failed === 0) continue;
    lines.push(
      "",
      `── ${result.task.name} ${"─".repeat(Math.max(0, 100 - result.task.name.length))}`,
      result.output.trimEnd(),
    );
  }
  for (const [reason, titles] of skippedByReason(results)) {
    lines.push("", `${titles.length} skipped: ${reason}`, ...titles.map((title) => `  ${title}`));
  }
  if (slowest > 0) lines.push("", `The slowest ${slowest} tests`, ...slowestTests(results, slowest));
  const { passed, failed, skipped } = totals;
  const skips = skipped > 0 ? `, ${skipped} skipped` : "";
  const busy = idle === undefined ? "" : `, processors ${Math.round((1 - idle) * 100)} % busy`;
  lines.push(
    "",
    ...notes,
    `${Math.floor(seconds / 60)} min ${Math.round(seconds % 60)} s${busy}`,
    `${passed} passed, ${failed} failed${skips}`,
  );
  return lines;
}

function skippedByReason(results: readonly TaskResult[]): Map<string, string[]> {
  const skipped = new Map<string, string[]>();
  const add = (reason: string, title: string) => skipped.set(reason, [...skipped.get(reason) ?? [], title]);
  for (const { task, tests, missing } of results) {
    if (missing !== undefined) add(`${missing} not available`, `${task.name}, all of its tests`);
    for (const { title, outcome, reason } of tests) {
      if (outcome === "skipped") add(reason ?? "unknown", `${task.name}: ${title}`);
    }
  }
  return skipped;
}

function slowestTests(results: readonly TaskResult[], limit: number): string[] {
  return results.flatMap(({ task, tests }) => tests.map((test) => ({ task, ...test })))
    .toSorted((a, b) => b.seconds - a.seconds).slice(0, limit)
    .map(({ task, title, seconds }) => `${seconds.toFixed(1).padStart(7)} s  ${task.name}: ${title}`);
}

function elapsed(since: number): string {
  return `${Math.round((performance.now() - since) / 1000)} s`;
}
