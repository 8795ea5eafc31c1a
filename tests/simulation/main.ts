/**
 * `make simulate`: runs seeds on all processors of the machine.
 *
 * @module
 */
import { parseArgs } from "node:util";
import { planOf } from "./plan.ts";
import { run } from "./run.ts";
import { simulate, type Tally } from "./simulate.ts";
import { GROUNDS } from "./grounds.ts";

/** A failing rule usually fails in many seeds. */
const MAX_FAILURES = 5;

const { values: options } = parseArgs({
  options: {
    seeds: { type: "string", default: "1000" },
    first: { type: "string", default: "1" },
    store: { type: "string", default: "sqlite" },
    log: { type: "boolean", default: false },
    part: { type: "string" },
  },
});
const open = GROUNDS[options.store] ?? refuse("STORE", options.store, Object.keys(GROUNDS).join(", "));
const first = numberOf("FIRST", options.first);
const seeds = numberOf("SEEDS", options.seeds);

if (options.log) await showLog();
else if (options.part !== undefined) await runPart(Number(options.part));
else await runAll();

function numberOf(name: string, text: string): number {
  return /^\d{1,15}$/.test(text) ? Number(text) : refuse(name, text, "a whole number, for example 1000");
}

function refuse(name: string, text: string, expected: string): never {
  console.error(`Invalid ${name} "${text}": expected ${expected}`);
  Deno.exit(2);
}

async function showLog(): Promise<void> {
  await using ground = await open();
  const { failure, log } = await run(ground, planOf(first), { log: true });
  console.log(log.join("\n"));
  if (failure) Deno.exitCode = 1;
}

/** Runs the seeds of one processor. Prints its tally as a line of JSON. */
async function runPart(part: number): Promise<void> {
  const own = function* () {
    for (let seed = first + part; seed < first + seeds; seed += navigator.hardwareConcurrency) yield seed;
  };
  await using ground = await open();
  let failures = 0;
  const tally: Tally = { runs: 0, events: 0, failures: [] };
  for (const seed of own()) {
    if (failures >= MAX_FAILURES) break;
    const one = await simulate(ground, [seed], () => false);
    tally.runs += one.runs;
    tally.events += one.events;
    tally.failures.push(...one.failures);
    failures += one.failures.length;
    for (const text of one.failures) console.error(`${text}\n`);
  }
  console.log(JSON.stringify({ ...tally, failures }));
}

async function runAll(): Promise<void> {
  const began = performance.now();
  const parts = Array.from({ length: navigator.hardwareConcurrency }, (_, part) =>
    new Deno.Command(Deno.execPath(), {
      args: ["run", "-A", "--no-check", import.meta.filename!, ...Deno.args, "--part", String(part)],
      stdout: "piped",
      stderr: "inherit",
    }).output());
  let runs = 0;
  let events = 0;
  let failed = 0;
  for (const { code, stdout } of await Promise.all(parts)) {
    const line = new TextDecoder().decode(stdout).trim();
    if (code !== 0 || line === "") {
      failed++;
      continue;
    }
    const part = JSON.parse(line);
    runs += part.runs;
    events += part.events;
    failed += part.failures;
  }
  const seconds = (performance.now() - began) / 1_000;
  console.log(
    `${runs} schedules, ${events} events in ${seconds.toFixed(0)} s (${
      (runs / seconds).toFixed(1)
    } schedules/s): ${failed} failed`,
  );
  if (failed > 0) Deno.exit(1);
}
