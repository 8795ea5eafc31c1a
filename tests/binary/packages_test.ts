/** Handlers of the executable that use packages: CommonJS, with `require` and `createRequire`. */
import { assert, assertEquals } from "@std/assert";
import { Bench } from "../support/bench.ts";
import { useExecutable } from "../support/command.ts";
import { jobs } from "../support/process.ts";

await useExecutable();

/** A package that requires a file and data, and one that is an ECMAScript module. */
const FILES = {
  "node_modules/double/package.json": '{ "name": "double", "main": "lib/index.js" }',
  "node_modules/double/lib/index.js": 'const { by } = require("./by.json"); module.exports = (n) => n * by;',
  "node_modules/double/lib/by.json": '{ "by": 2 }',
  "node_modules/modern/package.json": '{ "name": "modern", "type": "module", "main": "index.js" }',
  "node_modules/modern/index.js": "export const x = 1;",
  "handlers/bundled.cjs": 'const double = require("double");\nexports.Bundled = (_ctx, n) => double(n);',
  "handlers/module.js": `import { createRequire } from "node:module";
    const require = createRequire(import.meta.url);
    export const Module = (_ctx, n) => require("double")(n);`,
};

async function write(folder: string, files: Readonly<Record<string, string>>): Promise<void> {
  for (const [path, text] of Object.entries(files)) {
    await Deno.mkdir(`${folder}/${path}`.replace(/\/[^/]*$/, ""), { recursive: true });
    await Deno.writeTextFile(`${folder}/${path}`, text);
  }
}

Deno.test("a handler of the executable requires packages of node_modules, as CommonJS and with createRequire, isolated too", async () => {
  await using bench = await Bench.open();
  await write(bench.folder, FILES);
  await using _worker = await bench.server([`${bench.folder}/handlers`, "--isolate", "Module"]);
  for (const name of ["Bundled", "Module"]) {
    const jid = await bench.push(name, [21], { result_ttl: "1h" });
    assertEquals((await bench.client.result(jid))?.result, 42, name);
  }
});

Deno.test("the executable names the remedy for a required package that is an ECMAScript module", async () => {
  await using bench = await Bench.open();
  await write(bench.folder, { ...FILES, "modern.cjs": 'exports.A = require("modern");' });
  const { code, stderr } = await jobs(["run", `${bench.folder}/modern.cjs`, "--store", bench.url, "--burst"]);
  assertEquals(code, 1, stderr);
  assert(stderr.includes("is an ECMAScript module, which this binary can't require: bundle it with esbuild"), stderr);
});
