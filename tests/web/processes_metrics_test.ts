/** What the one port of `jobs run --processes` tells Prometheus of all of them. */
import { assert, assertEquals } from "@std/assert";
import { Bench } from "../support/bench.ts";
import type { JobsProcess } from "../support/process.ts";
import { promtool } from "../support/promtool.ts";
import { freePort } from "../support/redis.ts";

const HANDLER = "export function More() {}";

/** What is read of `/metrics`. */
class Scrape {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }

  /** The value of a series, as it stands there; undefined without it. */
  value(series: string): number | undefined {
    const line = this.text.split("\n").find((line) => line.startsWith(`${series} `));
    return line === undefined ? undefined : Number(line.slice(series.length + 1));
  }

  /** Jobs of this class that ended well, by process. */
  performed(name: string): (number | undefined)[] {
    return [1, 2].map((process) =>
      this.value(`jobs_performed_total{process="${process}",class="${name}",outcome="ok"}`)
    );
  }

  /** Which processes answered. */
  get up(): (number | undefined)[] {
    return [1, 2].map((process) => this.value(`jobs_process_up{process="${process}"}`));
  }
}

interface Site extends AsyncDisposable {
  readonly bench: Bench;
  readonly server: JobsProcess;
  scrape(): Promise<Scrape>;
  /** Pushes jobs until both have performed some; returns how many there were. */
  performByBoth(): Promise<number>;
  /** The process numbers of those that take jobs. */
  pids(): Promise<number[]>;
}

function total(counts: readonly (number | undefined)[]): number {
  return counts.reduce<number>((sum, count) => sum + (count ?? 0), 0);
}

/** Two processes, of which each performs one job at a time. */
async function open(): Promise<Site> {
  await using stack = new AsyncDisposableStack();
  const bench = stack.use(await Bench.open());
  const more = `${bench.folder}/more.js`;
  await Deno.writeTextFile(more, HANDLER);
  const web = `127.0.0.1:${freePort()}`;
  const server = stack.use(await bench.server([more, "--processes", "2", "-c", "1", "--web", web]));
  await server.logged("All processes are ready");
  const scrape = async () =>
    new Scrape(await (await fetch(`http://${web}/metrics`, { signal: AbortSignal.timeout(30_000) })).text());
  const kept = stack.move();
  return {
    bench,
    server,
    scrape,
    async performByBoth() {
      let pushed = 0;
      await bench.until(async () => {
        await Promise.all([1, 2].map(() => bench.push("Sleep", [bench.notes, 20])));
        pushed += 2;
        return (await scrape()).performed("Sleep").every((count) => count! > 0);
      }, "both perform jobs");
      return pushed;
    },
    async pids() {
      return (await bench.store.processes()).filter(({ alive, quiet }) => alive && !quiet).map(({ pid }) => pid);
    },
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  };
}

/** The process number of the first, which has the web, or of the second, as they were at the beginning. */
function pidOf({ server }: Site, process: 1 | 2): number {
  // The second one is started when the first one takes jobs.
  const started = server.lines.filter(({ msg }) => msg === "Starting");
  return Number(String(started[process - 1]!.identity).split(":")[1]);
}

Deno.test("One port tells of the jobs of both processes, each with its number", async () => {
  await using site = await open();
  const pushed = await site.performByBoth();
  await site.bench.until(async () => total((await site.scrape()).performed("Sleep")) === pushed, "all are counted");
  const scrape = await site.scrape();
  assertEquals(scrape.up, [1, 1]);
  for (const process of [1, 2]) {
    const performed = scrape.performed("Sleep")[process - 1];
    for (const what of ["run", "wait"]) {
      assertEquals(scrape.value(`jobs_${what}_seconds_count{process="${process}",class="Sleep"}`), performed);
      const all = `jobs_${what}_seconds_bucket{process="${process}",class="Sleep",le="+Inf"}`;
      assertEquals(scrape.value(all), performed);
    }
    assertEquals(scrape.value(`jobs_rescued_total{process="${process}"}`), 0);
    assert(scrape.value(`jobs_event_loop_delay_seconds{process="${process}"}`) !== undefined);
    assertEquals(scrape.value(`jobs_cron_occurrences_total{process="${process}",outcome="missed"}`), 0);
  }
  // What the store knows, it knows of both.
  assertEquals(scrape.value("jobs_processors"), 2);
  assertEquals(await promtool(["check", "metrics"], scrape.text), "");
});

Deno.test("A process that stands still holds up no scrape, and is told of as soon as it goes on", async () => {
  await using site = await open();
  await site.performByBoth();
  const second = pidOf(site, 2);
  Deno.kill(second, "SIGSTOP");
  try {
    const scrape = await site.scrape();
    assertEquals(scrape.up, [1, 0]);
    assert(scrape.performed("Sleep")[0]! > 0);
    assertEquals(scrape.performed("Sleep")[1], undefined, "nothing old is told as if it were new");
    assertEquals(await promtool(["check", "metrics"], scrape.text), "");
  } finally {
    Deno.kill(second, "SIGCONT");
  }
  await site.bench.until(async () => (await site.scrape()).performed("Sleep")[1]! > 0);
});

Deno.test("One that dies and cannot start is told of as away; its counters begin again, those of the other go on", async () => {
  await using site = await open();
  const pushed = await site.performByBoth();
  await site.bench.until(async () => total((await site.scrape()).performed("Sleep")) === pushed, "all are counted");
  const before = (await site.scrape()).performed("Sleep");
  await Deno.writeTextFile(`${site.bench.folder}/more.js`, `throw new Error("not now");`);
  Deno.kill(pidOf(site, 2), "SIGKILL");
  await site.server.logged("Process exited with code 1, starting another");
  const away = await site.scrape();
  assertEquals([away.up, away.performed("Sleep")], [[1, 0], [before[0], undefined]]);
  await Deno.writeTextFile(`${site.bench.folder}/more.js`, HANDLER);
  await site.bench.until(async () => (await site.scrape()).up[1] === 1, "the next one answers");
  assertEquals((await site.scrape()).performed("Sleep"), [before[0], undefined]);
  await site.performByBoth();
});

Deno.test("After HUP has replaced both, also the one with the port, the port tells of both again", async () => {
  await using site = await open();
  const before = await site.pids();
  site.server.kill("SIGHUP");
  await site.bench.until(async () => {
    const now = await site.pids();
    return now.length === 2 && !now.some((pid) => before.includes(pid));
  }, "both are replaced");
  await site.bench.until(async () => (await site.scrape()).up.every((up) => up === 1), "both answer");
  await site.performByBoth();
});

Deno.test("The first one, killed, opens the port again and asks the one that went on", async () => {
  await using site = await open();
  await site.performByBoth();
  const second = (await site.scrape()).performed("Sleep")[1]!;
  Deno.kill(pidOf(site, 1), "SIGKILL");
  await site.server.logged("Process was killed by SIGKILL, starting another");
  await site.bench.until(async () => {
    const scrape = await site.scrape().catch(() => undefined);
    return scrape?.up[1] === 1 && scrape.performed("Sleep")[1]! >= second;
  }, "the port is there again, with what the other had counted");
});

Deno.test("One that was told to stop is told of no more: it is not missed", async () => {
  await using site = await open();
  Deno.kill(pidOf(site, 2), "SIGTERM");
  await site.bench.until(async () => {
    const { up } = await site.scrape();
    return up[0] === 1 && up[1] === undefined;
  });
});
