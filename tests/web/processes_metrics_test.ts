/** The one `/metrics` of `jobs run --processes` for all of its workers. One supervisor runs through the tests in order. */
import { assert, assertEquals } from "@std/assert";
import { Bench } from "../support/bench.ts";
import type { JobsProcess, LoggedLine } from "../support/process.ts";
import { promtool } from "../support/promtool.ts";
import { freePort } from "../support/redis.ts";

const HANDLER = "export function More() {}";

/** One reading of `/metrics`. */
class Scrape {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }

  /** The value of a series; undefined without it. */
  value(series: string): number | undefined {
    const line = this.text.split("\n").find((line) => line.startsWith(`${series} `));
    return line === undefined ? undefined : Number(line.slice(series.length + 1));
  }

  /** Successful jobs of this class, by worker. */
  performed(name: string): (number | undefined)[] {
    return [1, 2].map((process) =>
      this.value(`jobs_performed_total{process="${process}",class="${name}",outcome="succeeded"}`)
    );
  }

  /** The workers that replied. */
  get up(): (number | undefined)[] {
    return [1, 2].map((process) => this.value(`jobs_process_up{process="${process}"}`));
  }
}

let bench: Bench;
let server: JobsProcess;
let web: string;

/** Two workers with one processor each. */
Deno.test.beforeAll(async () => {
  bench = await Bench.open();
  const more = `${bench.folder}/more.js`;
  await Deno.writeTextFile(more, HANDLER);
  web = `127.0.0.1:${freePort()}`;
  server = await bench.server([more, "--processes", "2", "-c", "1", "--web", web]);
  await server.logged("All processes are ready");
});
Deno.test.afterAll(async () => {
  await server[Symbol.asyncDispose]();
  await bench[Symbol.asyncDispose]();
});

async function scrape(): Promise<Scrape> {
  return new Scrape(await (await fetch(`http://${web}/metrics`, { signal: AbortSignal.timeout(30_000) })).text());
}

function total(counts: readonly (number | undefined)[]): number {
  return counts.reduce<number>((sum, count) => sum + (count ?? 0), 0);
}

/** Waits until the page has both workers. */
async function bothAreUp(): Promise<void> {
  await bench.until(
    async () => (await scrape().catch(() => undefined))?.up.every((up) => up === 1) ?? false,
    "both are up",
  );
}

/** Pushes jobs until both workers have performed some; returns the number of pushed jobs. */
async function performByBoth(): Promise<number> {
  let pushed = 0;
  await bench.until(async () => {
    await Promise.all([1, 2].map(() => bench.push("Sleep", [bench.notes, 20])));
    pushed += 2;
    return (await scrape()).performed("Sleep").every((count) => count! > 0);
  }, "both perform jobs");
  return pushed;
}

/** The process number of the first worker, which has the port, or of the second. */
function pidOf(process: 1 | 2): number {
  const pid = ({ worker }: LoggedLine) => Number(String(worker).split(":")[1]);
  const first = pid(server.lines.findLast(({ msg, web }) => msg === "Ready" && web !== undefined)!);
  if (process === 1) return first;
  return pid(server.lines.findLast((line) => line.msg === "Starting" && pid(line) !== first)!);
}

/** Registers a test. Without sanitizers: the supervisor's log is read from one test to the next. */
function test(name: string, fn: () => Promise<void>): void {
  Deno.test({ name, fn, sanitizeOps: false });
}

test("one port exports the jobs of both workers, each with its number", async () => {
  const pushed = await performByBoth();
  await bench.until(async () => total((await scrape()).performed("Sleep")) === pushed, "all are counted");
  const now = await scrape();
  assertEquals(now.up, [1, 1]);
  for (const process of [1, 2]) {
    const performed = now.performed("Sleep")[process - 1];
    for (const what of ["run", "wait"]) {
      assertEquals(now.value(`jobs_${what}_seconds_count{process="${process}",class="Sleep"}`), performed);
      const all = `jobs_${what}_seconds_bucket{process="${process}",class="Sleep",le="+Inf"}`;
      assertEquals(now.value(all), performed);
    }
    assertEquals(now.value(`jobs_rescued_total{process="${process}"}`), 0);
    assert(now.value(`jobs_event_loop_delay_seconds{process="${process}"}`) !== undefined);
    assertEquals(now.value(`jobs_cron_occurrences_total{process="${process}",outcome="missed"}`), 0);
  }
  assertEquals(now.value("jobs_processors"), 2, "the store's counts include both");
  assertEquals(await promtool(["check", "metrics"], now.text), "");
});

test("a frozen worker delays no scrape, and is included again once it continues", async () => {
  await bothAreUp();
  const second = pidOf(2);
  Deno.kill(second, "SIGSTOP");
  try {
    const now = await scrape();
    assertEquals(now.up, [1, 0]);
    assert(now.performed("Sleep")[0]! > 0);
    assertEquals(now.performed("Sleep")[1], undefined, "no old count is exported as current");
    assertEquals(await promtool(["check", "metrics"], now.text), "");
  } finally {
    Deno.kill(second, "SIGCONT");
  }
  await bench.until(async () => (await scrape()).performed("Sleep")[1]! > 0);
});

test("a worker that died and can't start is down, and its counters restart", async () => {
  await bothAreUp();
  const before = (await scrape()).performed("Sleep");
  await Deno.writeTextFile(`${bench.folder}/more.js`, `throw new Error("not now");`);
  Deno.kill(pidOf(2), "SIGKILL");
  await server.logged("Process exited with code 1, starting another");
  const away = await scrape();
  assertEquals([away.up, away.performed("Sleep")], [[1, 0], [before[0], undefined]]);
  await Deno.writeTextFile(`${bench.folder}/more.js`, HANDLER);
  await bothAreUp();
  assertEquals((await scrape()).performed("Sleep"), [before[0], undefined], "the other worker's counters continue");
  await performByBoth();
});

test("the first worker, killed, opens the port again and includes the other worker", async () => {
  await bothAreUp();
  const second = (await scrape()).performed("Sleep")[1]!;
  const first = pidOf(1);
  Deno.kill(first, "SIGKILL");
  await bench.until(() => pidOf(1) !== first, "a new worker is ready");
  await bench.until(async () => {
    const now = await scrape().catch(() => undefined);
    return now?.up[1] === 1 && now.performed("Sleep")[1]! >= second;
  }, "the port is open again, with the other worker's counts");
});

test("the port exports both workers again after HUP has replaced them", async () => {
  await bothAreUp();
  const before = [pidOf(1), pidOf(2)];
  server.kill("SIGHUP");
  await bench.until(() => ![pidOf(1), pidOf(2)].some((pid) => before.includes(pid)), "both are replaced");
  await bothAreUp();
  await performByBoth();
});

test("a stopped worker is left out", async () => {
  await bothAreUp();
  Deno.kill(pidOf(2), "SIGTERM");
  await bench.until(async () => {
    const { up } = await scrape();
    return up[0] === 1 && up[1] === undefined;
  });
});
