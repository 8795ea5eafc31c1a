/** A job of a worker in Python that ignores its cancel: commands and the dump of the gateway name it. */
import { assertEquals, assertMatch } from "@std/assert";
import { until } from "../support/eventually.ts";
import { jobs } from "../support/process.ts";
import { Lab } from "./lab.ts";

Deno.test("a cancel that a Python worker ignores is named in show, doctor and the dump of its gateway", async () => {
  // Without that, the server ends the job after 3 s, and its thread in the program stays occupied.
  await using lab = await Lab.open({ command: ["python3", "stuck.py"], env: { JOBS_KILL_AFTER: "10m" } });
  const { bench, gateway } = lab;
  const env = { JOBS_STORE: bench.url, COLUMNS: "400" };
  const run = async (...args: string[]) => (await jobs(args, { env, cwd: bench.folder })).stdout;
  gateway.kill("SIGTTIN");
  await gateway.logged("no workers of other programs");

  lab.program();
  const jid = await bench.push("Stuck", [`${bench.folder}/go`]);
  await bench.until(async () => (await bench.store.workers.list())[0]?.work.length === 1, "it runs");
  const [worker] = await bench.store.workers.list();
  await run("cancel", jid);

  let shown = "";
  const ignored = new RegExp(
    `^why +Stuck ${jid} on ${worker!.id} ignores its signal \\(Cancelled\\) for \\S+ and has run for \\S+: ` +
      `jobs stop ${worker!.id} \\(a stop of its worker ends it; look at ctx.aborted in the handler\\)`,
    "m",
  );
  await until(async () => ignored.test(shown = await run("show", jid)), () => shown);
  assertMatch(await run("doctor", "--measure", "0s"), /ignores its signal \(Cancelled\)[^]*→ jobs stop/);

  gateway.kill("SIGTTIN");
  const performs = `Stuck ${jid} queue default attempt 1 aborted Cancelled`;
  await until(
    () => gateway.lines.some(({ msg }) => msg.startsWith(`${worker!.id}  task `) && msg.includes(performs)),
    () => gateway.lines.map(({ msg }) => msg).join("\n"),
  );
  const dumped = await run("dump", worker!.id);
  assertEquals(dumped.includes(performs), true, dumped);
  await Deno.writeTextFile(`${bench.folder}/go`, "");
});
