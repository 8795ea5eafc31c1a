/**
 * `make compile`: one executable out of the sources.
 *
 *     deno run -A scripts/compile.ts [--target TARGET] [--output FILE]
 *
 *  1. The program is bundled first, in chunks ({@linkcode bundle}): what a command does not need is not read, and what it
 *     needs is read from few files.
 *  2. `deno compile` puts the chunks behind Deno's runtime. The folder it reads holds nothing else, so nothing else can
 *     get in. Same sources, same runtime: same file, to the byte.
 *
 * @module
 */
import { parseArgs } from "@std/cli/parse-args";
import { join, resolve } from "node:path";
import { bundle, BundleError, copySources, deno, ROOT } from "./bundle.ts";
import { machineOf } from "./elf.ts";

/** Everything: handlers are programs of their own, and reach for whatever they need. See docs/operate/deploy.md. */
const PERMISSIONS = ["--allow-all", "--no-prompt"];

/** What was made. */
interface Compiled {
  readonly path: string;
  /** Bytes of the whole, and of what is ours in it. */
  readonly size: number;
  readonly embedded: number;
}

/** Makes the executable. */
async function compile(target: string | undefined, output: string): Promise<Compiled> {
  await checkRuntime(target ?? Deno.build.target);
  await using folder = await copySources(["main.ts"]);
  const chunks = await bundle(folder.path, "main.ts");
  await Deno.writeTextFile(join(chunks, "commit.txt"), await commit());
  await Deno.mkdir(resolve(output, ".."), { recursive: true });
  const embedded = await settle(chunks);
  await embed(chunks, target, output);
  const path = target?.includes("windows") && !output.endsWith(".exe") ? `${output}.exe` : output;
  return { path, size: (await Deno.stat(path)).size, embedded };
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
  const runtime = Deno.env.get("DENORT_BIN");
  if (runtime !== undefined) throw unusableRuntime(runtime, stderr);
  if (!stderr.includes("/denort-")) throw new BundleError(`Cannot compile:\n${stderr}`);
  throw new BundleError(
    `Cannot download Deno's runtime, which becomes part of the executable: set DENORT_BIN to the file denort of ` +
      `Deno ${Deno.version.deno} for ${target ?? Deno.build.target}, from its release's denort-${
        target ?? Deno.build.target
      }.zip`,
  );
}

/**
 * Checks the runtime that DENORT_BIN names, if it names one.
 *
 * @throws {BundleError} when it can't be read, or is for another machine
 */
async function checkRuntime(target: string): Promise<void> {
  const runtime = Deno.env.get("DENORT_BIN");
  if (runtime === undefined) return;
  const machine = await machineOf(runtime).catch((error: Error) => {
    throw unusableRuntime(runtime, error.message);
  });
  if (machine === undefined || target.startsWith(`${machine}-`)) return;
  throw new BundleError(
    `The runtime that DENORT_BIN names is for ${machine}, the target is ${target}: name one for the target`,
  );
}

function unusableRuntime(runtime: string, reason: string): BundleError {
  return new BundleError(
    `Cannot compile with the runtime that DENORT_BIN names, "${runtime}"; wanted: the file denort of ` +
      `Deno ${Deno.version.deno} for the target:\n${reason}`,
  );
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
    if (!(error instanceof BundleError)) throw error;
    console.error(error.message);
    Deno.exit(1);
  }
}
