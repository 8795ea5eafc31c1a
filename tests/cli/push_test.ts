/** `jobs push`: invalid options, waiting, times, duplicates, and an output that can't be written. */
import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { Bench } from "../support/bench.ts";
import { jobsCommand } from "../support/command.ts";
import { jobs } from "../support/process.ts";
import { startRedis } from "../support/redis.ts";
import { requireTool } from "../support/tools.ts";

function on(bench: Bench, args: readonly string[], stdin?: string) {
  return jobs(args, { env: { JOBS_STORE: bench.url }, cwd: bench.folder, ...(stdin !== undefined && { stdin }) });
}

/** Runs a command whose output goes to a full disk. */
async function onFullDisk(bench: Bench, args: readonly string[]) {
  const [program, ...first] = jobsCommand();
  const { code, stderr } = await new Deno.Command("sh", {
    args: ["-c", 'exec "$@" > /dev/full', "sh", program, ...first, ...args],
    env: { JOBS_STORE: bench.url },
    cwd: bench.folder,
    stdin: "null",
  }).output();
  return { code, stderr: new TextDecoder().decode(stderr) };
}

Deno.test("--wait prints each failed attempt while it waits", async () => {
  await using bench = await Bench.open();
  const handlers = `${bench.folder}/flaky.js`;
  await Deno.writeTextFile(
    handlers,
    `let calls = 0;
     export function Flaky() { if (calls++ === 0) throw new Error("no route"); return "arrived"; }
     Flaky.options = { retry: 4, retryIn: () => 3_600 };`,
  );
  await using server = await bench.server([handlers]);
  const [command, ...args] = [...jobsCommand(), "push", "Flaky", "--wait", "--retry", "4", "--store", bench.url];
  await using child = new Deno.Command(command!, { args, stdout: "piped", stderr: "piped" }).spawn();
  let printed = "";
  const reading = (async () => {
    for await (const text of child.stderr.pipeThrough(new TextDecoderStream())) printed += text;
  })();
  await bench.until(() => printed.includes("\n"));
  assertMatch(printed, /^jobs: failed attempt 1 of 5, retry in (1h|59m\S*|60m): Error: no route\n$/);
  assertEquals((await jobs(["retry", "--all", "retrying", "--yes", "--store", bench.url])).code, 0);
  assertEquals(await new Response(child.stdout).text(), '"arrived"\n');
  await reading;
  assertEquals([(await child.status).code, printed.split("\n").length], [0, 2]);
  await server.logged("Done");
});

Deno.test("rejects an invalid option of push by its name on the command line", async () => {
  await using bench = await Bench.open();
  for (
    const [args, said] of [
      [["A", "--in", "5x"], 'Invalid --in "5x": expected seconds, or a duration such as 30s'],
      [["A", "--at", "soon"], 'Invalid --at "soon": expected ISO 8601 text such as'],
      [["A", "--in", "5m", "--at", "2030-01-01"], 'Invalid --in "5m": expected either --in or --at, not both'],
      [["A", "--retry", "abc"], 'Invalid --retry "abc": expected true, false, or a whole number'],
      [["A", "--expires-in", "x"], 'Invalid --expires-in "x": expected seconds'],
      [["A", "-q", "a b"], 'Invalid --queue "a b": expected a name of letters'],
      [["A", "--tags", ","], 'Invalid --tags ["",""]: expected a list of words'],
      [["A", "--backoff", "twice,base=2s"], 'Invalid --backoff type "twice": expected exponential, linear or fixed'],
      [["A", "--backoff", "fixed"], "Invalid --backoff base undefined: expected seconds"],
      [["A", "--dead", "no"], 'Invalid --dead "no": expected true or false'],
      [["A", "--log-level", "loud"], 'Invalid --log-level "loud": expected debug, info, warn or error'],
      [["", "1"], 'Invalid CLASS "": expected'],
      [["A", "--bulk", "/"], 'Invalid --bulk "/": expected a file with JSON on each line'],
      [["A", "--wait", "--wait-timeout", "x"], 'Invalid --wait-timeout "x": expected seconds'],
      [["A", "--wait-timeout", "5s"], "--wait-timeout needs --wait"],
      [["A", "--wait", "--bulk", "-"], "--wait waits for one job"],
    ] as const
  ) {
    const { code, stdout, stderr } = await on(bench, ["push", ...args]);
    assertEquals([code, stdout, stderr.slice(0, 6 + said.length)], [2, "", `jobs: ${said}`], stderr);
  }
  assertEquals((await bench.store.admin.stats()).enqueued, 0);
});

Deno.test("exits with 1 if a result can't be written; push prints the jid of the enqueued job", async () => {
  await using bench = await Bench.open();
  await Deno.writeTextFile(`${bench.folder}/bulk`, "[1]\n[2]\n[3]\n");
  for (const args of [["queues"], ["stats", "--json"]]) {
    const { code, stderr } = await onFullDisk(bench, args);
    assertEquals(code, 1);
    assertMatch(stderr, /^jobs: Can't write the output: No space left on device[^\n]*\n$/);
  }
  const pushed = await onFullDisk(bench, ["push", "A"]);
  const [, jid] = /Can't write the output: .*; the job is enqueued: (\w+)\n$/.exec(pushed.stderr) ?? [];
  assertEquals([pushed.code, (await bench.store.jobs.find([jid!])).length], [1, 1], pushed.stderr);
  const bulk = await onFullDisk(bench, ["push", "A", "--bulk", "bulk"]);
  assertEquals(bulk.code, 1);
  assertStringIncludes(bulk.stderr, "; 3 lines stored, 3 jids not printed");
  assertEquals((await bench.store.admin.stats()).enqueued, 4);
});

Deno.test("keeps the record of an awaited job at least as long as usual, and as its class sets", async () => {
  await using bench = await Bench.open();
  await bench.store.classes.declare([{ name: "Long", options: '{"result_ttl":"2h","failure_ttl":-1}' }]);
  const pushed = async (name: string, ...more: string[]) => {
    const { code, stderr } = await on(bench, ["push", name, "--wait", "--wait-timeout", "10ms", ...more]);
    assertEquals(code, 1);
    const [, jid] = /jobs: Job "(\w+)" is still (?:queued|scheduled) after --wait-timeout/.exec(stderr) ?? [];
    const { result_ttl, failure_ttl } = JSON.parse((await bench.store.jobs.find([jid!]))[0]!.payload);
    return [result_ttl, failure_ttl];
  };
  assertEquals(await pushed("Short", "--in", "1h"), [500, 86_400]);
  assertEquals(await pushed("Long"), [7_200, -1]);
});

Deno.test("warns once of a misspelled field in bulk, and of an empty file", async () => {
  await using bench = await Bench.open();
  const lines = ['{"class":"A","args":[],"qeue":"low","user":1}', '{"class":"A","args":[],"qeue":"low"}'].join("\n");
  const typo = await on(bench, ["push", "--bulk", "-"], lines);
  assertEquals(typo.code, 0);
  const named = typo.stderr.split("\n").filter((line) => line.includes("did you mean"));
  assertEquals(named, ['jobs: line 1: unknown option "qeue" is kept in the payload; did you mean "queue"?']);
  const nothing = await on(bench, ["push", "A", "--bulk", "-"], "\n\n");
  assertEquals(nothing, { code: 0, stdout: "", stderr: "jobs: nothing to push: standard input has no lines\n" });
});

Deno.test("a bulk push rejects lines that aren't UTF-8 by their number, and stores the others", async () => {
  await using bench = await Bench.open();
  await Deno.writeFile(`${bench.folder}/latin1`, Uint8Array.from('["a"]\n["\xe9"]\n["b"]\n', (c) => c.charCodeAt(0)));
  const skipped = await on(bench, ["push", "A", "--bulk", "latin1"]);
  assertEquals([skipped.code, skipped.stdout.length], [1, 50]);
  assertStringIncludes(skipped.stderr, "jobs: line 2 is invalid: it isn't UTF-8 text\n");
  const stopped = await on(bench, ["push", "A", "--bulk", "latin1", "--on-error", "stop"]);
  assertEquals([stopped.code, stopped.stdout.length], [1, 25]);
  assertStringIncludes(stopped.stderr, "jobs: stopped at line 2: 1 line stored, none from line 2 on");
  const flow = await on(bench, ["flow", "push", "latin1"]);
  assertEquals([flow.code, flow.stdout, flow.stderr], [2, "", 'jobs: Cannot read "latin1": line 2 isn\'t UTF-8\n']);
  assertEquals((await bench.store.admin.stats()).enqueued, 3);
});

Deno.test("reports handlers whose options throw in one line", async () => {
  await using bench = await Bench.open();
  for (
    const [i, options] of ['get options() { throw new Error("no") }', "options: { get queue() { throw 5 } }"].entries()
  ) {
    const file = `${bench.folder}/h${i}.js`;
    await Deno.writeTextFile(
      file,
      `export const A = () => {}; const from = { ${options} };
       Object.defineProperties(A, Object.getOwnPropertyDescriptors(from));`,
    );
    const { code, stderr } = await on(bench, ["run", file]);
    assertEquals(code, 1);
    assertMatch(stderr, /^jobs: Handlers "[^"]+": A\.options cannot be read: .*\n$/);
  }
});

Deno.test("escapes terminal sequences in JSON", async () => {
  await using bench = await Bench.open();
  const hostile = "\u007f\u0085\u009b31m\u202e\u2028\u2066é";
  const jid = await bench.push("A", [hostile]);
  const { stdout } = await on(bench, ["show", jid, "--json"]);
  assertEquals(/[\u007f-\u009f\u2028-\u202e\u2066-\u2069]/.test(stdout), false);
  assertEquals(JSON.parse(stdout).payload.args, [hostile]);
  await Deno.writeTextFile(`${bench.folder}/echo.js`, "export const Echo = (_, text) => text;");
  await using _server = await bench.server([`${bench.folder}/echo.js`]);
  const echoed = await on(bench, ["push", "Echo", hostile, "--wait"]);
  assertEquals(echoed.stdout, '"\\u007f\\u0085\\u009b31m\\u202e\\u2028\\u2066é"\n');
});

Deno.test("names the job, which continues, on Ctrl-C while waiting", async () => {
  await using bench = await Bench.open();
  const [program, ...first] = jobsCommand();
  const child = new Deno.Command(program, {
    args: [...first, "push", "A", "--wait"],
    env: { JOBS_STORE: bench.url },
    stdin: "null",
    stdout: "null",
    stderr: "piped",
  }).spawn();
  let said = "";
  for await (const text of child.stderr.pipeThrough(new TextDecoderStream())) {
    said += text;
    if (said.includes("jobs run") && !said.includes("Interrupted")) child.kill("SIGINT");
  }
  assertMatch(said, /jobs: Interrupted: job \w+ continues \(jobs show \w+\)\n$/);
  assertEquals((await child.status).code, 130);
});

Deno.test("names the job, which is enqueued, if the store fails while waiting", async () => {
  await using bench = await Bench.open();
  const [program, ...first] = jobsCommand();
  const child = new Deno.Command(program, {
    args: [...first, "push", "A", "--wait", "--wait-timeout", "1m"],
    env: { JOBS_STORE: `sqlite:${bench.folder}/other.db` },
    stdin: "null",
    stdout: "null",
    stderr: "piped",
  }).spawn();
  let said = "";
  for await (const text of child.stderr.pipeThrough(new TextDecoderStream())) {
    if (!said.includes("jobs run") && text.includes("jobs run")) await Deno.remove(`${bench.folder}/other.db`);
    said += text;
  }
  assertMatch(
    said,
    /\njobs: The file of store .* was deleted [^\n]*; job [0-9a-f]{24} is enqueued \(jobs show [0-9a-f]{24}\)\n$/,
  );
  assertEquals((await child.status).code, 1);
});

Deno.test("a bulk push that the store fails ends at once, although more lines may follow", async () => {
  await using bench = await Bench.open();
  // The limit of the file size acts as a full disk.
  const limited = `trap '' XFSZ; ulimit -f 2048; exec "$@"`;
  const late = AbortSignal.timeout(60_000);
  const child = new Deno.Command("sh", {
    args: ["-c", limited, "sh", ...jobsCommand(), "push", "A", "--bulk", "-"],
    env: { JOBS_STORE: bench.url },
    stdin: "piped",
    stdout: "null",
    stderr: "piped",
    signal: late,
  }).spawn();
  const said = new Response(child.stderr).text();
  const writer = child.stdin.getWriter();
  // More than a batch. The command may end before it has read the rest.
  const written = writer.write(new TextEncoder().encode(`["${"x".repeat(5_000)}"]\n`.repeat(1_100))).catch(() => {});
  assertMatch(
    await said,
    /\njobs: stopped at line 1: Store .* is not available: disk I\/O error; 0 lines before it stored\n$/,
  );
  assertEquals([(await child.status).code, late.aborted], [1, false]);
  await written;
  await writer.close().catch(() => {});
});

/** Runs a command with a non-blocking pipe of one page as its output, which is read only when it is full. */
const FULL_PIPE = `
import fcntl, os, struct, subprocess, sys, termios, time
reader, writer = os.pipe()
size = fcntl.fcntl(writer, fcntl.F_SETPIPE_SZ, 4096)
os.set_blocking(writer, False)
child = subprocess.Popen(sys.argv[1:], stdout=writer)
os.close(writer)
while child.poll() is None and struct.unpack("i", fcntl.ioctl(reader, termios.FIONREAD, b"1234"))[0] < 3000:
    time.sleep(0.01)
while data := os.read(reader, 1000):
    sys.stdout.buffer.write(data)
sys.exit(child.wait())
`;

Deno.test("prints each jid and each long line once although its output is non-blocking and full", async () => {
  const python = requireTool("python3");
  await using bench = await Bench.open();
  await Deno.writeTextFile(`${bench.folder}/bulk`, "[1]\n".repeat(2_000));
  const piped = async (...args: string[]) => {
    const { code, stdout, stderr } = await new Deno.Command(python, {
      args: ["-c", FULL_PIPE, ...jobsCommand(), ...args],
      env: { JOBS_STORE: bench.url },
      cwd: bench.folder,
      stdin: "null",
      signal: AbortSignal.timeout(60_000),
    }).output();
    assertEquals(code, 0, new TextDecoder().decode(stderr));
    return new TextDecoder().decode(stdout);
  };
  const jids = (await piped("push", "A", "--bulk", "bulk")).trim().split("\n");
  assertEquals([jids.length, (await bench.store.jobs.find(jids)).length], [2_000, 2_000]);
  await bench.push("A", ["0123456789".repeat(10_000)], { queue: "other" });
  const list = ["list", "queued", "-q", "other", "--json"];
  const listed = await piped(...list);
  assertEquals([listed.length > 100_000, listed === (await on(bench, list)).stdout], [true, true]);
});

Deno.test("succeeds if the user may push but not list workers", async () => {
  await using redis = await startRedis();
  await redis.cli("ACL", "SETUSER", "pusher", "on", ">s3cret", "~*", "&*", "+@all", "-smembers");
  await using bench = await Bench.open(redis.url.replace("redis://", "redis://pusher:s3cret@"));
  await Deno.writeTextFile(`${bench.folder}/lines`, "[1]\n");
  for (const more of [[], ["--bulk", "lines"]]) {
    const { code, stdout, stderr } = await on(bench, ["push", "Noop", ...more]);
    assertEquals(code, 0, stderr);
    assertMatch(stdout, /^[0-9a-f]{24}\n$/);
    assertMatch(
      stderr,
      /^jobs: class "Noop" isn't registered.*\njobs: enqueued; can't check for workers: .*smembers.*\n$/,
    );
  }
  assertEquals(await redis.cli("LLEN", "queue:default"), "2");
});

Deno.test("warns once of a class that no worker has registered; --strict rejects it", async () => {
  await using bench = await Bench.open();
  const lines = "[1]\n[2]\n[3]\n";
  const file = `${bench.folder}/jobs.ndjson`;
  await Deno.writeTextFile(file, lines);
  const loose = await on(bench, ["push", "Unknown", "--bulk", file]);
  assertEquals([loose.code, loose.stdout.trim().split("\n").length], [0, 3]);
  assertEquals(loose.stderr.match(/class "Unknown" isn't registered/g)?.length, 1);
  const strict = await on(bench, ["push", "Unknown", "--strict", "1"]);
  assertEquals([strict.code, strict.stdout], [2, ""]);
  assertStringIncludes(
    strict.stderr,
    'class is "Unknown"; expected a class that this client or a worker has registered',
  );
  assertEquals((await bench.store.admin.stats()).enqueued, 3);
});

Deno.test("prints the jid that holds the lock of a duplicate, with exit 0", async () => {
  await using bench = await Bench.open();
  const push = (...more: string[]) => on(bench, ["push", "Once", "1", "--unique-for", "1h", ...more]);
  const first = await push();
  const second = await push();
  assertEquals([second.code, second.stdout], [0, first.stdout]);
  assertStringIncludes(second.stderr, `jobs: duplicate: job "${first.stdout.trim()}" holds the lock; nothing enqueued`);
  const jid = first.stdout.trim();
  assertEquals(JSON.parse((await push("--json")).stdout), { jid, duplicateOf: jid });
  assertEquals((await bench.store.admin.stats()).enqueued, 1);
  await Deno.writeTextFile(`${bench.folder}/lines`, "[1]\n[2]\n[2]\n");
  const bulk = await on(bench, ["push", "Once", "--bulk", "lines", "--unique-for", "1h"]);
  assertEquals([bulk.code, bulk.stdout.trim().split("\n")[0]], [0, jid]);
  assertStringIncludes(bulk.stderr, "jobs: skipped 2 lines as duplicates");
});

Deno.test("a throttled push prints the accepted job and when the next is accepted; with --wait it fails", async () => {
  await using bench = await Bench.open();
  const push = (...more: string[]) => on(bench, ["push", "Hook", "7", "--throttle", "1/1h", ...more]);
  const jid = (await push()).stdout.trim();
  const second = await push();
  assertEquals([second.code, second.stdout], [0, `${jid}\n`]);
  const { retryInMs, ...rest } = JSON.parse((await push("--json")).stdout);
  assertEquals(rest, { jid, throttledBy: jid });
  assertEquals(retryInMs > 3_000_000 && retryInMs <= 3_600_000, true, `${retryInMs}`);
  const waited = await push("--wait");
  assertEquals([waited.code, waited.stdout], [1, ""], "a jid isn't a result");
  assertStringIncludes(waited.stderr, "accepted again in");
  const bulk = await on(bench, ["push", "--bulk", "-"], '{"class":"Hook","args":[7],"throttle":"1/1h"}\n');
  assertEquals([bulk.code, bulk.stdout], [0, `${jid}\n`]);
  assertEquals(bulk.stderr.trim().split("\n").at(-1), "jobs: skipped 1 line as throttled");
});

Deno.test("--on-duplicate replace gives the waiting job new arguments, also in bulk", async () => {
  await using bench = await Bench.open();
  const flags = ["--unique-for", "1h", "--unique-key", "args[0]", "--on-duplicate", "replace"];
  const push = (...more: string[]) => on(bench, ["push", "Sync", ...more, ...flags]);
  const first = await push("7", "old");
  const jid = first.stdout.trim();
  const second = await push("7", "new");
  assertEquals([second.code, second.stdout], [0, first.stdout]);
  assertStringIncludes(second.stderr, `\njobs: replaced: job "${jid}" waited, and has the new arguments\n`);
  assertEquals(JSON.parse((await push("7", "newer", "--json")).stdout), { jid, replaced: true });
  await Deno.writeTextFile(`${bench.folder}/lines`, '[8,"a"]\n[7,"last"]\n');
  assertEquals((await push("--bulk", "lines")).stdout.trim().split("\n")[1], jid);
  const [queued] = (await bench.store.admin.page({ in: "queue", queue: "default" })).entries;
  assertMatch(queued!.payload, /"args":\[7,"last"\]/);
  const batch = await push("7", "--batch", "b");
  assertEquals([batch.code, batch.stderr], [
    2,
    'jobs: Invalid --batch "b": expected no --batch together with --on-duplicate\n',
  ]);
  const alone = await on(bench, ["push", "Sync", "7", "--on-duplicate", "replace"]);
  assertEquals(alone.stderr, 'jobs: Invalid --on-duplicate "replace": expected --unique-for with it\n');
});

Deno.test("rejects times that are probably mistakes, and prints the time as parsed", async () => {
  await using bench = await Bench.open();
  for (
    const [args, message] of [
      [["--in", "5", "minutes"], 'Invalid --in "5 minutes": expected one word such as 5m'],
      [["--in=2", "h"], 'Invalid --in "2 h": expected one word such as 2h'],
      [["--at", "5"], 'Invalid --at "5": expected a time or epoch seconds; for a delay use --in 5'],
    ] as const
  ) {
    const { code, stderr } = await on(bench, ["push", "A", ...args]);
    assertEquals([code, stderr], [2, `jobs: ${message}\n`]);
  }
  const past = await on(bench, ["push", "A", "--at", "2020-01-01T08:00:00Z"]);
  assertMatch(past.stderr, /jobs: 2020-01-01 \d\d:00 \(.* ago\) is past: the job runs now/);
  const later = await on(bench, ["push", "A", "--at", "2100-01-01T08:00:00Z"]);
  assertMatch(later.stderr, /jobs: scheduled for 2100-01-01 \d\d:00 \(in .*\)/);
});

Deno.test("stores numbers digit by digit as typed, one by one and in bulk", async () => {
  await using bench = await Bench.open();
  const stored = async (stdout: string) => {
    const jids = stdout.trim().split("\n");
    const entries = await bench.store.jobs.find(jids);
    return entries.map(({ payload }) => /"args":(\[.*?\]),"jid"/.exec(payload)?.[1]).sort();
  };
  assertEquals(await stored((await on(bench, ["push", "A", "2.0", "1e3", "x"])).stdout), ['[2.0,1e3,"x"]']);
  assertEquals(await stored((await on(bench, ["push", "A", "--args", "[ 2.50, -0 ]"])).stdout), ["[2.50,-0]"]);
  const lines = '[2.0]\n{"class":"B","args":[3.0]}\n{"class":"B","args":[4]}\n';
  assertEquals(await stored((await on(bench, ["push", "A", "--bulk", "-"], lines)).stdout), ["[2.0]", "[3.0]", "[4]"]);
});

Deno.test("pushes jobs without args, one by one and in bulk; args that aren't an array are rejected", async () => {
  await using bench = await Bench.open();
  const lines = '{"class":"A"}\n{"class":"A","args":null}\n{"class":"A","queue":"default","args":[1]}\n';
  for (const onError of ["skip", "stop"]) {
    const { code, stderr } = await on(bench, ["push", "--bulk", "-", "--on-error", onError], lines);
    assertEquals(code, 1);
    assertStringIncludes(stderr, "jobs: line 2 is invalid: args is null; expected an array");
  }
  await on(bench, ["push", "A"]);
  const { entries } = await bench.store.admin.page({ in: "queue", queue: "default" });
  assertEquals(entries.map(({ payload }) => JSON.parse(payload).args), [[], [1], [], []]);
});

Deno.test("stops at the first invalid line of a file with --on-error stop", async () => {
  await using bench = await Bench.open();
  const lines = [...Array.from({ length: 30 }, (_, i) => `[${i}]`), '{"class":"A","args":5}', "[31]"].join("\n");
  const stopped = await on(bench, ["push", "A", "--bulk", "-", "--on-error", "stop"], lines);
  assertEquals([stopped.code, stopped.stdout.trim().split("\n").length], [1, 30]);
  assertStringIncludes(stopped.stderr, "jobs: line 31 is invalid: ");
  assertStringIncludes(stopped.stderr, "jobs: stopped at line 31: 30 lines stored, none from line 31 on");
  assertEquals((await bench.store.admin.stats()).enqueued, 30);
  const skipped = await on(bench, ["push", "A", "--bulk", "-"], lines);
  assertEquals([skipped.code, skipped.stdout.trim().split("\n").length], [1, 31]);
  assertEquals((await on(bench, ["push", "A", "--on-error", "stop"])).code, 2);
});

Deno.test("refuses to run without handlers, and warns of a handler's queue that the worker doesn't process", async () => {
  await using bench = await Bench.open();
  const none = await on(bench, ["run"]);
  assertEquals([none.code, none.stderr.startsWith("jobs: Missing argument: HANDLERS. Usage: jobs run")], [2, true]);
  const absent = await on(bench, ["run", "nope.js"]);
  assertEquals(absent.code, 2);
  const handlers = `${bench.folder}/low.js`;
  await Deno.writeTextFile(handlers, "export function ImportFile() {}\nImportFile.options = { queue: 'low' };\n");
  await using worker = await bench.server(["-q", "critical", handlers]);
  await worker.logged(
    'This worker doesn\'t process queue "low" of ImportFile; add -q low, or run a worker that does',
    { level: "warn" },
  );
});
