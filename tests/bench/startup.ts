/**
 * The start time of the executable compared to a program on the same runtime that only prints a line, and the size of the
 * part that the project adds. Prints its figures. `main.ts` calls it, and it runs alone too:
 *
 *     deno run -A tests/bench/startup.ts
 */
import { pinnedDeno, runHere, useExecutable } from "../support/command.ts";
import { startRedis } from "../support/redis.ts";

const RUNS = 21;

/** The programs: name, arguments, and the largest ratio of its time to that of the other program. */
interface Case {
  readonly name: string;
  readonly command: readonly string[];
  readonly limit: number;
}

const folder = await Deno.makeTempDir({ prefix: "jobs-startup-" });
try {
  const jobs = await useExecutable();
  const hello = `${folder}/hello`;
  await Deno.writeTextFile(`${folder}/hello.js`, `console.log("hello");\n`);
  const DENORT_BIN = await runHere("scripts/test-denort.sh", []);
  const compile = ["compile", "--quiet", "--allow-all", "--no-config", "--no-code-cache", "--output", hello];
  await runHere(await pinnedDeno(), [...compile, `${folder}/hello.js`], { DENORT_BIN });
  await using redis = await startRedis();

  const cases: readonly Case[] = [
    { name: "hello", command: [hello], limit: 1 },
    { name: "jobs version", command: [jobs, "version"], limit: 1.5 },
    {
      name: "jobs push, SQLite",
      command: [jobs, "push", "Noop", "bob", "5", "--store", `sqlite:${folder}/jobs.db`],
      limit: 2.5,
    },
    { name: "jobs push, Redis", command: [jobs, "push", "Noop", "bob", "5", "--store", redis.url], limit: 4 },
  ];
  const times = await measure(cases);
  const hellos = times[0]!;
  for (const [i, { name, limit }] of cases.entries()) {
    const ratio = times[i]! / hellos;
    report(`start to exit: ${name}, ms`, times[i]!.toFixed(1));
    if (i > 0) report(`  times hello (at most ${limit})`, ratio.toFixed(2) + (ratio > limit ? "  !!" : ""));
  }
  const size = (await Deno.stat(jobs)).size - (await Deno.stat(DENORT_BIN)).size;
  report("embedded in addition to the runtime, MB (under 4)", (size / 1e6).toFixed(2) + (size > 4e6 ? "  !!" : ""));
} finally {
  await Deno.remove(folder, { recursive: true });
}

/** The median of each, in milliseconds. They take turns, so that other load slows all of them alike. */
async function measure(cases: readonly Case[]): Promise<number[]> {
  const times = cases.map((): number[] => []);
  for (let round = -2; round < RUNS; round++) {
    for (const [i, { command: [program, ...args] }] of cases.entries()) {
      const start = performance.now();
      await new Deno.Command(program!, { args, stdin: "null", stdout: "null", stderr: "null" }).output();
      if (round >= 0) times[i]!.push(performance.now() - start); // the first rounds fill caches
    }
  }
  return times.map((each) => each.sort((a, b) => a - b)[RUNS >> 1]!);
}

function report(what: string, figure: string): void {
  console.log(`${what.padEnd(60)} ${figure}`);
}
