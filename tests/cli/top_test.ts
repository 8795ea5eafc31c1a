/** `jobs top` in a real terminal, on both stores. `src/cli/top/*_test.ts` test its screen. */
import { readEvents } from "../../src/store/admin/audit.ts";
import { assertEquals, assertMatch } from "@std/assert";
import { Bench } from "../support/bench.ts";
import { jobsCommand } from "../support/command.ts";
import { until } from "../support/eventually.ts";
import { jobs } from "../support/process.ts";
import { startRedis } from "../support/redis.ts";
import { Terminal } from "../support/tmux.ts";

/** Returns the shell command that starts it. */
function top(bench: Bench, ...more: string[]): string {
  return [...jobsCommand(), "top", "--interval", "100ms", "--store", bench.url, ...more].map((word) => `'${word}'`)
    .join(" ");
}

/** Opens a terminal, saves its settings, and starts `jobs top`. */
async function open(bench: Bench, columns = 110, rows = 30): Promise<Terminal> {
  const terminal = await Terminal.open(columns, rows);
  await terminal.press(`stty -g >${bench.folder}/before`, "Enter", top(bench), "Enter");
  await terminal.sees(/▸ Workers/);
  assertEquals(await terminal.isAlternate(), true);
  return terminal;
}

/** Waits for the shell, and checks that the terminal's settings are restored. */
async function isGivenBack(terminal: Terminal, bench: Bench): Promise<void> {
  await until(async () => !await terminal.isAlternate(), "the shell's screen");
  await terminal.prompts();
  // A different word each time: the screen still shows the previous one.
  const word = crypto.randomUUID();
  await terminal.press(`stty -g >${bench.folder}/after; echo back' '${word}`, "Enter");
  await terminal.sees(new RegExp(`^(\\$ )?back ${word}$`, "m"));
  const [before, after] = ["before", "after"].map((name) => Deno.readTextFileSync(`${bench.folder}/${name}`));
  assertEquals(after, before);
  assertEquals(await terminal.hasCursor(), true);
}

Deno.test("shows the groups of an open queue, and the jobs of one", async () => {
  await using bench = await Bench.open();
  for (const [n, group] of ["acme", "acme", "bob"].entries()) await bench.push("Noop", [n], { group });
  await bench.store.admin.configure("default", { group: "bob", pause: true });
  await using terminal = await open(bench);
  await terminal.press("Tab", "Enter");
  const screen = await terminal.sees(/Groups 2/);
  assertMatch(screen, /^ +acme +2 +\S+ +0$/m);
  assertMatch(screen, /^ +bob +1 +\S+ +0 +paused$/m);
  await terminal.press("Tab");
  await terminal.sees(/Jobs in queue default, group acme: 2/);
  await terminal.press("q", "q");
  await isGivenBack(terminal, bench);
});

for (const kind of ["SQLite", "Redis"] as const) {
  Deno.test(`shows workers, queues and jobs, and acts on them, on ${kind}`, async () => {
    await using redis = kind === "Redis" ? await startRedis() : undefined;
    await using bench = await Bench.open(redis?.url);
    await using server = await bench.server(["-q", "default", "-q", "mail", "--tag", "blue"]);
    const waits = await bench.push("Wait", [bench.notes]);
    await bench.noted(`start ${waits}`);
    await bench.store.admin.configure("later", { pause: true });
    const doomed = await bench.push("Fail", ["\x1b[2Jhostile \u202e 漢字 🙂"], { retry: 0 });
    await bench.until(async () => (await bench.store.admin.stats()).dead === 1);
    for (let i = 0; i < 3; i++) await bench.push("Noop", [i], { queue: "later" });
    await using terminal = await open(bench);

    // The progress of a job reaches the store with a later heartbeat.
    const screen = await terminal.sees(/Running 1[^]* 40 percent/);
    assertMatch(screen, /^› \S+:\d+:\S+ +blue +■\S* +1\/10 default mail +\d+ MB .*running$/m);
    assertMatch(screen, new RegExp(`Wait\\(".* ${waits} default .* 40 percent`));
    assertMatch(screen, /later +3 .*paused$/m);

    await terminal.press("Tab", "/", "mail", "Enter");
    await terminal.sees(/^▸ Queues 0 of/m); // no job has its name yet
    await terminal.press("Escape", "Home");
    await terminal.sees(/^› default/m);
    await terminal.press("p");
    await terminal.sees(/default paused/);
    await terminal.sees(/^› default .*paused$/m); // keys act on the last snapshot
    assertEquals((await bench.store.admin.stats()).queues.find(({ name }) => name === "default")?.paused, true);
    await terminal.press("p");
    await terminal.sees(/default resumed/);
    assertEquals((await bench.store.admin.stats()).queues.find(({ name }) => name === "default")?.paused, false);
    assertEquals(
      (await readEvents(bench.store)).events.map(({ by, action, target }) => `${by}: ${action} ${target}`),
      [
        "jobs top: resume queue:default",
        "jobs top: pause queue:default",
      ],
    );

    await terminal.press("Down", "Enter");
    await terminal.sees(/Jobs in queue later: 3[^]*Noop\(2\)/);
    await terminal.press("q", "BTab", "d");
    const dump = await terminal.sees(/Dump of [^]*processor-1 +performing/);
    assertMatch(dump, /fetcher/);
    await terminal.press("q", "Tab", "Tab", "Enter");
    await terminal.sees(new RegExp(`Job ${waits}[^]*last line Waiting for the end`));
    await terminal.press("c");
    await terminal.sees(new RegExp(`Cancel ${waits}\\? y/n`));
    await terminal.press("n");
    await terminal.sees(/Nothing changed/);
    await terminal.press("q", "c", "y");
    await terminal.sees(/is running: cancelling it|No running jobs/);
    await server.logged("Cancelled", { jid: waits });
    await terminal.sees(/No running jobs/);

    await terminal.press("Tab", "End", "Enter");
    await terminal.sees(new RegExp(`› ${doomed} .*Fail\\("`));
    await terminal.press("r");
    await terminal.sees(new RegExp(`${doomed} moved to its queue`));
    await bench.until(async () => (await bench.store.admin.stats()).failed >= 2);
    await terminal.press("q", "Tab", "Q");
    await terminal.sees(/is quieting/);
    await server.logged("Quiet: taking no more jobs");
    await terminal.sees(/ quiet$/m);
    await terminal.press("S", "y");
    assertEquals((await server.status()).code, 0);
    await terminal.sees(/No workers: jobs run starts one/);
    await terminal.press("q");
    await isGivenBack(terminal, bench);
  });
}

Deno.test("restores the terminal on Ctrl-C, TERM and Ctrl-Z, and takes it again on fg", async () => {
  await using bench = await Bench.open();
  await using terminal = await open(bench);
  await terminal.press("C-c");
  await isGivenBack(terminal, bench);

  await terminal.press(`${top(bench)} & sleep 0; fg`, "Enter");
  await terminal.sees(/▸ Workers/);
  await terminal.press("C-z");
  await isGivenBack(terminal, bench);
  await terminal.press("fg", "Enter");
  await terminal.sees(/▸ Workers/);
  assertEquals(await terminal.isAlternate(), true);
  await terminal.press("?");
  await terminal.sees(/Ctrl-Z/);
  await terminal.press("C-z");
  await isGivenBack(terminal, bench);
  await terminal.press("kill %1; fg; echo ended with $?", "Enter");
  await terminal.sees(/^ended with \d+$/m); // keys typed earlier would be read by jobs top
  await isGivenBack(terminal, bench);
});

for (const kind of ["SQLite", "Redis"] as const) {
  Deno.test(`shows unfinished batches and flows, on ${kind}`, async () => {
    await using redis = kind === "Redis" ? await startRedis() : undefined;
    await using bench = await Bench.open(redis?.url);
    await bench.client.batch({ name: "ended" }, () => {});
    const { id } = await bench.client.batch({ name: "import" }, async (add) => {
      for (let i = 0; i < 3; i++) await add("Noop", [i]);
    });
    const flow = await bench.client.flow("nightly", { a: { job: ["Noop", []] }, b: { job: ["Noop", []], after: "a" } });
    const env = { JOBS_STORE: bench.url };
    const { stdout } = await jobs(["top", "--once", "--json"], { env });
    const { batches } = JSON.parse(stdout);
    assertEquals(
      batches.map(({ name, flow, state, pending }: Record<string, unknown>) => [name, flow, state, pending]),
      [["nightly", true, "running", 2], ["import", undefined, "running", 3]],
    );
    await using terminal = await open(bench);
    await terminal.sees(/Batches 2 [^]*nightly +flow [^]*0 of 2 [^]*import +batch [^]*0 of 3 /);
    await terminal.press("Tab", "Tab", "Tab", "Down", "Enter");
    await terminal.sees(new RegExp(`Batch ${id}[^]*members +3 \\(3 pending\\)`));
    assertEquals((await jobs(["batch", "cancel", id], { env })).code, 0);
    await terminal.sees(/members +3 \(3 cancelled\)/);
    assertEquals((await jobs(["flow", "cancel", flow.id], { env })).code, 0);
    await terminal.press("q");
    await terminal.sees(/▸ Batches 0[^]*No unfinished batches or flows/);
    await terminal.press("q");
    await isGivenBack(terminal, bench);
  });
}

Deno.test("fits the terminal, also after a resize", async () => {
  await using bench = await Bench.open();
  await bench.push("Noop", [], { queue: "mail" });
  await using terminal = await open(bench, 120, 40);
  await terminal.sees(/mail .*no worker$/m);
  await terminal.resize(60, 15);
  // One line of keys, at the end: no line of the larger screen remains.
  await terminal.sees(/^(?:(?!q quit).*\n)*▸ Workers 0 +memory.*\n(?:(?!q quit).*\n)*q quit.*\s*$/);
  await terminal.resize(100, 30);
  await terminal.sees(/scheduled +0 .*run later/);
  await terminal.press("q");
  await isGivenBack(terminal, bench);
});

Deno.test("reports a store that is down, and shows it again when it is up", async () => {
  await using redis = await startRedis({ aof: "always" });
  await using bench = await Bench.open(redis.url);
  await bench.push("Noop", [], { queue: "mail" });
  await using terminal = await open(bench);
  await terminal.sees(/mail +1 /);
  await redis.kill();
  await terminal.sees(/Retrying; data of \d+\w* ago: Redis at [^]*mail +1 /);
  await terminal.press("Tab", "p");
  await terminal.sees(/Redis .*\n[^\n]*q quit/);
  await redis.start();
  await bench.until(() => bench.push("Noop", [], { queue: "mail" }).then(() => true, () => false));
  await terminal.sees(/^jobs \S+ +redis:[^]*mail +2 /m);
  redis.signal("SIGSTOP");
  await terminal.sees(/^jobs \S+ +(Waiting|Retrying); data of \d/m);
  redis.signal("SIGCONT");
  await terminal.sees(/^jobs \S+ +redis:/m);
  await terminal.press("q");
  await isGivenBack(terminal, bench);
});

Deno.test("refuses to start without a terminal; --once prints one screen as text", async () => {
  await using bench = await Bench.open();
  await bench.push("Noop", [], { queue: "mail" });
  const run = (...args: string[]) => jobs(["top", "--store", bench.url, ...args], { env: { COLUMNS: "70" } });
  const without = await run();
  assertEquals([without.code, without.stdout], [2, ""]);
  assertMatch(without.stderr, /^jobs: jobs top requires a terminal.*--once.*\n$/);
  const once = await run("--once");
  assertEquals([once.code, once.stderr, once.stdout.includes("\x1b")], [0, "", false]);
  assertMatch(once.stdout, /^ {2}mail +1 .*no worker$/m);
  assertEquals(Math.max(...once.stdout.split("\n").map((line) => [...line].length)) <= 70, true);
  const json = JSON.parse((await run("--once", "--json")).stdout);
  assertEquals([json.stats.queued, json.workers, json.batches], [1, [], []]);
  for (const wrong of [["--interval", "1ms"], ["--interval", "soon"], ["--json"], ["more"]]) {
    const { code, stderr } = await run(...wrong);
    assertEquals(code, 2);
    assertMatch(stderr, /^jobs: .*(expected|Unexpected|needs --once)/);
  }
});
