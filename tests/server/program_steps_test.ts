/** Durable steps of programs: `jobs step`. */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { Bench } from "../support/bench.ts";
import { jobsCommand } from "../support/command.ts";
import { isRunning } from "../support/pid.ts";
import { type JobsProcess, MORTAL } from "../support/process.ts";
import { startRedis } from "../support/redis.ts";
import { requireTool } from "../support/tools.ts";

/** Starts a worker that performs class `Program` with this shell script. In it, `$step` is `jobs step`. */
async function serve(bench: Bench, script: string, env: Record<string, string> = {}): Promise<JobsProcess> {
  const path = `${bench.folder}/program.sh`;
  const step = [...jobsCommand(), "step"].join(" ");
  const head = `notes=${bench.notes}\nstep="${step}"\nnote() { echo "$*" >> $notes; }\n`;
  await Deno.writeTextFile(path, `#!/bin/sh\n${head}${script}\n`, { mode: 0o755 });
  const exec = JSON.stringify([{ class: "Program", exec: [path], retry: 0, result_ttl: "1h" }]);
  return await bench.server([HANDLERS], { JOBS_EXEC: exec, ...env });
}

const HANDLERS = new URL("../support/step_handlers.js", import.meta.url).pathname;
/** A step that ends when the file exists for which `bench.go()` is named. */
const HELD = "sh -c 'echo two >> '$notes'; while ! test -e '$notes'.go; do sleep 0.05; done; echo done'";

/** Waits until a job is dead, and returns its error. */
async function errorOf(bench: Bench, jid: string): Promise<string> {
  await bench.until(async () => (await bench.store.jobs.find([jid]))[0]?.place.in === "dead", "it is dead");
  const { error_class: name, error_message: message } = JSON.parse((await bench.store.jobs.find([jid]))[0]!.payload);
  return `${name}: ${message}`;
}

Deno.test("a program repeats no completed step, sleeps, waits for a signal and for a child, and receives their values", async () => {
  await using bench = await Bench.open();
  await using _worker = await serve(
    bench,
    `
set -eu
charge=$($step run charge -- sh -c "echo charge >> $notes; echo '{\\"n\\":12345678901234567890}'")
$step sleep "cooling off" 0.1
answer=$($step wait approval --key "order:$JOBS_JID" --timeout 1h --example '{"ok":true}')
child=$($step child double Doubles 21)
for i in 1 2; do $step run line --each $i -- sh -c "echo line $i >> $notes"; done
echo "{\\"charge\\":$charge,\\"answer\\":\\"$answer\\",\\"child\\":$child}"`,
  );
  const jid = await bench.push("Program", []);
  await bench.until(async () => (await bench.store.steps.read(jid)).length === 3, "it waits for the signal");
  assertEquals(JSON.parse((await bench.store.steps.read(jid))[2]!.record).example, '{"ok":true}');
  await bench.client.signal(`order:${jid}`, "yes");
  const ended = await bench.client.result(jid);
  assertEquals(ended?.result, { charge: { n: 12345678901234567890n }, answer: "yes", child: 42 });
  assertEquals(await bench.readNotes(), ["charge", "line 1", "line 2"]);
});

Deno.test("a failed step ends the program, also one that ignores exit codes, and fails the job with the step's name", async () => {
  await using bench = await Bench.open();
  await using _worker = await serve(bench, `$step run charge -- sh -c "echo charge >> $notes; exit 3"\nnote after`);
  const jid = await bench.push("Program", []);
  assertEquals(await errorOf(bench, jid), 'ProgramFailed: Step "charge": Command "sh" exited with code 3');
  assertEquals(await bench.readNotes(), ["charge"]);
  const [step] = await bench.store.steps.read(jid);
  assertMatch(step!.record, /^\{"state":"failed",.*"attempts":1/);
});

Deno.test("a step with --retry that has failed for good exits 1, and the program compensates", async () => {
  await using bench = await Bench.open();
  await using _worker = await serve(
    bench,
    `
if ! $step run reserve --retry 1 --backoff 0.1s -- sh -c "echo reserve >> $notes; exit 1"; then
  $step run refund -- sh -c "echo refund \\$JOBS_IDEMPOTENCY_KEY >> $notes"
  exit 0
fi
note after`,
  );
  const jid = await bench.push("Program", []);
  assertEquals((await bench.client.result(jid))?.state, "succeeded");
  assertEquals(await bench.readNotes(), ["reserve", "reserve", `refund ${jid}:refund`]);
});

Deno.test("a wait whose time has passed exits 1", async () => {
  await using bench = await Bench.open();
  await using _worker = await serve(bench, `$step wait answer --key k --timeout 0.1s || echo none`);
  const jid = await bench.push("Program", []);
  assertEquals((await bench.client.result(jid))?.result, "none");
});

Deno.test("the end of a program counts, not that of a step that it left running", async () => {
  await using bench = await Bench.open();
  await using _worker = await serve(bench, `$step run held -- ${HELD} &\nwhile ! test -e $notes; do sleep 0.05; done`);
  const jids = await Promise.all([1, 2, 3].map(() => bench.push("Program", [])));
  for (const jid of jids) assertEquals((await bench.client.result(jid))?.state, "succeeded");
});

Deno.test("a program ends its job also if a process that has left its group is in a step", async () => {
  await using bench = await Bench.open();
  await using _worker = await serve(
    bench,
    `setsid $step run held -- ${HELD} >&- 2>&- <&- &
while ! test -e $notes; do sleep 0.05; done`,
  );
  const jid = await bench.push("Program", []);
  assertEquals((await bench.client.result(jid))?.state, "succeeded");
  await bench.go();
  assertEquals(await bench.store.steps.read(jid), []);
});

Deno.test("a step of a program that exceeds its timeout fails, and its command ends with the program", async () => {
  await using bench = await Bench.open();
  await using _worker = await serve(
    bench,
    `$step run slow --timeout 0.2s -- sh -c "while :; do sleep 0.1; done"\nnote after`,
  );
  const jid = await bench.push("Program", []);
  assertMatch(await errorOf(bench, jid), /^Timeout: Step "slow": /);
  assertEquals(await bench.readNotes(), []);
});

Deno.test("after kill -9 of its worker in the second step, a program repeats that step only, and its orphan ends", async () => {
  await using bench = await Bench.open();
  const script = `set -e\n$step run one -- sh -c "echo one >> $notes"\nnote $($step run two -- ${HELD})`;
  await using first = await serve(bench, `echo $$ > $notes.pid\n${script}`, MORTAL);
  const jid = await bench.push("Program", []);
  await bench.noted("two");
  const orphan = Number(await Deno.readTextFile(`${bench.notes}.pid`));
  first.kill("SIGKILL");
  await first.status();
  await bench.until(async () => !await isRunning(orphan), "the program has ended without its worker");
  await using _second = await serve(bench, script, MORTAL);
  await bench.go();
  await bench.noted("done");
  assertEquals(await bench.readNotes(), ["one", "two", "two", "done"]);
  await bench.until(async () => (await bench.store.steps.read(jid)).length === 0, "its steps are gone");
});

Deno.test("a program begins no step on a stopping worker, and continues on the next without using an attempt", async () => {
  await using bench = await Bench.open();
  const script = `$step run one -- ${HELD}\n$step run three -- sh -c "echo three $JOBS_ATTEMPT >> $notes"`;
  await using first = await serve(bench, script);
  const jid = await bench.push("Program", []);
  await bench.noted("two");
  first.kill("SIGTERM");
  await first.logged("Stopping");
  await bench.go();
  await first.status();
  assertEquals((await bench.store.admin.stats()).enqueued, 1);
  await using _second = await serve(bench, script);
  assertEquals((await bench.client.result(jid))?.state, "succeeded");
  assertEquals(await bench.readNotes(), ["two", "three 1"]);
});

/** Imports rows 1 to 5 after the cursor. Row 3 waits for `bench.go()`. */
const LOOP = `
set -eu
last=$($step cursor rows)
note "from '$last' attempt $JOBS_ATTEMPT"
i=\${last:-0}
while [ $i -lt 5 ]; do
  i=$((i + 1))
  note "row $i"
  if [ $i = 3 ]; then while ! test -e $notes.go; do sleep 0.05; done; fi
  $step cursor rows $i
done`.replaceAll("\\$", "$");

for (const kind of ["SQLite", "Redis"]) {
  Deno.test(`on ${kind}, a loop of a program continues after its cursor on the next worker, without using an attempt`, async () => {
    await using redis = kind === "Redis" ? await startRedis() : undefined;
    await using bench = await Bench.open(redis?.url);
    await using first = await serve(bench, LOOP);
    const jid = await bench.push("Program", []);
    await bench.noted("row 3");
    first.kill("SIGTERM");
    await first.logged("Stopping");
    await bench.go();
    await first.status();
    const [step] = await bench.store.steps.read(jid);
    assertMatch(step!.record, /^\{"state":"running",.*"kind":"each","count":3,"cursor":"3"\}$/);
    await using _second = await serve(bench, LOOP);
    assertEquals((await bench.client.result(jid))?.state, "succeeded");
    const rows = ["row 1", "row 2", "row 3", "from '3' attempt 1", "row 4", "row 5"];
    assertEquals(await bench.readNotes(), ["from '' attempt 1", ...rows]);
  });
}

Deno.test("a cursor is printed as it was given, and a name of another kind fails the attempt", async () => {
  await using bench = await Bench.open();
  await using _worker = await serve(
    bench,
    `set -e\n$step cursor a 007\n$step cursor b -- '-1 "x"'\nnote "$($step cursor a) $($step cursor b)"\n$step sleep a 1d`,
  );
  const jid = await bench.push("Program", []);
  assertMatch(await errorOf(bench, jid), /^StepError: Step "a" was stored as "each" and is used as "sleep" now/);
  assertEquals(await bench.readNotes(), ['007 -1 "x"']);
});

Deno.test("a misspelled option of jobs step ends the program with a message, so that no compensation runs", async () => {
  await using bench = await Bench.open();
  await using _worker = await serve(bench, `$step run charge --retyr 2 -- true || note compensated`);
  const jid = await bench.push("Program", []);
  assertMatch(await errorOf(bench, jid), /was killed by SIGTERM: jobs: Unknown option "--retyr"/);
  assertEquals(await bench.readNotes(), []);
});

Deno.test("the command of a step that prints many short pieces takes little memory", async () => {
  const python = requireTool("python3");
  await using bench = await Bench.open();
  await Deno.writeTextFile(
    `${bench.folder}/print.py`,
    `import os, time
for i in range(6000):
    os.write(1, b"x\\n")
    time.sleep(0.0001)
with open(f"/proc/{os.getppid()}/status") as status:
    print(next(line for line in status if line.startswith("VmHWM")))`,
  );
  await using _worker = await serve(bench, `$step run print -- ${python} ${bench.folder}/print.py`);
  const printed = (await bench.client.result(await bench.push("Program", [])))?.result as string;
  const peak = Number(/^VmHWM:\s+(\d+) kB$/m.exec(printed)![1]) * 1024;
  assert(peak < 250_000_000, `${peak} bytes`);
});
