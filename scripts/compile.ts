/**
 * `make compile`: one executable out of the sources.
 *
 *     deno run -A scripts/compile.ts [--target TARGET] [--output FILE]
 *
 *  1. The program is bundled first, in chunks: what a command does not need is not read, and what it needs is read from
 *     few files. Imports of text (Lua, SQL) are in the chunks then. The bundle names each source by the way to it from
 *     the project, npm's by the way to Deno's cache: from a copy in that cache the ways are the same on any machine.
 *  2. Each Worker's entry (`*_worker.ts`) is an entry of the bundle too. The chunk that starts the Worker looks
 *     for the entry beside itself; a file of one line stands there.
 *  3. `deno compile` puts the chunks behind Deno's runtime. The folder it reads holds nothing else, so nothing else can
 *     get in. Same sources, same runtime: same file, to the byte.
 *
 * @module
 */
import { parseArgs } from "@std/cli/parse-args";
import { cp } from "node:fs/promises";
import { basename, join, resolve } from "node:path";
import { machineOf } from "./elf.ts";

const ROOT = resolve(import.meta.dirname!, "..");

/** Everything: handlers are programs of their own, and reach for whatever they need. See docs/deploy.md. */
const PERMISSIONS = ["--allow-all", "--no-prompt"];

/** Why there is no executable, in one line. */
class CompileError extends Error {}

/** What was made. */
interface Compiled {
  readonly path: string;
  /** Bytes of the whole, and of what is ours in it. */
  readonly size: number;
  readonly embedded: number;
}

/** Makes the executable. */
async function compile(target: string | undefined, output: string): Promise<Compiled> {
  const { denoDir } = JSON.parse((await deno(["info", "--json"], ROOT)).stdout) as { denoDir: string };
  await Deno.mkdir(denoDir, { recursive: true });
  const folder = await Deno.makeTempDir({ dir: denoDir, prefix: "jobs-compile-" });
  try {
    const chunks = await bundle(folder);
    await Deno.writeTextFile(join(chunks, "commit.txt"), await commit());
    await Deno.mkdir(resolve(output, ".."), { recursive: true });
    const embedded = await settle(chunks);
    await embed(chunks, target, output);
    const path = target?.includes("windows") && !output.endsWith(".exe") ? `${output}.exe` : output;
    await checkMachine(path, target ?? Deno.build.target);
    return { path, size: (await Deno.stat(path)).size, embedded };
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

/** Copies the sources into a folder, and bundles the program and its Workers; returns the folder of the chunks. */
async function bundle(folder: string): Promise<string> {
  for (const name of ["main.ts", "src", "deno.json", "deno.lock"]) {
    await cp(join(ROOT, name), join(folder, name), { recursive: true });
  }
  const chunks = join(folder, "chunks");
  const workers = await workerEntries("src");
  // Not minified: it would start no sooner, and traces of errors would say nothing.
  const args = ["bundle", "--quiet", "--code-splitting", "--outdir", chunks, "main.ts", ...workers];
  const { success, stderr } = await deno(args, folder);
  if (!success) throw new CompileError(`The sources cannot be bundled:\n${stderr}`);
  for (const entry of workers) {
    const script = `./${entry.replace(/\.ts$/, ".js")}`;
    await Deno.writeTextFile(join(chunks, basename(entry)), `import ${JSON.stringify(script)};\n`);
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

/** The commit of the sources, with `-dirty` when they differ from it; empty when they are in no repository. */
async function commit(): Promise<string> {
  const git = new Deno.Command("git", {
    args: ["describe", "--always", "--dirty", "--abbrev=12", "--exclude=*"],
    cwd: ROOT,
    stderr: "null",
  });
  const { success, stdout } = await git.output().catch(() => ({ success: false, stdout: new Uint8Array() }));
  return success ? new TextDecoder().decode(stdout).trim() : "";
}

/** Puts what is in the folder behind Deno's runtime. */
async function embed(folder: string, target: string | undefined, output: string): Promise<void> {
  const names = (await Array.fromAsync(Deno.readDir(folder))).map((entry) => entry.name);
  const included = names.filter((name) => name === "commit.txt" || name.endsWith("_worker.ts")).sort();
  const { success, stderr } = await deno([
    ...["compile", "--quiet", ...PERMISSIONS, "--no-config", "--no-lock"],
    // It would keep compiled code under a name in /tmp that everybody knows, and trust whatever lies there.
    "--no-code-cache",
    ...(target === undefined ? [] : ["--target", target]),
    ...included.flatMap((name) => ["--include", name]),
    ...["--output", output, "main.js"],
  ], folder);
  if (success) return;
  if (Deno.env.has("DENORT_BIN")) {
    throw new CompileError(
      `Cannot compile with the runtime that DENORT_BIN names, "${
        Deno.env.get("DENORT_BIN")
      }"; wanted: the file denort of Deno ${Deno.version.deno} for the target:\n${stderr}`,
    );
  }
  if (!stderr.includes("/denort-")) throw new CompileError(`Cannot compile:\n${stderr}`);
  throw new CompileError(
    `Cannot download Deno's runtime, which becomes part of the executable: set DENORT_BIN to the file denort of ` +
      `Deno ${Deno.version.deno} for ${target ?? Deno.build.target}, from its release's denort-${
        target ?? Deno.build.target
      }.zip`,
  );
}

/** A runtime that DENORT_BIN names may be for another machine. */
async function checkMachine(path: string, target: string): Promise<void> {
  const machine = await machineOf(path);
  if (machine === undefined || target.startsWith(`${machine}-`)) return;
  await Deno.remove(path);
  throw new CompileError(
    `The runtime that DENORT_BIN names is for ${machine}, the target is ${target}: name one for the target`,
  );
}

async function deno(args: readonly string[], cwd: string) {
  const { success, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: [...args],
    cwd,
    env: { NO_COLOR: "1" },
  }).output();
  const decoder = new TextDecoder();
  const [message = ""] = decoder.decode(stderr).split("\nStack backtrace:");
  return { success, stdout: decoder.decode(stdout), stderr: message.trim() };
}

/** Gives all files one time, which gets embedded too; returns their size. */
async function settle(folder: string): Promise<number> {
  let size = 0;
  for await (const { name, isDirectory } of Deno.readDir(folder)) {
    const path = join(folder, name);
    size += isDirectory ? await settle(path) : (await Deno.stat(path)).size;
    await Deno.utime(path, 0, 0);
  }
  return size;
}

function megabytes(bytes: number): string {
  return `${(bytes / 1e6).toFixed(1)} MB`;
}

if (import.meta.main) {
  const { target, output } = parseArgs(Deno.args, { string: ["target", "output"] }) as Record<
    string,
    string | undefined
  >;
  try {
    const path = output ?? join("dist", target === undefined ? "jobs" : `jobs-${target}`);
    const compiled = await compile(target, resolve(path));
    console.log(
      `${path}: ${megabytes(compiled.size)}, of which ${
        megabytes(compiled.embedded)
      } are jobs and the rest is Deno's runtime`,
    );
  } catch (error) {
    if (!(error instanceof CompileError)) throw error;
    console.error(error.message);
    Deno.exit(1);
  }
}
