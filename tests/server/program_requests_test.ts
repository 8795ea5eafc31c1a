/** Progress, log lines and pushes of programs: `jobs step progress|log|push`. */
import { assertEquals, assertMatch } from "@std/assert";
import { Bench } from "../support/bench.ts";
import { jobsCommand } from "../support/command.ts";
import type { JobsProcess } from "../support/process.ts";
import { requireTool } from "../support/tools.ts";

/** Starts a worker that performs class `Program` with this shell script. In it, `$step` is `jobs step`. */
async function serve(bench: Bench, script: string): Promise<JobsProcess> {
  const path = `${bench.folder}/program.sh`;
  const step = [...jobsCommand(), "step"].join(" ");
  await Deno.writeTextFile(path, `#!/bin/sh\nset -eu\nstep="${step}"\n${script}\n`, { mode: 0o755 });
  const exec = JSON.stringify([{ class: "Program", exec: [path], retry: 0, result_ttl: "1h" }]);
  return await bench.server([], { JOBS_EXEC: exec });
}

Deno.test("a program reports progress, logs with a level, and pushes jobs, also into its closed batch", async () => {
  await using bench = await Bench.open();
  await using worker = await serve(
    bench,
    `
$step progress 40 percent
$step log warn "row 3 skipped"
alone=$($step push Later '{"n":12345678901234567890}' two --in 1h -q low)
member=$($step push Member --in 1h --in-batch)
again=$($step push Once --unique-for 1h --in 1h)$($step push Once --unique-for 1h --in 1h)
echo "{\\"alone\\":\\"$alone\\",\\"member\\":\\"$member\\",\\"again\\":\\"$again\\"}"`,
  );
  const { id } = await bench.client.batches.open();
  const jid = await bench.push("Program", [], { batch: id });
  await bench.store.batches.close(id, "closed");
  const ended = await bench.client.result(jid);
  assertEquals([ended?.state, ended?.progress], ["succeeded", "40 percent"]);
  assertEquals((await worker.logged("row 3 skipped", { jid })).level, "warn");
  const { alone, member, again } = ended?.result as Record<string, string>;
  const payloadOf = async (jid: string) => (await bench.store.jobs.find([jid]))[0]!.payload;
  const one = await payloadOf(alone!);
  assertMatch(one, /"args":\[\{"n":12345678901234567890\},"two"\]/);
  assertEquals([JSON.parse(one).queue, JSON.parse(one).batch], ["low", undefined]);
  assertEquals(JSON.parse(await payloadOf(member!)).batch, id);
  assertEquals(JSON.parse(await payloadOf(again!)).class, "Once", "the duplicate printed nothing");
  const batch = (await bench.store.batches.read({ ids: [id] })).batches[0]!;
  assertEquals([batch.total, batch.state], [2, "running"]);
});

Deno.test("a program that closes its side of the connection after a request receives the reply", async () => {
  requireTool("python3");
  await using bench = await Bench.open();
  const script = `
import json, os, socket
def request(kind, **fields):
    with socket.socket(socket.AF_UNIX) as worker:
        worker.connect(os.environ["JOBS_SOCKET"])
        worker.sendall(json.dumps({"kind": kind, "token": os.environ["JOBS_TOKEN"], **fields}).encode() + b"\\n")
        worker.shutdown(socket.SHUT_WR)
        return json.loads(worker.makefile().readline() or '"closed"')
pushed = [request("push", job=json.dumps({"class": "Later", "args": [i], "in": "1h"})) for i in range(20)]
stored = request("cursor", name="rows", cursor="20")
print(json.dumps([*pushed, stored, request("cursor", name="rows")]))`;
  await using _worker = await serve(bench, `exec python3 -c '${script.replaceAll("'", `'"'"'`)}'`);
  const jid = await bench.push("Program", []);
  const replies = (await bench.client.result(jid))?.result as { kind: string; value?: string }[];
  const jids = replies.slice(0, 20).map(({ value }) => JSON.parse(value!));
  assertEquals((await bench.store.jobs.find(jids)).length, 20);
  assertEquals(replies.slice(20), [{ kind: "value" }, { kind: "value", value: "20" }]);
});

Deno.test("a refused push exits 1 with one line, and the program decides", async () => {
  await using bench = await Bench.open();
  await using worker = await serve(bench, `$step push Member --in-batch || echo "exit $?"`);
  const jid = await bench.push("Program", []);
  assertEquals((await bench.client.result(jid))?.result, "exit 1");
  await worker.logged("jobs: This job is in no batch", { jid });
});

Deno.test("an invalid progress and an unknown level are refused", async () => {
  await using bench = await Bench.open();
  await using worker = await serve(bench, `$step log loud hello || echo refused >&2\n$step progress half`);
  const jid = await bench.push("Program", []);
  await worker.logged('jobs: Invalid level "loud": expected debug, info, warn, error', { jid });
  await worker.logged('jobs: Invalid progress "half": expected a number, for example: jobs step progress 40 percent', {
    jid,
  });
});
