/**
 * `make soak`: real workers on a real store, killed, frozen, cut off and starved at random, then an exact account.
 *
 *   make soak MINUTES=10 STORE=both SEED=1
 *   deno run -A tests/soak/main.ts --seconds 30 --store redis --seed 1 --only "kill,freeze" --keep
 *
 * With both stores, they are soaked at the same time. Exits with 1 when something was found: a job lost or stuck, an
 * execution that the disturbances do not explain, or any other line of the report that should be 0.
 */
import { bundleForTests } from "../../scripts/testrun/bundle.ts";
import { startOf, useCommand } from "../support/command.ts";
import { MissingTool } from "../support/tools.ts";
import { type CommandLine, readOptions } from "./options.ts";
import { signal } from "./processes.ts";
import { isClean, report, reportLine } from "./report.ts";
import { soak } from "./soak.ts";
import { denoCommand } from "../../scripts/deno_command.ts";

/** The first module of a bundle of the program: a worker that is started from it needs half the processor time. */
const BUNDLE = "TEST_JOBS_MAIN";

const stop = new AbortController();
for (const name of ["SIGINT", "SIGTERM", "SIGHUP"] as const) Deno.addSignalListener(name, () => stop.abort());
Deno.exit(await main());

async function main(): Promise<number> {
  let folder: string | undefined;
  try {
    const options = readOptions(Deno.args);
    folder = await Deno.makeTempDir({ prefix: "jobs-soak-" });
    const { stores, durationMs, seed } = options;
    console.log(`Soaking ${stores.join(" and ")} for ${durationMs / 1_000} s, seed ${seed}; logs in ${folder}`);
    await provideBundle(folder);
    const isClean = stores.length > 1 ? await soakApart(options) : await soakHere(options, folder);
    if (stores.length > 1 || isClean && !options.keep) await Deno.remove(folder, { recursive: true });
    return stop.signal.aborted ? 130 : isClean ? 0 : 1;
  } catch (error) {
    if (stop.signal.aborted) return 130;
    console.error(error instanceof MissingTool || error instanceof RangeError ? `soak: ${error.message}` : error);
    return 2;
  }
}

async function provideBundle(folder: string): Promise<void> {
  if (!Deno.env.has(BUNDLE)) {
    await Deno.mkdir(`${folder}/jobs`);
    Deno.env.set(BUNDLE, await bundleForTests(`${folder}/jobs`));
  }
  useCommand(startOf(Deno.env.get(BUNDLE)!));
}

async function soakHere({ stores, ...options }: CommandLine, folder: string): Promise<boolean> {
  const result = await soak({ ...options, store: stores[0]!, folder, signal: stop.signal });
  console.log(`\n${report(result)}\n\n${reportLine(result)}`);
  return isClean(result);
}

/** Soaks each store in a separate process, so that a busy soak doesn't delay the lines of the other. */
async function soakApart({ stores, seed }: CommandLine): Promise<boolean> {
  const ended = await Promise.all(stores.map(async (store) => {
    const options = [...Deno.args, "--store", store, "--seed", String(seed)];
    const [program, ...args] = denoCommand("run", "-A", import.meta.filename!, ...options);
    const child = new Deno.Command(program, { args, stdin: "null", stdout: "piped" }).spawn();
    stop.signal.addEventListener("abort", () => signal(child.pid, "SIGTERM"));
    return await child.output();
  }));
  for (const { stdout } of ended) await Deno.stdout.write(stdout);
  return ended.every(({ success }) => success);
}
