/**
 * The bundle of the program, made once per run. A process started from the bundle takes half the CPU time of one started
 * from the sources, and system tests start more than a thousand.
 *
 * @module
 */
import { cp } from "node:fs/promises";
import { join } from "node:path";
import { bundle, BundleError, copySources, deno, ROOT } from "../bundle.ts";

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
  await cp(chunks, join(folder, "bundle", "jobs", "chunks"), { recursive: true });
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
