/** The middleware and hooks that modules of handlers export, as the guide shows them and in hostile variants. */
import { assertEquals, assertStringIncludes } from "@std/assert";
import { Bench } from "../support/bench.ts";
import { JobsProcess } from "../support/process.ts";

const GUIDE = new URL("../../docs/guides/library.md", import.meta.url);

/** Writes the module that the guide shows. Its lines go to the notes, not to stdout. */
async function documented(bench: Bench): Promise<string> {
  const guide = await Deno.readTextFile(GUIDE);
  const section = guide.slice(guide.indexOf("## Middleware and hooks of `jobs run`"));
  const [, source] = /```js\n(.*?)```/s.exec(section)!;
  return await write(bench, source!.replaceAll("console.log(", "note("));
}

async function write(bench: Bench, source: string): Promise<string> {
  const path = `${bench.folder}/handlers.js`;
  const note = `const note = (line) => Deno.writeTextFileSync(${
    JSON.stringify(bench.notes)
  }, line + "\\n", { append: true });\n`;
  await Deno.writeTextFile(path, note + source);
  return path;
}

const AROUND = ["startup", "begin Order of acme", "end Order", "begin Doomed of acme", "end Doomed"];
const FAILED = ["error Doomed: no such account", "death Doomed", "quiet", "shutdown"];

for (const [mode, args] of [["in the worker", []], ["in isolated processes", ["--isolate", "*"]]] as const) {
  Deno.test(`the guide's middleware and hooks are called around jobs ${mode}`, async () => {
    await using bench = await Bench.open();
    const handlers = await documented(bench);
    await bench.push("Order", [], { tenant: "acme" });
    await using worker = new JobsProcess({ store: bench.url, args: [handlers, "--burst", "-c", "1", ...args] });
    assertEquals((await worker.status()).code, 0);
    assertEquals(await bench.readNotes(), [...AROUND, ...FAILED]);
  });
}

Deno.test("each of several processes calls its hooks", async () => {
  await using bench = await Bench.open();
  const handlers = await documented(bench);
  await using workers = new JobsProcess({ store: bench.url, args: [handlers, "--processes", "2"] });
  const twice = (line: string) => async () => (await bench.readNotes()).filter((note) => note === line).length === 2;
  await bench.until(twice("startup"), "both have started");
  workers.kill("SIGTERM");
  assertEquals((await workers.status()).code, 0);
  assertEquals(await twice("shutdown")(), true);
});

Deno.test("hooks that hang or throw delay neither a job nor the stop", async () => {
  await using bench = await Bench.open();
  const hangs = ["quiet", "shutdown"].map((name) =>
    `${name}: () => { note("${name}"); return new Promise(() => {}); }`
  );
  const handlers = await write(
    bench,
    `export const hooks = { ${hangs}, heartbeat: () => { throw new Error("no gauge"); }, error: () => { throw 1; } };
     export function Doomed() { throw new Error("no"); }
     Doomed.options = { retry: 0 };
     export function Next() { note("next"); }`,
  );
  await bench.push("Doomed", []);
  await bench.push("Next", []);
  await using worker = new JobsProcess({ store: bench.url, args: [handlers, "-t", "1s"] });
  await bench.noted("next");
  await worker.logged("Hook failed", { hook: "heartbeat" });
  worker.kill("SIGTERM");
  assertEquals((await worker.status()).code, 0);
  assertEquals(await bench.readNotes(), ["next", "quiet", "shutdown"]);
});

Deno.test("a worker whose startup hook throws doesn't start, in one line", async () => {
  await using bench = await Bench.open();
  const handlers = await write(
    bench,
    `export const hooks = { startup: () => { throw new Error("no database"); } };
     export function Noop() {}`,
  );
  await using worker = new JobsProcess({ store: bench.url, args: [handlers] });
  assertEquals((await worker.status()).code, 1);
  assertStringIncludes(
    JSON.stringify(worker.lines),
    'Hook \\"startup\\" failed, so the worker doesn\'t start: Error: no database',
  );
});
