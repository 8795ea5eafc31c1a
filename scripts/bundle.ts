/**
 * The sources as chunks of JavaScript: everything that is used is in them, npm's packages, Lua and SQL, too.
 *
 *  1. A copy of the sources in Deno's cache is bundled: a bundle names each source by the way to it from the project, npm's
 *     by the way to that cache. From there the ways are the same on any machine.
 *  2. Each Worker's entry (`*_worker.ts`) is an entry of the bundle too. The chunk that starts the Worker looks for the
 *     entry beside itself; a file of one line stands there.
 *
 * @module
 */
import { cp } from "node:fs/promises";
import { basename, join, resolve } from "node:path";

/** The project's folder. */
export const ROOT = resolve(import.meta.dirname!, "..");

/** Why there is no bundle, or nothing made of it, in one line. */
export class BundleError extends Error {}

/** A copy of the sources that is gone afterwards. */
export async function copySources(more: readonly string[] = []): Promise<{ path: string } & AsyncDisposable> {
  const { denoDir } = JSON.parse((await deno(["info", "--json"], ROOT)).stdout) as { denoDir: string };
  await Deno.mkdir(denoDir, { recursive: true });
  const path = await Deno.makeTempDir({ dir: denoDir, prefix: "jobs-bundle-" });
  for (const name of ["src", "deno.json", "deno.lock", ...more]) {
    await cp(join(ROOT, name), join(path, name), { recursive: true });
  }
  return { path, [Symbol.asyncDispose]: () => Deno.remove(path, { recursive: true }) };
}

/**
 * Bundles a copy of the sources; returns the folder of the chunks, within the copy.
 *
 * @param entry the first module, in the copy's folder
 * @throws {BundleError} when it cannot be bundled
 */
export async function bundle(folder: string, entry: string): Promise<string> {
  const chunks = join(folder, "chunks");
  const workers = await workerEntries("src");
  // Not minified: it would start no sooner, and traces of errors would say nothing.
  const args = ["bundle", "--quiet", "--code-splitting", "--outdir", chunks, entry, ...workers];
  const { success, stderr } = await deno(args, folder);
  if (!success) throw new BundleError(`The sources cannot be bundled:\n${stderr}`);
  for (const worker of workers) {
    const script = `./${worker.replace(/\.ts$/, ".js")}`;
    await Deno.writeTextFile(join(chunks, basename(worker)), `import ${JSON.stringify(script)};\n`);
  }
  return chunks;
}

async function workerEntries(folder: string): Promise<string[]> {
  const entries: string[] = [];
  for await (const { name, isDirectory } of Deno.readDir(join(ROOT, folder))) {
    const path = `${folder}/${name}`;
    if (isDirectory) entries.push(...await workerEntries(path));
    else if (name.endsWith("_worker.ts")) entries.push(path);
  }
  return entries.sort();
}

/** Runs this Deno; what it said is without Deno's own stack. */
export async function deno(args: readonly string[], cwd: string) {
  const { success, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: [...args],
    cwd,
    env: { NO_COLOR: "1" },
  }).output();
  const decoder = new TextDecoder();
  const [message = ""] = decoder.decode(stderr).split("\nStack backtrace:");
  return { success, stdout: decoder.decode(stdout), stderr: message.trim() };
}
