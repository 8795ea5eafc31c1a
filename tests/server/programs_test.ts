/** Jobs performed by programs in any language. */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { findUser } from "../../src/handlers/isolation/program_user.ts";
import { requireRoot, requireTool } from "../support/tools.ts";
import { endingWithWorker } from "../../src/handlers/isolation/ending_with_worker.ts";
import { Bench } from "../support/bench.ts";
import { decodeBacktrace } from "../../src/job/failure.ts";
import { jobsCommand } from "../support/command.ts";
import { jobs, type JobsProcess } from "../support/process.ts";

/** A worker that performs class `Program` with this shell script. */
async function serve(bench: Bench, script: string, env: Record<string, string> = {}, more = {}): Promise<JobsProcess> {
  const path = `${bench.folder}/program.sh`;
  await Deno.writeTextFile(path, `#!/bin/sh\nnotes=${bench.notes}\n${script}\n`, { mode: 0o755 });
  return await serveExec(bench, [path], env, more);
}

function serveExec(bench: Bench, exec: string[], env: Record<string, string> = {}, more = {}): Promise<JobsProcess> {
  return bench.server([], {
    JOBS_EXEC: JSON.stringify([{ class: "Program", exec, retry: 0, ...more }]),
    JOBS_KILL_AFTER: "200ms",
    ...env,
  });
}

async function dead(bench: Bench, jid: string): Promise<[unknown, unknown]> {
  await bench.until(async () => (await bench.store.jobs.find([jid]))[0]?.place.in === "dead", `${jid} is dead`);
  const payload = JSON.parse((await bench.store.jobs.find([jid]))[0]!.payload);
  return [payload.error_class, payload.error_message];
}

Deno.test("a program receives the payload and its variables, and its stderr is logged", async () => {
  await using bench = await Bench.open();
  await using server = await serve(
    bench,
    `cat > $notes.payload; echo "said" >&2; echo "$JOBS_JID $JOBS_CLASS $JOBS_QUEUE $JOBS_ATTEMPT" > $notes`,
  );
  const jid = await bench.push("Program", ["bob", 12345678901234567890n]);
  await bench.noted(`${jid} Program default 1`);
  await server.logged("said", { jid, class: "Program" });
  await server.logged("Done", { jid });
  const payload = await Deno.readTextFile(`${bench.notes}.payload`);
  assertMatch(payload, /"args":\["bob",12345678901234567890\],.*\n$/);
  assertEquals(JSON.parse(payload).jid, jid);
});

for (
  const [code, place, error] of [
    [0, undefined, undefined],
    [1, "dead", "ProgramFailed"],
    [75, "dead", "TryAgain"],
    [100, undefined, undefined],
    [101, "dead", "Kill"],
  ] as const
) {
  Deno.test(`a program that exits with ${code}: ${place ?? "gone"}`, async () => {
    await using bench = await Bench.open();
    await using server = await serve(bench, `echo "the reason" >&2; exit ${code}`);
    const jid = await bench.push("Program", []);
    await server.logged("the reason", { jid });
    await bench.until(async () => (await bench.store.admin.stats()).processed === 1);
    const [entry] = await bench.store.jobs.find([jid]);
    assertEquals(entry?.place.in, place);
    if (error === undefined) return;
    const payload = JSON.parse(entry!.payload);
    assertEquals(payload.error_class, error);
    assertEquals(payload.error_message, `Program "${bench.folder}/program.sh" exited with code ${code}: the reason`);
  });
}

Deno.test("a failed program is retried by the options of its entry", async () => {
  await using bench = await Bench.open();
  await using _server = await serve(bench, "exit 75", {}, { retry: 3, queue: "default" });
  const jid = await bench.push("Program", []);
  await bench.until(async () => (await bench.store.jobs.find([jid]))[0]?.place.in === "retry");
});

Deno.test("a program that ignores TERM is killed at its timeout, with its grandchildren", async () => {
  await using bench = await Bench.open();
  const script =
    `trap '' TERM; sh -c "trap '' TERM; echo grandchild \\$\\$ >> $notes; sleep 1000" & echo child $$ >> $notes
    while :; do sleep 1000; done`;
  await using _server = await serve(bench, script, {}, { timeout: "3s" });
  const jid = await bench.push("Program", []);
  assertEquals(await dead(bench, jid), ["Timeout", "Ran for longer than its timeout of 3s"]);
  const pids = (await bench.readNotes()).map((line) => line.split(" ")[1]!);
  assertEquals(pids.length, 2);
  for (const pid of pids) {
    await bench.until(async () => {
      const stat = await Deno.readTextFile(`/proc/${pid}/stat`).catch(() => "");
      return stat === "" || / [ZX] /.test(stat);
    }, `${pid} is gone`);
  }
});

Deno.test("a program may handle TERM and end in order", async () => {
  await using bench = await Bench.open();
  const script = `trap 'echo ended >> $notes; exit 0' TERM; echo started >> $notes; while :; do sleep 0.05; done`;
  await using _server = await serve(bench, script, { JOBS_KILL_AFTER: "1h" }, { timeout: "3s" });
  assertEquals((await dead(bench, await bench.push("Program", [])))[0], "Timeout");
  assertEquals(await bench.readNotes(), ["started", "ended"]);
});

Deno.test("processes that a program leaves in its group end with it, and delay nothing", async () => {
  await using bench = await Bench.open();
  await using server = await serve(bench, `sleep 1000 & echo $! >> $notes`);
  const jid = await bench.push("Program", []);
  await server.logged("Done", { jid });
  const [pid] = await bench.readNotes();
  await bench.until(async () => {
    const stat = await Deno.readTextFile(`/proc/${pid}/stat`).catch(() => "");
    return stat === "" || / [ZX] /.test(stat);
  });
});

Deno.test("a program ends with its worker, also after kill -9, and begins only under its worker", async () => {
  requireTool("setpriv");
  await using bench = await Bench.open();
  const exec = ["sh", "-c", `echo $$ >>${bench.notes}; while :; do :; done`];
  await using server = await bench.server([], { JOBS_EXEC: JSON.stringify([{ class: "Loop", exec }]) });
  await bench.push("Loop", []);
  await bench.until(async () => (await bench.readNotes()).length === 1);
  const [pid] = await bench.readNotes();
  server.kill("SIGKILL");
  await bench.until(async () => !await Deno.stat(`/proc/${pid}`).then(() => true, () => false), "it has ended");

  const [program, ...args] = endingWithWorker(["/bin/echo", "begun"]);
  const orphan = args.map((arg) => arg === `${Deno.pid}` ? "1" : arg);
  const { code, stdout } = await new Deno.Command(program!, { args: orphan }).output();
  assertEquals([code, new TextDecoder().decode(stdout)], [137, ""]);
  const begun = await new Deno.Command(program!, { args }).output();
  assertEquals(new TextDecoder().decode(begun.stdout), "begun\n");
});

Deno.test("a program that is missing, not executable, without its folder, or dies causes one clear line each", async () => {
  await using bench = await Bench.open();
  const plain = `${bench.folder}/plain`;
  await Deno.writeTextFile(plain, "", { mode: 0o644 });
  const cwd = await Deno.makeTempDir({ dir: bench.folder });
  await using _server = await bench.server([], {
    JOBS_EXEC: JSON.stringify([
      { class: "Folderless", exec: ["true"], retry: 0, cwd },
      { class: "Absent", exec: ["/no/such/program"], retry: 0 },
      { class: "Plain", exec: [plain], retry: 0 },
      { class: "Dies", exec: ["sh", "-c", "kill -SEGV $$"], retry: 0 },
    ]),
  });
  await Deno.remove(cwd);
  assertEquals(await dead(bench, await bench.push("Folderless", [])), [
    "ProgramFailed",
    `Program "true" cannot be started: folder "${cwd}" not found`,
  ]);
  assertEquals(await dead(bench, await bench.push("Absent", [])), [
    "ProgramFailed",
    `Program "/no/such/program" cannot be started: program not found`,
  ]);
  assertEquals(await dead(bench, await bench.push("Plain", [])), [
    "ProgramFailed",
    `Program "${plain}" cannot be started: it is not executable (chmod +x)`,
  ]);
  assertEquals(await dead(bench, await bench.push("Dies", [])), [
    "Killed:SIGSEGV",
    `Program "sh" was killed by SIGSEGV`,
  ]);
  await bench.push("Note", [bench.notes, "the rest runs"]);
  await bench.noted("the rest runs");
});

Deno.test("the beginning and the end of a long output are kept, and a program that prints invalid text fails", async () => {
  await using bench = await Bench.open();
  await using _server = await bench.server([], {
    JOBS_MAX_RESULT_BYTES: "1000",
    JOBS_EXEC: JSON.stringify([
      { class: "Long", exec: ["seq", "30000"], retry: 0 },
      { class: "Endless", exec: ["yes"], retry: 0, timeout: "500ms" },
      { class: "Binary", exec: ["printf", "\\377\\376"], retry: 0 },
    ]),
  });
  const long = await bench.push("Long", []);
  await bench.until(async () => await bench.client.result(long) !== undefined);
  const { state, result } = (await bench.client.result(long))!;
  assertEquals(state, "succeeded");
  assertMatch(String(result), /^1\n2\n3\n[^…]*\n… \([\d.]+ .?.?B in total\) …\n[^…]*29999\n30000\n$/);
  assertEquals((await dead(bench, await bench.push("Endless", [])))[0], "Timeout");
  assertEquals(await dead(bench, await bench.push("Binary", [])), [
    "ProgramFailed",
    `Program "printf" printed invalid UTF-8; expected JSON or text`,
  ]);
});

Deno.test("a program whose results aren't kept ends, however much it prints", async () => {
  await using bench = await Bench.open();
  const exec = JSON.stringify([{ class: "Long", exec: ["seq", "100000"], retry: 0 }]);
  await using server = await bench.server([], { JOBS_MAX_RESULT_BYTES: "0", JOBS_EXEC: exec });
  await server.logged("Done", { jid: await bench.push("Long", []) });
});

Deno.test("a daemon that a program leaves behind doesn't delay its end, although it holds the pipes open", async () => {
  await using bench = await Bench.open();
  await using server = await serve(
    bench,
    `setsid sh -c 'echo daemon $$ >> '$notes'; exec sleep 1000' &
    while ! grep -q daemon $notes 2>/dev/null; do sleep 0.05; done; echo '"the result"'`,
    {},
    { timeout: "1h" },
  );
  const jid = await bench.push("Program", ["x".repeat(200_000)]);
  await server.logged("Done", { jid });
  assertEquals((await bench.client.result(jid))?.result, "the result");
  server.kill("SIGTERM");
  await server.status();
  Deno.kill(Number((await bench.readNotes())[0]!.split(" ")[1]), "SIGKILL");
});

Deno.test("a program that prints too much on stderr does not fill the log", async () => {
  await using bench = await Bench.open();
  await using server = await serve(bench, `yes loud | head -n 20000 >&2`);
  await server.logged("Done", { jid: await bench.push("Program", []) });
  await server.logged("Program printed too many lines on stderr; the rest is not logged");
  assert(server.lines.filter((line) => line.msg === "loud").length <= 1_000);
});

Deno.test("a payload cannot name the command, and no shell reads it", async () => {
  await using bench = await Bench.open();
  await using server = await serveExec(bench, ["sh", "-c", `cat > ${bench.notes}`]);
  const jid = await bench.push("Program", ["$(touch /tmp/no); `id`"], { exec: ["touch", "/tmp/no"] });
  await server.logged("Done", { jid });
  assertEquals(JSON.parse((await bench.readNotes())[0]!).args, ["$(touch /tmp/no); `id`"]);
});

Deno.test("of a program that fails, the end of what it printed is kept, also while it is retried", async () => {
  await using bench = await Bench.open();
  await using _server = await serve(
    bench,
    `echo "Bearer abcdef0123456789"; echo "out $JOBS_ATTEMPT"; echo "err" >&2; ` +
      `${jobsCommand().map((word) => `'${word}'`).join(" ")} step log info told; exit 3`,
  );
  const jid = await bench.push("Program", [], { retry: 3 });
  await bench.until(async () => (await bench.store.jobs.find([jid]))[0]?.place.in === "retry");
  const env = { JOBS_STORE: bench.url };
  const shown = async (jid: string) => {
    const { stdout } = await jobs(["show", jid], { env });
    const { error, payload, output } = JSON.parse((await jobs(["show", jid, "--json"], { env })).stdout);
    return { stdout, lines: (error.output ?? output).toSorted(), packed: payload.error_output };
  };
  const retrying = await shown(jid);
  assertEquals(retrying.lines, ["Bearer ••••••", "err", "out 1"]);
  assertEquals(retrying.packed, undefined);
  assertMatch(retrying.stdout, /^output +\S/m);
  assertMatch(retrying.stdout, /^took +\d/m);
  assertMatch(retrying.stdout, /^attempts +1\. \S+ after \S+ ProgramFailed/m);
  assert(!retrying.stdout.includes("program.ts"), "the stack of the worker isn't shown");

  const failed = await bench.push("Program", [], { retry: false });
  await bench.until(async () => (await bench.store.results.read({ jids: [failed] })).records.length === 1);
  const { stdout } = await jobs(["show", failed, "--json"], { env });
  const { output, log } = JSON.parse(stdout);
  assertEquals(output.toSorted(), ["Bearer ••••••", "err", "out 1"]);
  assertEquals(log, ["told"], "what it printed isn't shown a second time");
});

Deno.test("the output of a program that its timeout ended is kept with its end only", async () => {
  await using bench = await Bench.open();
  await using _server = await serve(bench, `seq 1 200000; sleep 1000`, {}, { timeout: "3s" });
  const jid = await bench.push("Program", []);
  assertEquals((await dead(bench, jid))[0], "Timeout");
  const [record] = (await bench.store.results.read({ jids: [jid] })).records;
  const { output, elapsedMs } = JSON.parse(record!);
  assertEquals([output.length, output.at(-1)], [5_000, "200000"]);
  assert(elapsedMs >= 3_000);
  const { error_output: packed } = JSON.parse((await bench.store.jobs.find([jid]))[0]!.payload);
  const kept = decodeBacktrace(packed)!;
  assert(kept.join("\n").length <= 16 * 1024);
  assertEquals(kept.at(-1), "200000");
});

Deno.test("a program has the variables, the folder and the user of its entry", async () => {
  requireRoot();
  requireTool("setpriv");
  await using bench = await Bench.open();
  await Deno.chmod(bench.folder, 0o755);
  await Deno.mkdir(`${bench.folder}/app`);
  await Deno.writeTextFile(
    `${bench.folder}/app/tell.sh`,
    `#!/bin/sh\necho "$TARGET $(id -un) $(id -gn) $(basename "$PWD") $HOME $LOGNAME"\n`,
    { mode: 0o755 },
  );
  await using server = await serveExec(bench, ["./tell.sh"], {}, {
    cwd: `${bench.folder}/app`,
    env: { TARGET: "/mnt/backup" },
    user: "daemon",
    result_ttl: "1h",
  });
  const jid = await bench.push("Program", []);
  await server.logged("Done", { jid });
  await bench.until(async () => (await bench.store.results.read({ jids: [jid] })).records.length === 1);
  const [record] = (await bench.store.results.read({ jids: [jid] })).records;
  const home = findUser("daemon")!.home;
  assertEquals(JSON.parse(record!).result, `/mnt/backup daemon daemon app ${home} daemon`);
  const { stdout } = await jobs(["doctor", "--settings", "--json"], {
    env: { JOBS_STORE: bench.url, JOBS_EXEC: JSON.stringify([{ class: "A", exec: ["a"], env: { KEY: "hunter2" } }]) },
  });
  assert(stdout.includes('"KEY": "***"') && !stdout.includes("hunter2"), stdout);
});

Deno.test("a program has all variables, also those whose name no shell accepts", async () => {
  await using bench = await Bench.open();
  const startup = `${bench.folder}/startup`;
  await Deno.writeTextFile(startup, "echo startup file");
  const env = { "of.worker": "1", BASH_ENV: startup, ENV: startup };
  await using _server = await serveExec(bench, ["env"], env, { env: { "of-entry": "2" }, result_ttl: "1h" });
  const jid = await bench.push("Program", []);
  const lines = ((await bench.client.result(jid))?.result as string).split("\n");
  for (const line of ["of.worker=1", "of-entry=2", `JOBS_JID=${jid}`]) assert(lines.includes(line), line);
  assert(!lines.includes("startup file"), "no shell reads its startup file");
});

Deno.test("a program of another user begins only under its worker", async () => {
  requireRoot();
  requireTool("setpriv");
  const user = findUser("daemon")!;
  const [program, ...args] = endingWithWorker(["/bin/echo", "begun"], { user });
  const orphan = args.map((arg) => arg === `${Deno.pid}` ? "1" : arg);
  assertEquals((await new Deno.Command(program!, { args: orphan }).output()).code, 137);
});

for (
  const [entry, message] of [
    [{ user: "no-such-user" }, 'exec of class "Program": user "no-such-user" doesn\'t exist'],
    [{ cwd: "/no/such/folder" }, 'exec of class "Program": "cwd" "/no/such/folder": no such folder'],
  ] as const
) {
  Deno.test(`a worker doesn't start with an entry of ${JSON.stringify(entry)}, and doctor reports it`, async () => {
    await using bench = await Bench.open();
    const env = {
      JOBS_STORE: bench.url,
      JOBS_EXEC: JSON.stringify([{ class: "Program", exec: ["true"], ...entry }]),
    };
    const { code, stderr } = await jobs(["run"], { env });
    assertEquals([code, stderr.trim().split("\n").at(-1)], [2, `jobs: ${message}`]);
    assert((await jobs(["doctor"], { env })).stdout.includes(message));
  });
}
