/**
 * How quickly the executable starts, compared to a program on the same runtime that only prints a line; and its memory.
 * Wall time, and processor time, which other programs on the machine affect less.
 *
 *     deno run -A tests/bench/startup.ts [ROUNDS]
 */
import { TextLineStream } from "@std/streams/text-line-stream";
import { Client } from "../../src/client/client.ts";
import { openStore } from "../../src/store/open.ts";
import { pinnedDeno, runHere, useExecutable } from "../support/command.ts";
import { until } from "../support/eventually.ts";
import { startRedis } from "../support/redis.ts";
import { cpuMsOf, formatNumber, formatSpread, inTurn, memoryOf, printTable, spreadOf } from "./measure.ts";

const [rounds = "15"] = Deno.args;
/** The memory of a worker that has just started still grows. */
const SETTLE_MS = 5_000;
const DRAINED = 100_000;

/** One start. */
interface Start {
  readonly wallMs: number;
  readonly cpuMs: number;
}

const folder = await Deno.makeTempDir({ prefix: "jobs-startup-" });
try {
  const jobs = await useExecutable();
  const DENORT_BIN = await runHere("scripts/test-denort.sh", []);
  const hello = await compile("hello", `console.log("hello");`, DENORT_BIN);
  const idle = await compile("idle", `console.log("hello"); setInterval(() => {}, 1_000_000);`, DENORT_BIN);
  const handlers = `${folder}/handlers.js`;
  await Deno.writeTextFile(handlers, "export function Noop() {}\n");
  await using redis = await startRedis();
  const stores = { SQLite: `sqlite:${folder}/jobs.db`, Redis: redis.url };
  const run = (url: string) => [jobs, "run", handlers, "--store", url];

  console.log("### Start\n");
  const push = (url: string) => () => toExit([jobs, "push", "Noop", "bob", "5", "--store", url]);
  const starts = await inTurn({
    "hello": () => toExit([hello]),
    "jobs --help": () => toExit([jobs, "--help"]),
    "jobs push, SQLite": push(stores.SQLite),
    "jobs push, Redis": push(stores.Redis),
    "jobs run until ready, SQLite": () => toReady(run(stores.SQLite)),
    "jobs run until ready, Redis": () => toReady(run(stores.Redis)),
  }, Number(rounds));
  printTable(
    ["command", "ms", "times hello", "CPU ms", "times hello"],
    Object.entries(starts).map(([name, each]) => [
      name,
      ...cells(each, starts["hello"]!, "wallMs"),
      ...cells(each, starts["hello"]!, "cpuMs"),
    ]),
  );

  console.log("### Memory\n");
  const own = await memoryAfter([idle], "hello", () => Promise.resolve());
  const rows = [["hello, idle", formatNumber(own / 1e6), "1"]];
  for (const [name, url] of Object.entries(stores)) {
    const before = await memoryAfter(run(url), "Ready", () => Promise.resolve());
    const after = await memoryAfter(run(url), "Ready", () => drainThrough(url));
    rows.push([`jobs run, ${name}, idle`, formatNumber(before / 1e6), (before / own).toFixed(2)]);
    rows.push([
      `jobs run, ${name}, peak while ${DRAINED} jobs drain`,
      formatNumber(after / 1e6),
      (after / own).toFixed(2),
    ]);
  }
  printTable(["process", "MB resident", "times hello"], rows);
  const size = (await Deno.stat(jobs)).size - (await Deno.stat(DENORT_BIN)).size;
  console.log(`embedded in addition to the runtime: ${(size / 1e6).toFixed(2)} MB\n`);
} finally {
  await Deno.remove(folder, { recursive: true });
}

/** Compiles a program on the same runtime. Returns its path. */
async function compile(name: string, source: string, runtime: string): Promise<string> {
  await Deno.writeTextFile(`${folder}/${name}.js`, source);
  const args = [
    "compile",
    "--quiet",
    "--allow-all",
    "--no-config",
    "--no-code-cache",
    "--output",
    `${folder}/${name}`,
  ];
  await runHere(await pinnedDeno(), [...args, `${folder}/${name}.js`], { DENORT_BIN: runtime });
  return `${folder}/${name}`;
}

function cells(each: readonly Start[], first: readonly Start[], name: keyof Start): string[] {
  const ratio = spreadOf(each.map((start, i) => start[name] / first[i]![name]));
  return [formatSpread(spreadOf(each.map((start) => start[name]))), ratio.median.toFixed(2)];
}

/** Runs a command until it exits. The shell measures its processor time. */
async function toExit(command: readonly string[]): Promise<Start> {
  const script = `TIMEFORMAT="%3R %3U %3S"; time "$@" >/dev/null 2>&1`;
  const { stderr } = await new Deno.Command("bash", { args: ["-c", script, "bash", ...command] }).output();
  const [real, user, system] = new TextDecoder().decode(stderr).trim().split(" ").map(Number);
  return { wallMs: real! * 1_000, cpuMs: (user! + system!) * 1_000 };
}

/** Starts a worker, and stops it when it is ready. */
async function toReady(command: readonly string[]): Promise<Start> {
  const start = performance.now();
  return await whileRunning(command, "Ready", async (pid) => ({
    wallMs: performance.now() - start,
    cpuMs: await cpuMsOf(pid),
  }));
}

async function memoryAfter(command: readonly string[], line: string, load: () => Promise<void>): Promise<number> {
  return await whileRunning(command, line, async (pid) => {
    await new Promise((resolve) => setTimeout(resolve, SETTLE_MS));
    let most = await memoryOf(pid);
    const sampling = setInterval(async () => most = Math.max(most, await memoryOf(pid)), 50);
    await load();
    clearInterval(sampling);
    return Math.max(most, await memoryOf(pid));
  });
}

/** Pushes jobs, and waits until another process has performed them. */
async function drainThrough(url: string): Promise<void> {
  await using store = await openStore(url);
  const { processed } = await store.admin.stats();
  const args = Array.from({ length: DRAINED }, (_, i) => ["bob", i]);
  await new Client({ store, onUnregistered: () => {} }).pushBulk({ class: "Noop", args });
  await until(async () => (await store.admin.stats()).processed - processed >= DRAINED);
}

/** Runs a command, and calls `use` when it has printed a line that contains the text. Ends it afterwards. */
async function whileRunning<Result>(
  [program, ...args]: readonly string[],
  text: string,
  use: (pid: number) => Promise<Result>,
): Promise<Result> {
  const options = { args, stdin: "null", stdout: "piped", stderr: "piped" } as const;
  const child = new Deno.Command(program!, options).spawn();
  const seen = Promise.withResolvers<void>();
  const read = async (stream: ReadableStream<Uint8Array>) => {
    for await (const line of stream.pipeThrough(new TextDecoderStream()).pipeThrough(new TextLineStream())) {
      if (line.includes(text)) seen.resolve();
    }
  };
  const reading = [read(child.stdout), read(child.stderr)];
  try {
    await seen.promise;
    return await use(child.pid);
  } finally {
    child.kill("SIGTERM");
    await child.status;
    await Promise.all(reading);
  }
}
