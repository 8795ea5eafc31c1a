/**
 * `make simulate`: runs seeds on all processors of the machine.
 *
 * @module
 */
import { parseArgs } from "node:util";
import { GROUNDS, PROCESSES } from "./ground.ts";
import { planOf } from "./planner.ts";
import { run } from "./run.ts";
import { simulate } from "./simulate.ts";
import { denoCommand } from "../../scripts/deno_command.ts";

/** A broken rule usually breaks in many seeds. */
const MAX_FAILURES = 5;

const { values: options } = parseArgs({
  options: {
    seeds: { type: "string", default: "1000" },
    first: { type: "string", default: "1" },
    store: { type: "string", default: "sqlite" },
    log: { type: "boolean", default: false },
    /** The seeds of one process. */
    part: { type: "string" },
    /** Prints the first failure without its trace, and ends. */
    brief: { type: "boolean", default: false },
  },
});
const open = GROUNDS[options.store] ?? refuse("STORE", options.store, Object.keys(GROUNDS).join(", "));
const parts = PROCESSES[options.store]!;
const first = numberOf("FIRST", options.first);
const end = first + numberOf("SEEDS", options.seeds);

if (options.log) await showLog();
else if (options.part !== undefined) await runPart(first + Number(options.part));
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

/** Runs the seeds of one process. Prints how many runs, events and failures there were. */
async function runPart(from: number): Promise<void> {
  await using ground = await open();
  const total = { runs: 0, events: 0, failures: 0 };
  // `prove.ts` ends the other parts when one has found a failure. The server of the store would stay.
  let isEnding = false;
  Deno.addSignalListener("SIGTERM", () => isEnding = true);
  for (let seed = from; seed < end && total.failures < MAX_FAILURES && !isEnding; seed += parts) {
    const { events, failure } = await simulate(ground, seed, options.brief);
    total.runs++;
    total.events += events;
    if (failure === undefined) continue;
    if (options.brief) return console.log(failure);
    total.failures++;
    console.error(`${failure}\n`);
  }
  console.log(JSON.stringify(total));
}

async function runAll(): Promise<void> {
  const began = performance.now();
  const outputs = Array.from({ length: parts }, (_, part) => {
    const options = ["-A", "--no-check", import.meta.filename!, ...Deno.args, "--part", `${part}`];
    const [program, ...args] = denoCommand("run", ...options);
    return new Deno.Command(program, { args, stdout: "piped", stderr: "inherit" }).output();
  });
  const total = { runs: 0, events: 0, failures: 0 };
  for (const { success, stdout } of await Promise.all(outputs)) {
    const part = success ? JSON.parse(new TextDecoder().decode(stdout)) : { runs: 0, events: 0, failures: 1 };
    for (const name of ["runs", "events", "failures"] as const) total[name] += part[name];
  }
  const seconds = (performance.now() - began) / 1_000;
  const rate = (total.runs / seconds).toFixed(1);
  console.log(
    `${total.runs} schedules, ${total.events} events in ${seconds.toFixed(0)} s (${rate}/s): ${total.failures} failed`,
  );
  if (total.failures > 0) Deno.exit(1);
}
