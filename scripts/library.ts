/**
 * `make library`: the library as a folder that any Deno program can import, without configuration.
 *
 *     deno run -A scripts/library.ts [--output FOLDER]
 *
 *  1. The library is bundled ({@linkcode bundle}): `jobs.js`, and chunks that are loaded on demand.
 *  2. Its types are declared in `types/`, which keeps only the modules reachable from the public ones. A comment in
 *     `jobs.js`, `testing.js` and `types.js` refers to them, so that `deno check` and editors find them.
 *
 * @module
 */
import { parseArgs } from "@std/cli/parse-args";
import { cp } from "node:fs/promises";
import { dirname, join, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { bundle, BundleError, copySources, deno } from "./bundle.ts";

/** The scripts that programs import, each with the public module behind it. */
const ENTRIES = { jobs: "src/mod.ts", testing: "src/testing/mod.ts", types: "src/types.ts" } as const;

/** Makes the folder, in place of the previous one. */
async function makeLibrary(output: string): Promise<void> {
  await using folder = await copySources();
  for (const [name, module] of Object.entries(ENTRIES)) {
    await Deno.writeTextFile(join(folder.path, `${name}.ts`), `export * from "./${module}";\n`);
  }
  const chunks = await bundle(folder.path, "jobs.ts", "testing.ts", "types.ts");
  for (const [name, module] of Object.entries(ENTRIES)) {
    const script = join(chunks, `${name}.js`);
    const code = await Deno.readTextFile(script);
    const types = module.replace(/^src\//, "./types/").replace(/\.ts$/, ".d.ts");
    await Deno.writeTextFile(script, `/* @ts-self-types="${types}" */\n${code}`);
  }
  await declareTypes(folder.path, join(chunks, "types"));
  // A running program keeps using the old folder: it must not load chunks of both.
  const made = `${output}.new`;
  await remove(made);
  await Deno.mkdir(dirname(output), { recursive: true });
  await cp(chunks, made, { recursive: true });
  await remove(output);
  await Deno.rename(made, output);
}

/** Declares the types of the library's public modules, and the types that they refer to. */
async function declareTypes(folder: string, into: string): Promise<void> {
  await prepareForTypes(folder);
  const outdir = join(folder, "declared");
  const { success, stderr } = await deno(
    ["transpile", "--quiet", "--declaration", "--outdir", outdir, ...Object.values(ENTRIES)],
    folder,
  );
  if (!success) throw new BundleError(`Can't declare the library's types:\n${stderr}`);
  const source = join(outdir, "src");
  const found = new Set(Object.values(ENTRIES).map((module) => join(outdir, module.replace(/\.ts$/, ".d.ts"))));
  for (const path of found) {
    const module = dirname(join(folder, relative(outdir, path)));
    // The compiler refers to a type that the module doesn't import by the absolute path of its declaration.
    const text = (await Deno.readTextFile(path)).replace(/^\/\/\/ <amd-module .*\n/m, "").replace(
      /(?<=import\(")file:\/\/[^"]+(?="\))/g,
      (address) => `./${relative(module, fileURLToPath(address))}`,
    );
    // Modules that a declaration imports are declarations, too.
    const declared = text.replace(/(["'])(\.\.?\/[^"']+)(?<!\.d)\.ts\1/g, (_all, quote, name) => {
      found.add(resolve(dirname(path), `${name}.d.ts`));
      return `${quote}${name}.d.ts${quote}`;
    });
    const target = join(into, relative(source, path));
    await Deno.mkdir(dirname(target), { recursive: true });
    await Deno.writeTextFile(target, declared);
  }
}

/** The compiler doesn't support imports of text. The declarations of packages aren't checked. */
async function prepareForTypes(folder: string): Promise<void> {
  const path = join(folder, "deno.json");
  const config = JSON.parse(await Deno.readTextFile(path));
  config.compilerOptions.skipLibCheck = true;
  await Deno.writeTextFile(path, JSON.stringify(config));
  for await (const file of modulesIn(join(folder, "src"))) {
    const code = await Deno.readTextFile(file);
    const changed = code.replace(/^import (\w+) from "[^"]+" with { type: "text" };$/gm, 'const $1 = "";');
    if (changed !== code) await Deno.writeTextFile(file, changed);
  }
}

async function* modulesIn(folder: string): AsyncGenerator<string> {
  for await (const { name, isDirectory } of Deno.readDir(folder)) {
    const path = join(folder, name);
    if (isDirectory) yield* modulesIn(path);
    else if (name.endsWith(".ts")) yield path;
  }
}

async function remove(path: string): Promise<void> {
  await Deno.remove(path, { recursive: true }).catch((error) => {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  });
}

if (import.meta.main) {
  const { output } = parseArgs(Deno.args, { string: ["output"] }) as Record<string, string | undefined>;
  const path = resolve(output ?? join("dist", "library"));
  try {
    await makeLibrary(path);
    console.log(`Made for any Deno program to import:\n  import { … } from "${join(path, "jobs.js")}";`);
  } catch (error) {
    if (!(error instanceof BundleError)) throw error;
    console.error(error.message);
    Deno.exit(1);
  }
}
