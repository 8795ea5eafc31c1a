/**
 * `make package`: the files that people install, in `dist/`.
 *
 *     deno run -A scripts/package.ts [--binary dist/jobs] [--output dist] [--version VERSION] [--level 6]
 *
 *  1. `jobs-VERSION-linux-x86_64.tar.gz`: the executable, units, manual page, completions, clients, documentation, and files
 *     for Prometheus, Grafana, Kubernetes and logrotate.
 *  2. `jobs_VERSION_amd64.deb`: the same, with a user, a configuration file and shell integration.
 *  3. `SHA256SUMS` of both.
 *
 * The same executable and sources make the same files.
 *
 * @module
 */
import { parseArgs } from "@std/cli/parse-args";
import { join, resolve } from "node:path";
import { gzipSync } from "node:zlib";
import config from "../deno.json" with { type: "json" };
import { machineOf } from "./elf.ts";

const ROOT = resolve(import.meta.dirname!, "..");
const PACKAGING = join(ROOT, "packaging");

/** Machine of the executable → Debian's name for it. */
const ARCHITECTURES: Readonly<Record<string, string>> = { x86_64: "amd64", aarch64: "arm64" };

/** All files have this time, so that the packages don't depend on the moment they are made. */
const EPOCH = "2026-01-01T00:00:00Z";

/** The packages can't be made. The message is one line for users. */
class PackageError extends Error {}

/** One file of a package. */
interface PackagedFile {
  readonly path: string;
  readonly content: string | Uint8Array;
  readonly mode: number;
}

/** The manual page and completions that the executable prints. */
interface Generated {
  readonly manual: string;
  readonly completions: Readonly<Record<"bash" | "zsh" | "fish", string>>;
}

/** Options of {@linkcode makePackages}. */
interface PackageOptions {
  readonly binary: string;
  readonly output: string;
  readonly version: string;
  /** The compression level, from 1 to 9. */
  readonly level: number;
}

/** Makes the packages. Returns their paths. */
async function makePackages({ binary, output, version, level }: PackageOptions): Promise<string[]> {
  const machine = await machineOf(binary).catch((error) => {
    throw new PackageError(`Cannot read the executable "${binary}": ${error.message} (make compile makes it)`);
  });
  const architecture = ARCHITECTURES[machine ?? ""];
  if (architecture === undefined) throw new PackageError(`"${binary}" is an executable for an unknown machine`);
  const executable = await Deno.readFile(binary);
  const generated = await generate(binary);
  await Deno.mkdir(output, { recursive: true });
  const files = await archiveFiles(executable, generated);
  const tarball = await makeTarball(output, level, `jobs-${version}-linux-${machine}`, files);
  const deb = await makeDeb(output, level, version, architecture, await debFiles(executable, generated));
  await Deno.writeTextFile(join(output, "SHA256SUMS"), await checksums(output, [tarball, deb]));
  return [tarball, deb, "SHA256SUMS"].map((name) => join(output, name));
}

/** Asks the executable for its manual page and completions. */
async function generate(binary: string): Promise<Generated> {
  const [manual, bash, zsh, fish] = await Promise.all([
    run(binary, ["man"]),
    run(binary, ["completions", "bash"]),
    run(binary, ["completions", "zsh"]),
    run(binary, ["completions", "fish"]),
  ]);
  return { manual, completions: { bash, zsh, fish } };
}

async function archiveFiles(executable: Uint8Array, { manual, completions }: Generated): Promise<PackagedFile[]> {
  return [
    { path: "jobs", content: executable, mode: 0o755 },
    { path: "jobs.json", content: await packaged("etc/jobs.json"), mode: 0o644 },
    { path: "systemd/jobs.service", content: await packaged("systemd/jobs.service"), mode: 0o644 },
    { path: "systemd/jobs@.service", content: await packaged("systemd/jobs@.service"), mode: 0o644 },
    { path: "man/jobs.1", content: manual, mode: 0o644 },
    { path: "completions/jobs.bash", content: completions.bash, mode: 0o644 },
    { path: "completions/_jobs", content: completions.zsh, mode: 0o644 },
    { path: "completions/jobs.fish", content: completions.fish, mode: 0o644 },
    { path: "LICENSE", content: await Deno.readTextFile(join(ROOT, "LICENSE")), mode: 0o644 },
    ...await sharedFiles({ doc: "", clients: "clients", packaging: "packaging" }),
  ];
}

async function debFiles(executable: Uint8Array, { manual, completions }: Generated): Promise<PackagedFile[]> {
  return [
    { path: "usr/bin/jobs", content: executable, mode: 0o755 },
    { path: "etc/jobs/jobs.json", content: await packaged("etc/jobs.json"), mode: 0o640 },
    { path: "etc/profile.d/jobs.sh", content: await packaged("profile.d/jobs.sh"), mode: 0o644 },
    { path: "lib/systemd/system/jobs.service", content: await packaged("systemd/jobs.service"), mode: 0o644 },
    { path: "lib/systemd/system/jobs@.service", content: await packaged("systemd/jobs@.service"), mode: 0o644 },
    { path: "usr/share/man/man1/jobs.1.gz", content: gzipSync(manual, { level: 9 }), mode: 0o644 },
    { path: "usr/share/bash-completion/completions/jobs", content: completions.bash, mode: 0o644 },
    { path: "usr/share/zsh/vendor-completions/_jobs", content: completions.zsh, mode: 0o644 },
    { path: "usr/share/fish/vendor_completions.d/jobs.fish", content: completions.fish, mode: 0o644 },
    { path: "usr/share/fish/vendor_conf.d/jobs.fish", content: await packaged("profile.d/jobs.fish"), mode: 0o644 },
    { path: "usr/share/doc/jobs/copyright", content: await copyright(), mode: 0o644 },
    ...await sharedFiles({ doc: "usr/share/doc/jobs", clients: "usr/share/jobs/clients", packaging: "usr/share/jobs" }),
  ];
}

/** Returns the documentation as text, the clients, and the files for other programs, in these folders. */
async function sharedFiles(
  into: { readonly doc: string; readonly clients: string; readonly packaging: string },
): Promise<PackagedFile[]> {
  const sources: [from: string, to: string][] = [
    ["README.md", `${into.doc}/README.md`],
    ["CHANGELOG.md", `${into.doc}/CHANGELOG.md`],
    ...(await pathsIn("docs")).filter((path) => path.endsWith(".md")).map((path) => placed(path, into.doc)),
    ...(await pathsIn("clients")).map((path) => placed(path, into.clients, "clients")),
  ];
  for (const folder of ["prometheus", "grafana", "kubernetes", "logrotate"]) {
    sources.push(...(await pathsIn(`packaging/${folder}`)).map((path) => placed(path, into.packaging, "packaging")));
  }
  return await Promise.all(sources.map(async ([from, to]) => ({
    path: to.replace(/^\//, ""),
    content: await Deno.readFile(join(ROOT, from)),
    mode: 0o644,
  })));
}

/** Returns a path of the repository, and that in the package: in a folder, without the part that the folder replaces. */
function placed(path: string, folder: string, without = ""): [from: string, to: string] {
  return [path, join(folder, path.slice(without.length))];
}

/** Returns the files of the repository in a folder. Others may lie there, such as caches of Python. */
async function pathsIn(folder: string): Promise<string[]> {
  const listed = await run("git", ["-C", ROOT, "ls-files", "--", folder]);
  return listed.trim().split("\n").sort();
}

function packaged(path: string): Promise<string> {
  return Deno.readTextFile(join(PACKAGING, path));
}

async function copyright(): Promise<string> {
  const license = await Deno.readTextFile(join(ROOT, "LICENSE"));
  const lines = license.trim().split("\n").map((line) => line === "" ? " ." : ` ${line}`);
  return [
    "Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/",
    "",
    "Files: *",
    `Copyright: ${license.match(/Copyright.*/)?.[0] ?? "the authors"}`,
    "License: MIT",
    ...lines,
    "",
  ].join("\n");
}

async function makeTarball(
  output: string,
  level: number,
  name: string,
  files: readonly PackagedFile[],
): Promise<string> {
  await using folder = await temporaryFolder(output);
  await writeFiles(join(folder.path, name), files);
  const file = join(output, `${name}.tar.gz`);
  const order = ["--sort=name", "--owner=0", "--group=0", "--numeric-owner", `--mtime=${EPOCH}`];
  await run("tar", ["--create", "--file", `${file}.tar`, ...order, "--directory", folder.path, name]);
  await run("gzip", [`-${level}`, "--no-name", "--force", `${file}.tar`]);
  await Deno.rename(`${file}.tar.gz`, file);
  return `${name}.tar.gz`;
}

async function makeDeb(
  output: string,
  level: number,
  version: string,
  architecture: string,
  files: readonly PackagedFile[],
): Promise<string> {
  await using folder = await temporaryFolder(output);
  await writeFiles(folder.path, files);
  await Deno.mkdir(join(folder.path, "etc/jobs/handlers"));
  const size = files.reduce((sum, { content }) => sum + content.length, 0);
  await writeFiles(join(folder.path, "DEBIAN"), [
    { path: "control", content: controlFile(version, architecture, Math.ceil(size / 1024)), mode: 0o644 },
    { path: "conffiles", content: "/etc/jobs/jobs.json\n/etc/profile.d/jobs.sh\n", mode: 0o644 },
    ...await Promise.all(["postinst", "prerm", "postrm"].map(async (name) => ({
      path: name,
      content: await packaged(`debian/${name}`),
      mode: 0o755,
    }))),
  ]);
  const name = `jobs_${version}_${architecture}.deb`;
  await run("dpkg-deb", ["--root-owner-group", "-Zgzip", `-z${level}`, "--build", folder.path, join(output, name)], {
    SOURCE_DATE_EPOCH: `${Date.parse(EPOCH) / 1000}`,
  });
  return name;
}

function controlFile(version: string, architecture: string, kilobytes: number): string {
  return `Package: jobs
Version: ${version}
Architecture: ${architecture}
Maintainer: The jobs maintainers <maintainers@jobs.invalid>
Installed-Size: ${kilobytes}
Depends: libc6 (>= 2.27), libgcc-s1, passwd
Recommends: ca-certificates
Suggests: redis-server (>= 5:7.0)
Section: admin
Priority: optional
Description: background jobs in one executable
 Enqueues, schedules and processes background jobs, with retries, cron, a
 dashboard and metrics. Jobs are stored in SQLite, or in Redis in Sidekiq's
 format. Handlers are JavaScript, TypeScript or any program.
`;
}

async function checksums(folder: string, names: readonly string[]): Promise<string> {
  const lines = await Promise.all(names.map(async (name) => {
    const digest = await crypto.subtle.digest("SHA-256", await Deno.readFile(join(folder, name)));
    return `${new Uint8Array(digest).toHex()}  ${name}\n`;
  }));
  return lines.join("");
}

async function writeFiles(folder: string, files: readonly PackagedFile[]): Promise<void> {
  for (const { path, content, mode } of files) {
    const to = join(folder, path);
    await Deno.mkdir(join(to, ".."), { recursive: true });
    await Deno.writeFile(to, typeof content === "string" ? new TextEncoder().encode(content) : content);
    await Deno.chmod(to, mode);
  }
}

async function temporaryFolder(output: string): Promise<{ path: string } & AsyncDisposable> {
  const path = await Deno.makeTempDir({ dir: output, prefix: "package-" });
  await Deno.chmod(path, 0o755); // becomes the mode of `/` in the package
  return { path, [Symbol.asyncDispose]: () => Deno.remove(path, { recursive: true }) };
}

/** Runs a program; returns its output. */
async function run(program: string, args: string[], env: Record<string, string> = {}): Promise<string> {
  const command = new Deno.Command(program, { args, env, stdin: "null" });
  const { success, stdout, stderr } = await command.output().catch((error) => {
    throw error instanceof Deno.errors.NotFound ? new PackageError(`"${program}" is missing: install it first`) : error;
  });
  if (success) return new TextDecoder().decode(stdout);
  throw new PackageError(`${program} ${args[0]} failed: ${new TextDecoder().decode(stderr).trim()}`);
}

if (import.meta.main) {
  const flags = parseArgs(Deno.args, { string: ["binary", "output", "version", "level"] }) as Record<
    string,
    string | undefined
  >;
  try {
    const binary = resolve(flags.binary ?? join(ROOT, "dist/jobs"));
    const output = resolve(flags.output ?? join(ROOT, "dist"));
    const version = flags.version ?? config.version;
    for (const path of await makePackages({ binary, output, version, level: Number(flags.level ?? 6) })) {
      console.log(path);
    }
  } catch (error) {
    if (!(error instanceof PackageError)) throw error;
    console.error(error.message);
    Deno.exit(1);
  }
}
