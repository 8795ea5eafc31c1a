/**
 * `make release`: all files of a release in `dist/release`. `make package`: only the packages of one executable.
 *
 *     deno run -A scripts/release/main.ts [--targets "TARGET…"] [--runtimes FOLDER] [--output FOLDER] [--any-runtime]
 *     deno run -A scripts/release/main.ts --binary dist/jobs [--output FOLDER] [--version VERSION] [--level 6]
 *
 *  1. For each target: the executable, the tarball, Debian's package.
 *  2. The library, the clients for Node, Python and Ruby, the documentation (pages as text, and the site), the image.
 *  3. `jobs.cdx.json`, the bill of materials, and `LICENSES.txt`.
 *  4. `SHA256SUMS` of all.
 *
 * The same commit, runtimes and Deno make the same files, in any folder. All times are SOURCE_DATE_EPOCH, or else that of the
 * commit. The image also has the libraries of the machine.
 *
 * @module
 */
import { parseArgs } from "@std/cli/parse-args";
import { createHash } from "node:crypto";
import { join, relative, resolve } from "node:path";
import config from "../../deno.json" with { type: "json" };
import { file, type Member } from "../archive.ts";
import { BundleError, deno, ROOT } from "../bundle.ts";
import { compile } from "../compile.ts";
import { machineOf } from "../elf.ts";
import { billOfMaterials, licenseTexts } from "./bill.ts";
import { clientPackages } from "./clients.ts";
import { ComponentError, componentsOf } from "./components.ts";
import { debianPackage, gatherShared, git, PackageError, packedFolder, type Shared, tarball } from "./packages.ts";
import { chooseTargets, type Target, TargetError, TARGETS } from "./targets.ts";

/** Options of {@linkcode release}. */
interface ReleaseOptions {
  readonly output: string;
  readonly level: number;
  readonly targets: readonly string[];
  readonly runtimes: string | undefined;
  readonly anyRuntime: boolean;
}

/** Makes all files. */
async function release({ output, level, targets, runtimes, anyRuntime }: ReleaseOptions): Promise<void> {
  await checkSources();
  const { chosen, leftOut } = await chooseTargets({ targets, runtimes, own: Deno.env.get("DENORT_BIN") });
  Deno.env.delete("DENORT_BIN"); // would be taken for any target
  const { version } = config;
  await empty(output);
  let shared: Shared | undefined;
  for (const [target, runtime] of chosen) {
    const { name, extension = "" } = TARGETS[target]!;
    const path = join(output, `jobs-${version}-${name}${extension}`);
    await compile({ target, output: path, runtime, anyRuntime });
    if (target === Deno.build.target && !anyRuntime) await checkVersion(path);
    const executable = await Deno.readFile(path);
    shared ??= await gatherShared(version, await epoch(), await componentsOf(executable), level);
    await write(output, await packagesOf(TARGETS[target]!, executable, shared));
    console.log(`Made ${target}`);
  }
  const { program, parts } = shared!;
  await write(output, await clientPackages(program));
  await write(output, [
    file("jobs.cdx.json", billOfMaterials(parts, program)),
    file("LICENSES.txt", licenseTexts(parts, program)),
    await libraryPackage(shared!),
    await documentation(shared!),
  ]);
  await makeImage(output, chosen.has(Deno.build.target));
  await writeChecksums(output);
  for (const target of leftOut) {
    console.log(
      `Left out ${target}: no runtime (RUNTIMES=FOLDER with denort-${target}, or TARGETS="${target}" to download it)`,
    );
  }
  if (anyRuntime) console.log("Made with any runtime, for tests: don't publish these files");
}

/** Makes the packages of an executable for Linux. */
async function packageOne(binary: string, output: string, version: string, level: number): Promise<void> {
  const machine = await machineOf(binary).catch((error) => {
    throw new PackageError(`Cannot read the executable "${binary}": ${error.message} (make compile makes it)`);
  });
  const target = TARGETS[`${machine}-unknown-linux-gnu`];
  if (target === undefined) throw new PackageError(`"${binary}" is an executable for an unknown machine`);
  const executable = await Deno.readFile(binary);
  const shared = await gatherShared(version, await epoch(), await componentsOf(executable), level);
  await Deno.mkdir(output, { recursive: true });
  const packages = await packagesOf(target, executable, shared);
  await write(output, packages);
  await Deno.writeTextFile(join(output, "SHA256SUMS"), packages.map(checksum).join(""));
}

async function packagesOf(target: Target, executable: Uint8Array, shared: Shared): Promise<Member[]> {
  const { version } = shared.program;
  const folder = `jobs-${version}-${target.name}`;
  const program = file(`jobs${target.extension ?? ""}`, executable, 0o755);
  const files = [file(`${folder}.tar.gz`, await tarball(folder, program, shared))];
  if (target.debian === undefined) return files;
  return [
    ...files,
    file(`jobs_${version}_${target.debian}.deb`, await debianPackage(target.debian, executable, shared)),
  ];
}

/** Makes the library, with the licenses of what it contains. */
async function libraryPackage(shared: Shared): Promise<Member> {
  const { program, parts } = shared;
  await using folder = await temporaryFolder();
  await runScript("scripts/library.ts", "--output", join(folder.path, "library"));
  const files = await filesIn(join(folder.path, "library"));
  const name = `jobs-${program.version}-library`;
  return file(
    `${name}.tar.gz`,
    packedFolder(name, [...files, file("LICENSES.txt", licenseTexts(parts, program))], shared),
  );
}

/** Makes the documentation: pages as text in `text/`, the site in `site/`. */
async function documentation(shared: Shared): Promise<Member> {
  await using folder = await temporaryFolder();
  const [text, site] = [join(folder.path, "text"), join(folder.path, "site")];
  await runScript("scripts/site/build.ts", "--output", site, "--pages", text);
  const pages = (await filesIn(text)).filter(({ path }) => !path.startsWith(".vitepress/"));
  const name = `jobs-${shared.program.version}-docs`;
  return file(
    `${name}.tar.gz`,
    packedFolder(name, [
      ...pages.map((page) => ({ ...page, path: `text/${page.path}` })),
      ...(await filesIn(site)).map((page) => ({ ...page, path: `site/${page.path}` })),
    ], shared),
  );
}

/** Makes the image of this machine's executable. */
async function makeImage(output: string, hasExecutable: boolean): Promise<void> {
  if (Deno.build.os !== "linux" || !hasExecutable) {
    console.log("Left out the image: it is made on Linux, from the executable for the same machine");
    return;
  }
  await using folder = await temporaryFolder();
  const { name } = TARGETS[Deno.build.target]!;
  const binary = join(output, `jobs-${config.version}-${name}`);
  const archive = join(output, `jobs-${config.version}-image-${name}.tar`);
  await runScript("scripts/image.ts", "--binary", binary, "--output", archive, "--rootfs", join(folder.path, "rootfs"));
}

/** Checks that the sources are those of a commit, and that its tag, if it has one, is the version. */
async function checkSources(): Promise<void> {
  const changed = await git("status", "--porcelain");
  if (changed !== "") throw new PackageError(`The sources differ from the commit: commit first\n${changed}`);
  const tags = (await git("tag", "--points-at", "HEAD")).split("\n").filter((tag) => /^v\d/.test(tag));
  if (tags.length > 0 && !tags.includes(`v${config.version}`)) {
    throw new PackageError(`The tag ${tags[0]} isn't the version in deno.json, ${config.version}: change one of them`);
  }
}

/** Checks that the runtime is this Deno, whose versions the bill of materials states. */
async function checkVersion(executable: string): Promise<void> {
  const { stdout } = await new Deno.Command(executable, { args: ["version", "--json"] }).output();
  const { deno } = JSON.parse(new TextDecoder().decode(stdout)) as { deno: string };
  if (deno !== Deno.version.deno) {
    throw new PackageError(`The runtime is of Deno ${deno}, expected ${Deno.version.deno}`);
  }
}

/** Returns the time of all files, in seconds. */
async function epoch(): Promise<number> {
  return Number(Deno.env.get("SOURCE_DATE_EPOCH") ?? await git("log", "-1", "--format=%ct"));
}

async function runScript(script: string, ...args: readonly string[]): Promise<void> {
  const { success, stdout, stderr } = await deno(["run", "-A", script, ...args], ROOT);
  if (!success) throw new PackageError(`${script} failed:\n${stdout}${stderr}`);
}

async function filesIn(folder: string, below = folder): Promise<Member[]> {
  const files: Member[] = [];
  for await (const { name, isDirectory } of Deno.readDir(below)) {
    const path = join(below, name);
    if (isDirectory) files.push(...await filesIn(folder, path));
    else files.push(file(relative(folder, path), await Deno.readFile(path)));
  }
  return files;
}

async function write(folder: string, files: readonly Member[]): Promise<void> {
  for (const { path, content } of files) await Deno.writeFile(join(folder, path), content!);
}

async function writeChecksums(folder: string): Promise<void> {
  const files = (await filesIn(folder)).sort((a, b) => a.path < b.path ? -1 : 1);
  await Deno.writeTextFile(join(folder, "SHA256SUMS"), files.map(checksum).join(""));
}

function checksum({ path, content }: Member): string {
  return `${createHash("sha256").update(content!).digest("hex")}  ${path}\n`;
}

async function empty(folder: string): Promise<void> {
  await Deno.remove(folder, { recursive: true }).catch((error) => {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  });
  await Deno.mkdir(folder, { recursive: true });
}

async function temporaryFolder(): Promise<{ path: string } & AsyncDisposable> {
  const path = await Deno.makeTempDir();
  return { path, [Symbol.asyncDispose]: () => Deno.remove(path, { recursive: true }) };
}

if (import.meta.main) {
  const flags = parseArgs(Deno.args, {
    string: ["binary", "output", "version", "level", "targets", "runtimes"],
    boolean: ["any-runtime"],
  });
  const { binary, output, version, targets = "", runtimes } = flags as Record<string, string | undefined>;
  const level = Number(flags["level"] ?? 6);
  try {
    if (binary === undefined) {
      await release({
        output: resolve(output ?? join(ROOT, "dist/release")),
        level,
        targets: targets.split(/[ ,]+/).filter((target) => target !== ""),
        runtimes: runtimes === undefined ? undefined : resolve(runtimes),
        anyRuntime: flags["any-runtime"] === true,
      });
    } else {
      await packageOne(binary, resolve(output ?? join(ROOT, "dist")), version ?? config.version, level);
    }
    const folder = resolve(output ?? join(ROOT, binary === undefined ? "dist/release" : "dist"));
    console.log(`${folder}:\n${await Deno.readTextFile(join(folder, "SHA256SUMS"))}`.trimEnd());
  } catch (error) {
    const known = [PackageError, TargetError, ComponentError, BundleError];
    if (!known.some((type) => error instanceof type)) throw error;
    console.error((error as Error).message);
    Deno.exit(1);
  }
}
