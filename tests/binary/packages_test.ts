/** Handlers of the executable that use packages: CommonJS, with `require` and `createRequire`, and native ones. */
import { assert, assertEquals } from "@std/assert";
import crc32 from "@node-rs/crc32-linux-x64-gnu/package.json" with { type: "json" };
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

/** The native part of a package. */
const NATIVE = new URL(`./${crc32.main}`, import.meta.resolve(`npm:${crc32.name}@${crc32.version}/package.json`));

/** A package whose native part is a file next to it, and handlers that use it: a bundle with `--external`, and a module. */
const NATIVE_FILES = {
  "node_modules/native/package.json": '{ "name": "native", "main": "index.js" }',
  "node_modules/native/index.js": 'module.exports = require("./native.node");',
  "handlers/bundled.cjs": 'const native = require("native");\nexports.Bundled = (_ctx, text) => native.crc32(text);',
  "handlers/module.js": `import { createRequire } from "node:module";
    const native = createRequire(import.meta.url)("native");
    export const Module = (_ctx, text) => native.crc32(text);`,
};

Deno.test("a handler of the executable uses a native package of node_modules, in a bundle and with createRequire, isolated too", async () => {
  await using bench = await Bench.open();
  await write(bench.folder, NATIVE_FILES);
  await Deno.copyFile(NATIVE, `${bench.folder}/node_modules/native/native.node`);
  await using _worker = await bench.server([`${bench.folder}/handlers`, "--isolate", "Module"]);
  for (const name of ["Bundled", "Module"]) {
    const jid = await bench.push(name, ["abc"], { result_ttl: "1h" });
    assertEquals((await bench.client.result(jid))?.result, 0x352441c2, name);
  }
});

Deno.test("the executable names the way for a native package that is bundled, missing, or for another platform", async () => {
  await using bench = await Bench.open();
  await write(bench.folder, {
    ...NATIVE_FILES,
    "node_modules/native/native.node": "for another platform",
    "other.cjs": 'exports.A = require("native");',
    "bundled.cjs": 'exports.A = require("node:module").createRequire(undefined)("./native.node");',
    "imported.js": 'import native from "./node_modules/native/native.node"; export const A = () => native;',
    "missing.cjs": 'exports.A = require("@scope/none");',
  });
  const native =
    'native packages can\'t be bundled: add --external:NAME to esbuild, and run "npm install NAME" next to';
  for (
    const [file, remedy] of [
      ["other.cjs", native],
      ["bundled.cjs", native],
      ["imported.js", native],
      ["missing.cjs", 'run "npm install @scope/none" in the folder of the handlers, or above'],
    ] as const
  ) {
    const { code, stderr } = await jobs(["run", `${bench.folder}/${file}`, "--store", bench.url, "--burst"]);
    assertEquals([code, stderr.trim().split("\n").length], [1, 1], stderr);
    assert(stderr.includes(remedy), stderr);
  }
});
