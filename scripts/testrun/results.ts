/**
 * Reads the results of one `deno test`.
 *
 * @module
 */

import type { TitleFilter } from "./plan.ts";
import type { TaskResult } from "./run_task.ts";
import type { Timing, Timings } from "./timings.ts";

/** The result of one test, including its steps. */
export interface TestResult {
  readonly title: string;
  readonly outcome: "passed" | "failed" | "skipped";
  readonly seconds: number;
  /** The file that registered it, as Deno names it: `./tests/a_test.ts`. */
  readonly file: string;
  /** Why it was skipped. */
  readonly reason?: string;
}

/** The error of a test that needs a program which this machine lacks: `MissingTool` of `tests/support/tools.ts`. */
const MISSING = /MissingTool: (.+?) required/;

/** Reads Deno's JUnit report, without the tests that the filter leaves out. */
export function parseReport(xml: string, filter: TitleFilter): TestResult[] {
  const cases = [...xml.matchAll(/<testcase\b([^>]*)>([^]*?)<\/testcase>/g)].map(([, attributes, body]) =>
    readCase(attributes!, body!)
  ).filter(({ title, outcome }) => outcome !== "skipped" || filter.includes(title));
  const titles = new Set(cases.map(({ title }) => title));
  const isStep = ({ title }: TestResult) => parents(title).some((parent) => titles.has(parent));
  const steps = cases.filter(isStep);
  return cases.filter((one) => !isStep(one)).map((test) => {
    // A test is skipped, too, if all its failed steps lack a program.
    const skipped = steps.filter(({ title, outcome }) => outcome === "skipped" && title.startsWith(`${test.title} > `));
    const failed = steps.some(({ title, outcome }) => outcome === "failed" && title.startsWith(`${test.title} > `));
    return test.outcome === "failed" && skipped.length > 0 && !failed
      ? { ...test, outcome: "skipped", reason: skipped[0]!.reason! }
      : test;
  });
}

/** Returns what each file and each check took. The files of a group share its processor time in proportion to the time of their tests. */
export function timingsOf(results: readonly TaskResult[]): Timings {
  const timings: Record<string, Timing> = {};
  for (const { task, tests, seconds, cpuSeconds } of results) {
    if (task.files.length <= 1) {
      timings[task.name] = rounded(seconds, cpuSeconds);
      continue;
    }
    const shares = task.files.map((file) =>
      sum(tests.filter((test) => test.file.endsWith(`/${file}`)).map((test) => test.seconds))
    );
    const all = sum(shares) || 1;
    for (const [i, file] of task.files.entries()) {
      timings[file + task.variant] = rounded(seconds * shares[i]! / all, cpuSeconds * shares[i]! / all);
    }
  }
  return timings;
}

function rounded(seconds: number, cpu: number): Timing {
  return { seconds: Number(seconds.toFixed(2)), cpu: Number(cpu.toFixed(2)) };
}

function sum(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0);
}

/** Returns the missing program because of which a test file couldn't be loaded; undefined for other reasons. */
export function missingIn(output: string): string | undefined {
  return output.match(MISSING)?.[1];
}

function readCase(attributes: string, body: string): TestResult {
  const file = attribute(attributes, "classname");
  const result = { title: attribute(attributes, "name"), seconds: Number(attribute(attributes, "time")), file };
  if (/<skipped\b/.test(body)) return { ...result, outcome: "skipped", reason: "ignored in the source" };
  if (!/<(failure|error)\b/.test(body)) return { ...result, outcome: "passed" };
  const missing = missingIn(decode(body));
  return missing === undefined
    ? { ...result, outcome: "failed" }
    : { ...result, outcome: "skipped", reason: `${missing} not available` };
}

/** The titles that a step's title may begin with: `test > step > step`. */
function parents(title: string): string[] {
  const parts = title.split(" > ");
  return parts.slice(1).map((_, i) => parts.slice(0, i + 1).join(" > "));
}

function attribute(attributes: string, name: string): string {
  return decode(attributes.match(new RegExp(`\\b${name}="([^"]*)"`))?.[1] ?? "");
}

function decode(text: string): string {
  const named: Readonly<Record<string, string>> = { lt: "<", gt: ">", quot: '"', apos: "'", amp: "&" };
  return text.replace(
    /&(?:(lt|gt|quot|apos|amp)|#(\d+));/g,
    (_all, name, code) => name === undefined ? String.fromCodePoint(Number(code)) : named[name]!,
  );
}
