/**
 * The bundle of the program, made once per run. A process started from the bundle takes a third of the CPU time of one started
 * from the sources, and system tests start more than a thousand.
 *
 * @module
 */
import { cp } from "node:fs/promises";
import { join } from "node:path";
import { bundle, BundleError, copySources, deno, ROOT } from "../bundle.ts";

/**
 * Hides the names of modules that are imported when they are needed. Otherwise Deno reads all of them at each start to find
 * out what they import, which takes a third of the processor time of a short command.
 */
async function hideDynamicImports(chunks: string): Promise<void> {
  for await (const { name } of Deno.readDir(chunks)) {
    if (!name.endsWith(".js")) continue;
    const path = join(chunks, name);
    const text = await Deno.readTextFile(path);
    const hidden = text.replace(/\bimport\("(?=\.\/)/g, 'import("" + "');
    if (hidden !== text) await Deno.writeTextFile(path, hidden);
  }
}

/**
 * Makes the bundle.
 *
 * @param folder an empty folder. Chunks go three levels below it: from there, `src/handlers/isolation/respawn.ts` finds
 *   `main.ts` where it is for a source file, too.
 * @returns the program's first module
 * @throws {BundleError} if the sources can't be bundled, or the bundle doesn't start
 */
export async function bundleForTests(folder: string): Promise<string> {
  await using sources = await copySources();
  const entry = join(sources.path, "entry.ts");
  await Deno.writeTextFile(entry, 'export { runCommandLine } from "./src/cli/cli.ts";\n');
  const chunks = await bundle(sources.path, "entry.ts");
  const copied = join(folder, "bundle", "jobs", "chunks");
  await cp(chunks, copied, { recursive: true });
  await hideDynamicImports(copied);
  const main = join(folder, "main.ts");
  await Deno.writeTextFile(
    main,
    'import { runCommandLine } from "./bundle/jobs/chunks/entry.js";\nDeno.exit(await runCommandLine(Deno.args));\n',
  );
  for (const name of ["deno.json", "deno.lock"]) await cp(join(ROOT, name), join(folder, name));
  const { success, stderr } = await deno(
    ["run", "--allow-all", "--config", join(folder, "deno.json"), main, "version"],
    folder,
  );
  if (!success) throw new BundleError(`The bundle doesn't start:\n${stderr}`);
  return main;
}
