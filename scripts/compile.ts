/**
 * `make compile`: one executable from the sources.
 *
 *     deno run -A scripts/compile.ts [--target TARGET] [--output FILE] [--any-runtime]
 *
 * `--any-runtime` accepts one that lacks time zones: tests compile with a stand-in where Deno's can't be downloaded.
 *
 *  1. The program is bundled in chunks ({@linkcode bundle}). A command reads only the few chunks that it needs.
 *  2. `deno compile` appends the chunks to Deno's runtime. The folder that it reads contains only the chunks, so that
 *     nothing else is embedded. The same sources and runtime make the same file, byte for byte.
 *
 * @module
 */
import { parseArgs } from "@std/cli/parse-args";
import { basename, dirname, join, resolve } from "node:path";
import { bundle, BundleError, copySources, deno, ROOT } from "./bundle.ts";
import { machineOf } from "./elf.ts";

/** All permissions: handlers are arbitrary programs. See docs/operate/deploy.md. */
const PERMISSIONS = ["--allow-all", "--no-prompt"];

/**
 * Bounds the heap of young objects to half of V8's default: a busy worker takes 30 to 50 MB less, and as much processor time.
 * With 4 MB, handlers that read large JSON documents took 8 % more.
 */
const V8_FLAGS = "--v8-flags=--max-semi-space-size=8";

/** An executable. */
interface Compiled {
  readonly path: string;
  /** In bytes. */
  readonly size: number;
  /** The bytes of the chunks in it; the rest is Deno's runtime. */
  readonly embedded: number;
}

/** Options of {@linkcode compile}. */
export interface CompileOptions {
  /** Deno's name of the platform. */
  readonly target: string;
  /** The path of the executable; on Windows, `.exe` is added. */
  readonly output: string;
  /** The path of Deno's runtime for the target; Deno downloads it by default. */
  readonly runtime?: string | undefined;
  /** Accepts a runtime that lacks time zones. */
  readonly anyRuntime: boolean;
}

/**
 * Compiles the executable. If that fails, an earlier one stays.
 *
 * @throws {BundleError}
 */
export async function compile({ target, output, runtime, anyRuntime }: CompileOptions): Promise<Compiled> {
  if (runtime !== undefined) await checkRuntime(runtime, target);
  await using folder = await copySources(["main.ts"]);
  const chunks = await bundle(folder.path, "main.ts");
  await Deno.writeTextFile(join(chunks, "commit.txt"), await commit());
  const embedded = await resetTimes(chunks);
  const path = target.includes("windows") && !output.endsWith(".exe") ? `${output}.exe` : output;
  await Deno.mkdir(dirname(path), { recursive: true });
  const unfinished = await Deno.makeTempDir({ dir: dirname(path), prefix: ".compile-" });
  try {
    const made = join(unfinished, basename(path));
    await embed(chunks, target, made, runtime);
    if (!anyRuntime && target === Deno.build.target) await checkZones(made);
    await Deno.rename(made, path);
  } finally {
    await Deno.remove(unfinished, { recursive: true });
  }
  return { path, size: (await Deno.stat(path)).size, embedded };
}

/** Returns the commit of the sources, with `-dirty` if they differ from it; empty outside of a repository. */
async function commit(): Promise<string> {
  const git = new Deno.Command("git", {
    args: ["describe", "--always", "--dirty", "--abbrev=12", "--exclude=*"],
    cwd: ROOT,
    stderr: "null",
  });
  const { success, stdout } = await git.output().catch(() => ({ success: false, stdout: new Uint8Array() }));
  return success ? new TextDecoder().decode(stdout).trim() : "";
}

/** Appends the files of the folder to Deno's runtime. */
async function embed(folder: string, target: string, output: string, runtime: string | undefined): Promise<void> {
  const names = (await Array.fromAsync(Deno.readDir(folder))).map((entry) => entry.name);
  const included = names.filter((name) => name === "commit.txt" || name.endsWith("_worker.ts")).sort();
  const { success, stderr } = await deno(
    [
      ...["compile", "--quiet", ...PERMISSIONS, V8_FLAGS, "--no-config", "--no-lock"],
      // The cache would be at a predictable path in /tmp, from which other users could inject code.
      "--no-code-cache",
      ...["--target", target],
      ...included.flatMap((name) => ["--include", name]),
      ...["--output", output, "main.js"],
    ],
    folder,
    runtime === undefined ? {} : { DENORT_BIN: runtime },
  );
  if (success) return;
  if (runtime !== undefined) throw unusableRuntime(runtime, stderr);
  if (!stderr.includes("/denort-")) throw new BundleError(`Can't compile:\n${stderr}`);
  throw new BundleError(
    `Can't download Deno's runtime, which becomes part of the executable: set DENORT_BIN to the file denort of ` +
      `Deno ${Deno.version.deno} for ${target}, from its release's denort-${target}.zip`,
  );
}

/**
 * Checks a runtime.
 *
 * @throws {BundleError} if it can't be read, or is for another machine
 */
async function checkRuntime(runtime: string, target: string): Promise<void> {
  const machine = await machineOf(runtime).catch((error: Error) => {
    throw unusableRuntime(runtime, error.message);
  });
  if (machine === undefined || target.startsWith(`${machine}-`)) return;
  throw new BundleError(
    `The runtime "${runtime}" is for ${machine}, but the target is ${target}: give one for the target`,
  );
}

/**
 * Checks that the executable can read time zones: a runtime of another version may lack them, and then no cron entry runs.
 *
 * @throws {BundleError}
 */
async function checkZones(path: string): Promise<void> {
  const folder = await Deno.makeTempDir();
  try {
    const config = join(folder, "jobs.json");
    const cron = [{ name: "a", rule: "0 0 * * *", timezone: "Europe/London", class: "A" }];
    await Deno.writeTextFile(config, JSON.stringify({ cron }));
    const { success, stderr } = await new Deno.Command(path, { args: ["cron", "check", "-C", config] }).output();
    if (success) return;
    throw new BundleError(
      `The executable can't read time zones, expected a runtime of Deno ${Deno.version.deno}: set DENORT_BIN to its file ` +
        `denort, or, for a trial only, accept this one with ANY_RUNTIME=1 (--any-runtime):\n${
          new TextDecoder().decode(stderr)
        }`,
    );
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

function unusableRuntime(runtime: string, reason: string): BundleError {
  return new BundleError(
    `Can't compile with the runtime "${runtime}": expected the file denort of ` +
      `Deno ${Deno.version.deno} for the target:\n${reason}`,
  );
}

/** Sets the times of all files, which are embedded too, to zero. Returns their size in bytes. */
async function resetTimes(folder: string): Promise<number> {
  let size = 0;
  for await (const { name, isDirectory } of Deno.readDir(folder)) {
    const path = join(folder, name);
    size += isDirectory ? await resetTimes(path) : (await Deno.stat(path)).size;
    await Deno.utime(path, 0, 0);
  }
  return size;
}

function megabytes(bytes: number): string {
  return `${(bytes / 1e6).toFixed(1)} MB`;
}

if (import.meta.main) {
  const flags = parseArgs(Deno.args, { string: ["target", "output"], boolean: ["any-runtime"] });
  const { target, output } = flags as Record<string, string | undefined>;
  try {
    const path = output ?? join("dist", target === undefined ? "jobs" : `jobs-${target}`);
    const compiled = await compile({
      target: target ?? Deno.build.target,
      output: resolve(path),
      runtime: Deno.env.get("DENORT_BIN"),
      anyRuntime: flags["any-runtime"] === true,
    });
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
