/** Handlers that print, and handlers that end their process. */
import { assertEquals, assertMatch, assertNotMatch } from "@std/assert";
import { Bench } from "../support/bench.ts";
import { jobsCommand } from "../support/command.ts";
import { JobsProcess } from "../support/process.ts";

const HANDLERS = `
import process from "node:process";
const keep = console.log;
export function Print(_ctx, text) {
  keep("kept", text);
  console.log("%s %o", text, { text });
  console.table([{ a: 1 }]);
  console.error(new Error(text));
  return "printed";
}
export function Exit() { Deno.exit(0); }
export async function LateExit() { await 1; process.exit(); }
`;

/** Starts a worker whose output a shell redirects. */
async function redirected(bench: Bench, redirection: string): Promise<JobsProcess> {
  const module = `${bench.folder}/prints.js`;
  await Deno.writeTextFile(module, HANDLERS);
  const command = ["sh", "-c", `exec "$0" "$@" ${redirection}`, ...jobsCommand(), "run", "--store", bench.url, module];
  const server = new JobsProcess({ store: bench.url, command });
  await server.logged("Ready");
  return server;
}

Deno.test("a handler whose output cannot be written succeeds", async () => {
  await using bench = await Bench.open();
  await using server = await redirected(bench, ">/dev/full");
  const jid = await bench.push("Print", ["text"]);
  await server.logged("Done", { jid });
  assertEquals((await bench.client.result(jid))?.result, "printed");
});

Deno.test("the output of a handler controls no terminal", async () => {
  await using bench = await Bench.open();
  await using server = await redirected(bench, `>${bench.folder}/out`);
  await server.logged("Done", { jid: await bench.push("Print", ["a\x1b[2J\x1b]0;title\x07\u202e\rb\nc"]) });
  const printed = await Deno.readTextFile(`${bench.folder}/out`);
  // deno-lint-ignore no-control-regex -- the subject of the test
  assertNotMatch(printed, /[\x00-\x09\x0b-\x1f\u202e]/);
  assertMatch(printed, /^kept a\\u001b\[2J\\u001b\]0;title\\u0007\\u202e/);
});

for (const name of ["Exit", "LateExit"]) {
  Deno.test(`a handler that ends the process is named, and the worker's code isn't that of success: ${name}`, async () => {
    await using bench = await Bench.open();
    await using server = await redirected(bench, ">/dev/null");
    const jid = await bench.push(name, []);
    await server.logged("Handler ended the process of its worker: throw an error instead", { jid, class: name });
    assertEquals((await server.status()).code, 1);
    assertEquals((await bench.store.jobs.find([jid]))[0]?.place.in, "running");
  });
}
