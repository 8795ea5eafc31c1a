/**
 * Bundles the sources into chunks of JavaScript, including npm packages, Lua and SQL.
 *
 *  1. A copy of the sources in Deno's cache is bundled. A bundle contains the relative paths of the sources, and those of
 *     npm packages lead to the cache: from a folder in the cache they are the same on every machine.
 *  2. The entry of each Web Worker (`*_worker.ts`) is also an entry of the bundle. The chunk that starts the Worker looks
 *     for the entry in its folder, where a file of one line imports the chunk.
 *
 * @module
 */
import { cp } from "node:fs/promises";
import { basename, join, resolve } from "node:path";

/** The project's folder. */
export const ROOT = resolve(import.meta.dirname!, "..");

/** The bundle, or a file made from it, can't be made. The message is for users. */
export class BundleError extends Error {}

/** Copies the sources into a folder that is removed when disposed. */
export async function copySources(more: readonly string[] = []): Promise<{ path: string } & AsyncDisposable> {
  const { denoDir } = JSON.parse((await deno(["info", "--json"], ROOT)).stdout) as { denoDir: string };
  await Deno.mkdir(denoDir, { recursive: true });
  const path = await Deno.makeTempDir({ dir: denoDir, prefix: "jobs-bundle-" });
  for (const name of ["src", "packaging/systemd/jobs.service", "deno.json", "deno.lock", ...more]) {
    await cp(join(ROOT, name), join(path, name), { recursive: true });
  }
  return { path, [Symbol.asyncDispose]: () => Deno.remove(path, { recursive: true }) };
}

/**
 * Bundles a copy of the sources; returns the folder of the chunks, within the copy.
 *
 * @param entry the first module, in the copy's folder
 * @param more more modules that share its chunks
 * @throws {BundleError}
 */
export async function bundle(folder: string, entry: string, ...more: readonly string[]): Promise<string> {
  const chunks = join(folder, "chunks");
  const workers = await workerEntries("src");
  // Not minified: that wouldn't start sooner, and stack traces would be unreadable.
  const args = ["bundle", "--quiet", "--code-splitting", "--outdir", chunks, entry, ...more, ...workers];
  const { success, stderr } = await deno(args, folder);
  if (!success) throw new BundleError(`Can't bundle the sources:\n${stderr}`);
  await escapeNonAscii(chunks);
  for (const worker of workers) {
    const script = `./${worker.replace(/\.ts$/, ".js")}`;
    await Deno.writeTextFile(join(chunks, basename(worker)), `import ${JSON.stringify(script)};\n`);
  }
  return chunks;
}

/**
 * Escapes the characters outside of ASCII that the bundler leaves in comments and regular expressions. One of them makes V8
 * keep the whole chunk in two bytes per character: a push took a tenth more processor time.
 */
async function escapeNonAscii(chunks: string): Promise<void> {
  for await (const { name } of Deno.readDir(chunks)) {
    if (!name.endsWith(".js")) continue;
    const path = join(chunks, name);
    const text = await Deno.readTextFile(path);
    // deno-lint-ignore no-control-regex -- ASCII begins with control characters
    const escaped = text.replace(/[^\x00-\x7f]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);
    if (escaped !== text) await Deno.writeTextFile(path, escaped);
  }
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

/** Runs this Deno. The returned stderr has no stack of Deno itself. */
export async function deno(args: readonly string[], cwd: string, env: Readonly<Record<string, string>> = {}) {
  const { success, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: [...args],
    cwd,
    env: { NO_COLOR: "1", ...env },
  }).output();
  const decoder = new TextDecoder();
  const [message = ""] = decoder.decode(stderr).split("\nStack backtrace:");
  return { success, stdout: decoder.decode(stdout), stderr: message.trim() };
}
