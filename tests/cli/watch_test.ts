/** `jobs run --watch`. */
import { assert, assertEquals } from "@std/assert";
import { Bench } from "../support/bench.ts";
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

Deno.test("the worker ends with the process that watches", async () => {
  requireTool("setpriv");
  await using bench = await Bench.open();
  const watching = await bench.server(["--watch"]);
  watching.kill("SIGKILL");
  // The worker has the same standard error: reading it ends when both have.
  await watching.status();
});
