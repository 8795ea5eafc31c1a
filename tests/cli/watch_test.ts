/** `jobs run --watch`. */
import { assert, assertEquals } from "@std/assert";
import { Bench } from "../support/bench.ts";
import { JobsProcess } from "../support/process.ts";
import { requireTool } from "../support/tools.ts";

Deno.test("starts again when a module that a handler imports changes, and after invalid code at the next change only", async () => {
  await using bench = await Bench.open();
  const handlers = `${bench.folder}/handlers.js`;
  const answer = (text: string) => Deno.writeTextFile(`${bench.folder}/answer.js`, text);
  await Deno.writeTextFile(handlers, 'import { answer } from "./answer.js";\nexport const Answer = () => answer;');
  await answer("export const answer = 1;");
  await using worker = await bench.server([handlers, "--watch"]);
  const result = async () => (await bench.client.result(await bench.push("Answer", [], { result_ttl: "1h" })))?.result;
  assertEquals(await result(), 1);
  await answer("export const answer = 2;");
  await worker.logged("Ready", {}, 2);
  assertEquals(await result(), 2);
  await answer("export const answer = ;");
  await worker.logged("jobs: the worker has ended; a change of its files starts it again");
  await answer("export const answer = 3;");
  await worker.logged("Ready", {}, 3);
  assertEquals(await result(), 3);
  // A slow write is two changes.
  assert(worker.lines.filter(({ msg }) => /has changed; starting again$/.test(msg)).length >= 3);
  worker.kill("SIGTERM");
  assertEquals((await worker.status()).code, 0);
});

Deno.test("a second INT ends the jobs of a watched worker at once, also one that a change has told to stop", async () => {
  for (const isChanged of [false, true]) {
    await using bench = await Bench.open();
    const handlers = `${bench.folder}/handlers.js`;
    await Deno.copyFile(bench.handlers, handlers);
    await using worker = new JobsProcess({ store: bench.url, args: [handlers, "--watch", "-t", "1h"] });
    await worker.logged("Ready");
    const jid = await bench.push("Wait", [bench.notes]);
    await bench.noted(`start ${jid}`);
    if (isChanged) {
      await Deno.writeTextFile(handlers, "\n", { append: true });
      await worker.logged("Stopping", { by: "SIGTERM" });
    }
    worker.kill("SIGINT");
    if (!isChanged) await worker.logged("Stopping", { by: "SIGINT" });
    // Equal signals close together may arrive as one, and here the first one has no effect that shows.
    worker.kill(isChanged ? "SIGTERM" : "SIGINT");
    assertEquals((await worker.status()).code, 0);
    assertEquals((await bench.store.jobs.find([jid])).map((entry) => entry.place.in), ["queue"]);
  }
});

Deno.test("the worker ends with the process that watches", async () => {
  requireTool("setpriv");
  await using bench = await Bench.open();
  const watching = await bench.server(["--watch"]);
  watching.kill("SIGKILL");
  // The worker has the same standard error: reading it ends when both have.
  await watching.status();
});
