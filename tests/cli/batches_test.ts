/** `jobs batch` and `jobs flow`: open, add, close; what they say when something is wrong. */
import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { Bench } from "../support/bench.ts";
import { jobs } from "../support/process.ts";
import { workerRecord } from "../store_contract/jobs.ts";

function on(bench: Bench, args: readonly string[], stdin?: string) {
  return jobs(args, { env: { JOBS_STORE: bench.url }, cwd: bench.folder, ...(stdin !== undefined && { stdin }) });
}

Deno.test("opens a batch from JSON, adds to it, and pushes its callback after close", async () => {
  await using bench = await Bench.open();
  const opened = await on(
    bench,
    ["batch", "open", "-"],
    `{"name": "import", "success": {"class": "Notify", "args": [9]}}`,
  );
  const id = opened.stdout.trim();
  assertMatch(opened.stderr, /^jobs: class "Notify" isn't registered: .* so its callback waits until one does\n$/);
  await on(bench, ["push", "ImportRow", "7", "--batch", id]);
  assertEquals((await on(bench, ["batch", "close", id])).stdout, `Closed batch ${id}\n`);
  assertEquals((await on(bench, ["batch", "close", id])).stdout, `Batch ${id} was closed already\n`);
  const { name, total, closedAt, callbacks } = (await bench.store.batches.read({ ids: [id] })).batches[0]!;
  assertEquals([name, total, typeof closedAt, callbacks[0]!.class], ["import", 1, "number", "Notify"]);
  const empty = (await on(bench, ["batch", "open"])).stdout.trim();
  await on(bench, ["batch", "close", empty]);
  assertEquals((await bench.store.batches.read({ ids: [empty] })).batches[0]!.state, "succeeded");
});

Deno.test("rejects a push into a batch that is closed, cancelled or unknown, in one line and with a code", async () => {
  await using bench = await Bench.open();
  await bench.store.classes.declare([{ name: "Row", options: "{}" }]);
  const [closed, cancelled] = [await on(bench, ["batch", "open"]), await on(bench, ["batch", "open"])];
  await on(bench, ["batch", "close", closed.stdout.trim()]);
  await on(bench, ["batch", "cancel", cancelled.stdout.trim()]);
  for (
    const [batch, reason] of [
      [closed.stdout.trim(), "it is closed; only its running members add to it"],
      [cancelled.stdout.trim(), "it was cancelled"],
      ["x", "it doesn't exist, or its retention has expired"],
    ]
  ) {
    const { code, stdout, stderr } = await on(bench, ["push", "Row", "1", "--batch", batch!]);
    assertEquals([code, stdout, stderr], [1, "", `jobs: Cannot add to batch "${batch}": ${reason}\n`]);
  }
  const { stdout } = await on(bench, ["push", "Row", "1", "--batch", "x", "--json"]);
  assertEquals(JSON.parse(stdout).error.code, "batch");
});

Deno.test("rejects an invalid batch, and a close of what can't be closed, in one line", async () => {
  await using bench = await Bench.open();
  const id = (await on(bench, ["batch", "open"])).stdout.trim();
  await on(bench, ["batch", "cancel", id]);
  const flow = (await on(bench, ["flow", "push", "-"], `{"name": "n", "nodes": {"a": {"class": "A", "args": []}}}`))
    .stdout.trim();
  for (
    const [args, stdin, code, said] of [
      [
        ["open", "-"],
        `{"sucess": 1}`,
        2,
        'Invalid batch: sucess is 1; expected no option of this name: did you mean "success"?',
      ],
      [["open", "-"], "[1]", 2, "Invalid batch: batch is [1]; expected an object such as"],
      [["open", "-"], "[1", 2, "Invalid batch: batch is "],
      [
        ["open", "-"],
        `{"success": "Notify"}`,
        2,
        'Invalid batch: success is "Notify"; expected a job such as {"class"',
      ],
      [["open", "-"], `{"success": {"in": 5}}`, 2, "Invalid batch: success.in is 5; expected no"],
      [["open", "-"], `{"parent": "x"}`, 2, 'Cannot open a batch in batch "x": it doesn\'t exist'],
      [["open", "no.json"], "", 2, 'Cannot read "no.json": No such file'],
      [["close"], "", 2, "Missing argument: ID. Usage: jobs batch close ID"],
      [["close", "x"], "", 1, 'Batch "x" not found'],
      [["close", id], "", 2, `Can't close batch "${id}": it was cancelled`],
      [["close", flow], "", 2, `"${flow}" is a flow, not a batch`],
    ] as const
  ) {
    const given = await on(bench, ["batch", ...args], stdin);
    assertEquals(
      [given.code, given.stdout, given.stderr.slice(0, 6 + said.length), given.stderr.split("\n").length],
      [code, "", `jobs: ${said}`, 2],
      given.stderr,
    );
  }
});

Deno.test("warns after a push of a flow, and says in show, why its nodes don't run", async () => {
  await using bench = await Bench.open();
  await bench.store.classes.declare([{ name: "Extract", options: "{}" }, { name: "Load", options: "{}" }]);
  const flow = `{"name": "n", "nodes": {"a": {"class": "Extract", "args": []},
    "b": {"class": "Load", "args": [], "queue": "low", "after": "a"}}}`;
  const alone = await on(bench, ["flow", "push", "-"], flow);
  assertEquals(
    alone.stderr,
    "jobs: enqueued, but no worker is online; start one: jobs run handlers.js, or the program of a worker over HTTP, such as python3 worker.py\n",
  );
  assertMatch(
    (await on(bench, ["flow", "show", alone.stdout.trim()])).stdout,
    /^why +No worker is online\. Start one with jobs run handlers\.js -q default, or the program of/m,
  );
  const worker = workerRecord("host:1:aaaaaaaaaaaa", { queues: ["default"], classes: ["Load"] });
  await bench.store.workers.heartbeat(worker, 600_000);
  const { stdout, stderr } = await on(bench, ["flow", "push", "-"], flow);
  assertEquals(stderr.split("\n"), [
    'jobs: enqueued, but it waits: no worker of queue "default" has a handler for class "Extract"',
    'jobs: enqueued, but no worker processes queue "low"; start one: jobs run handlers.js -q low',
    "",
  ]);
  const { why } = JSON.parse((await on(bench, ["flow", "show", stdout.trim(), "--json"])).stdout);
  assertEquals(why, [
    'No worker of queue "default" has a handler for Extract: it waits for one. host:1:aaaaaaaaaaaa takes its jobs and lacks it. Start one with jobs run handlers.js -q default.',
  ]);
  await on(bench, ["flow", "cancel", stdout.trim()]);
  const shown = (await on(bench, ["flow", "show", stdout.trim()])).stdout;
  assertStringIncludes(shown, "cancelled: what waited is cancelled, running jobs are aborted\n");
});

Deno.test("counts the jobs and nodes that a cancel cancelled, and says if there was one before", async () => {
  await using bench = await Bench.open();
  const [batch, closed] = [
    (await on(bench, ["batch", "open"])).stdout.trim(),
    (await on(bench, ["batch", "open"])).stdout.trim(),
  ];
  for (const row of ["1", "2"]) await on(bench, ["push", "Row", row, "--batch", batch]);
  const nodes = { a: { class: "A" }, b: { class: "B", after: "a" }, c: { class: "C", after: "b" } };
  const push = async () => (await on(bench, ["flow", "push", "-"], JSON.stringify({ name: "n", nodes }))).stdout.trim();
  const [flow, other, stuck] = [await push(), await push(), await push()];
  await on(bench, ["kill", `${stuck}-1`]);
  for (
    const [kind, id, said, again] of [
      ["batch", batch, `Cancelled batch ${batch} and 2 jobs`, `Batch ${batch} is already cancelled`],
      ["batch", closed, `Cancelled batch ${closed} and 0 jobs`, `Batch ${closed} is already cancelled`],
      ["batch", flow, `Cancelled flow ${flow} and 3 nodes`, `Flow ${flow} is already cancelled`],
      ["flow", other, `Cancelled flow ${other} and 3 nodes`, `Flow ${other} is already cancelled`],
      // Its first node is dead, and stays.
      ["flow", stuck, `Cancelled flow ${stuck} and 2 nodes`, `Flow ${stuck} is already cancelled`],
    ] as const
  ) {
    const cancel = async () => {
      const { code, stdout, stderr } = await on(bench, [kind, "cancel", id]);
      return [code, stdout, stderr];
    };
    assertEquals([await cancel(), await cancel()], [[0, `${said}\n`, ""], [0, `${again}\n`, ""]]);
    const { stdout } = await on(bench, [kind, "cancel", id, "--json"]);
    const field = kind === "flow" ? "nodes" : "members";
    assertEquals(JSON.parse(stdout), { cancelled: id, [field]: 0, alreadyCancelled: true });
  }
});

Deno.test("continues a cancel that was interrupted, and says how many jobs it had left", async () => {
  await using bench = await Bench.open();
  const id = (await on(bench, ["batch", "open"])).stdout.trim();
  await on(bench, ["push", "Row", "1", "--batch", id]);
  await bench.store.batches.close(id, "cancelled");
  const { code, stdout } = await on(bench, ["batch", "cancel", id]);
  assertEquals([code, stdout], [
    0,
    `Batch ${id} is already cancelled; 1 job that still ran or waited: cancelled, too\n`,
  ]);
});

Deno.test("refuses to retry a batch or a flow that was cancelled, in one line", async () => {
  await using bench = await Bench.open();
  const batch = (await on(bench, ["batch", "open"])).stdout.trim();
  const nodes = `{"name": "n", "nodes": {"a": {"class": "A", "args": []}}}`;
  const flow = (await on(bench, ["flow", "push", "-"], nodes)).stdout.trim();
  const why = "it was cancelled, and its jobs no longer run; push them in a new one";
  for (
    const [verb, kind, id] of [["batch", "batch", batch], ["batch", "flow", flow], ["flow", "flow", flow]] as const
  ) {
    await on(bench, [verb, "cancel", id]);
    const { code, stdout, stderr } = await on(bench, [verb, "retry", id]);
    assertEquals([code, stdout, stderr], [2, "", `jobs: Cannot retry ${kind} "${id}": ${why}\n`]);
  }
});

Deno.test("jobs flow push --id stores a flow once, and refuses another one", async () => {
  await using bench = await Bench.open();
  const push = async (args: string, ...flags: string[]) =>
    await on(
      bench,
      ["flow", "push", "-", ...flags],
      `{"name": "n", "nodes": {"a": {"class": "A", "args": [${args}]}}}`,
    );
  const first = await push("1", "--id", "nightly", "--within", "2d");
  const second = await push("1", "--id", "nightly");
  assertEquals([second.code, second.stdout], [0, first.stdout]);
  const other = await push("2", "--id", "nightly");
  assertEquals(other.code, 2);
  assertStringIncludes(
    other.stderr,
    `id is "nightly"; expected a new one: flow "${first.stdout.trim()}" was pushed with it`,
  );
  const invalid: [flags: string[], text: string][] = [
    [["--within", "2d"], 'within is "2d"; expected "id" with it'],
    [["--id", "x".repeat(201)], "expected a text of 1 to 200 characters"],
    [["--id", "x", "--within", "soon"], "within"],
  ];
  for (const [flags, text] of invalid) {
    const { code, stderr } = await push("1", ...flags);
    assertEquals(code, 2);
    assertStringIncludes(stderr, text);
  }
  const misplaced = await on(bench, ["flow", "list", "--id", "x"]);
  assertEquals([misplaced.code, misplaced.stderr.includes("only jobs flow push has it")], [2, true]);
});
