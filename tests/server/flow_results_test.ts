/** The results of earlier nodes of a flow, in isolated jobs and in programs. */
import { assertEquals } from "@std/assert";
import { Bench } from "../support/bench.ts";
import { jobsCommand } from "../support/command.ts";
import { startRedis } from "../support/redis.ts";

const MODULE = `
export function Extract(_ctx, rows) {
  return { rows, big: 12345678901234567890n };
}
export function Silent() {}
export async function Isolated(ctx) {
  const before = await ctx.flow.results();
  const inner = await ctx.batch.open({ name: "inner" });
  await inner.add("Silent", []);
  await inner.close();
  return { before, named: await ctx.flow.results(["a", "silent"]), members: (await ctx.batch.get()).total };
}
Isolated.options = { isolate: true };
`;

for (const kind of ["SQLite", "Redis"] as const) {
  Deno.test(`an isolated job and a program read the results of earlier nodes, on ${kind}`, async () => {
    await using redis = kind === "Redis" ? await startRedis() : undefined;
    await using bench = await Bench.open(redis?.url);
    const module = `${bench.folder}/nodes.js`;
    await Deno.writeTextFile(module, MODULE);
    const program = `${bench.folder}/program.sh`;
    const results = [...jobsCommand(), "flow", "results"].join(" ");
    await Deno.writeTextFile(
      program,
      `#!/bin/sh\nset -e\nbefore=$(${results})\nnamed=$(${results} a silent)\necho "[$before,$named]"\n`,
      { mode: 0o755 },
    );
    const exec = JSON.stringify([{ class: "Program", exec: [program] }]);
    await using worker = await bench.server([module], { JOBS_EXEC: exec });
    const { id } = await bench.client.flow("nightly", {
      a: { job: ["Extract", [1]] },
      b: { job: ["Extract", [2]] },
      silent: { job: ["Silent", []], after: "a" },
      isolated: { job: ["Isolated", []], after: ["b", "silent"] },
      program: { job: ["Program", []], after: "isolated" },
    });
    const flow = await bench.client.flows.wait(id, { signal: AbortSignal.timeout(30_000) });
    assertEquals([flow?.state, worker.complaints], ["succeeded", []]);
    const a = { rows: 1, big: 12345678901234567890n };
    const b = { rows: 2, big: 12345678901234567890n };
    const isolated = { before: { b }, named: { a }, members: 6 };
    assertEquals({ ...await bench.client.flows.results(id, ["isolated", "program"]) }, {
      isolated,
      program: [{ isolated }, { a }],
    });
  });
}

Deno.test("jobs flow results exits with 1 in a program whose job isn't a node, and the program decides", async () => {
  await using bench = await Bench.open();
  const program = `${bench.folder}/program.sh`;
  const results = [...jobsCommand(), "flow", "results"].join(" ");
  await Deno.writeTextFile(program, `#!/bin/sh\n${results} >&2 || echo "exit $?"\n`, { mode: 0o755 });
  const exec = JSON.stringify([{ class: "Program", exec: [program] }]);
  await using worker = await bench.server([], { JOBS_EXEC: exec });
  const jid = await bench.push("Program", [], { result_ttl: "1h" });
  assertEquals((await bench.client.result(jid))?.result, "exit 1");
  await worker.logged("jobs: This job isn't a node of a flow", { jid });
});
