/**
 * The packages of an executable: `jobs-VERSION-linux-x86_64.tar.gz` and `jobs_VERSION_amd64.deb`. Both have the units, the
 * manual page, completions, the clients, the documentation as text, the licenses, the bill of materials, and files for
 * Prometheus, Grafana, Kubernetes and logrotate.
 *
 * @module
 */
import { createHash } from "node:crypto";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { ar, file, type Member, tar, withParents } from "../archive.ts";
import { deno, ROOT } from "../bundle.ts";
import { billOfMaterials, debianCopyright, licenseTexts, type Program } from "./bill.ts";
import type { Component } from "./components.ts";

/** A program or a file that the packages need is missing. The message is one line for users. */
export class PackageError extends Error {}

/** The content of the packages that is the same for all targets. */
export interface Shared {
  readonly program: Program;
  readonly parts: readonly Component[];
  /** The gzip level, from 0 to 9. */
  readonly level: number;
  readonly completions: Readonly<Record<"bash" | "zsh" | "fish", string>>;
}

/** Gathers it. Completions come from the sources, because an executable may be for another machine. */
export async function gatherShared(
  version: string,
  time: number,
  parts: readonly Component[],
  level: number,
): Promise<Shared> {
  const license = await Deno.readTextFile(join(ROOT, "LICENSE"));
  const [bash, zsh, fish] = await Promise.all(["bash", "zsh", "fish"].map(completion));
  return { program: { version, license, time }, parts, level, completions: { bash: bash!, zsh: zsh!, fish: fish! } };
}

/** Returns the completions for `/usr/bin/jobs`, in place of the script that runs the sources. */
async function completion(shell: string): Promise<string> {
  const { success, stdout, stderr } = await deno(["run", "-A", "--no-prompt", "main.ts", "completions", shell], ROOT);
  const own = join(ROOT, "jobs");
  if (!success || !stdout.includes(own)) throw new PackageError(`Can't make the completions of ${shell}: ${stderr}`);
  return stdout.replaceAll(own, "/usr/bin/jobs");
}

/** Returns the tarball. `folder` is the one folder in it: `jobs-0.1.0-linux-x86_64`. */
export async function tarball(folder: string, executable: Member, shared: Shared): Promise<Uint8Array> {
  const { program, parts, completions } = shared;
  return packedFolder(folder, [
    executable,
    ...await Promise.all([
      packaged("jobs.json", "etc/jobs.json"),
      packaged("systemd/jobs.service"),
      packaged("systemd/jobs@.service"),
      packaged("man/jobs.1"),
    ]),
    file("completions/jobs.bash", completions.bash),
    file("completions/_jobs", completions.zsh),
    file("completions/jobs.fish", completions.fish),
    file("LICENSES.txt", licenseTexts(parts, program)),
    file("jobs.cdx.json", billOfMaterials(parts, program)),
    ...await sharedFiles({ doc: "", clients: "clients", packaging: "packaging" }),
  ], shared);
}

/** Returns the compressed tar archive of a folder with these files. */
export function packedFolder(
  folder: string,
  files: readonly Member[],
  { level, program }: Pick<Shared, "level" | "program">,
): Uint8Array {
  const members = withParents(files.map((member) => ({ ...member, path: `${folder}/${member.path}` })));
  return gzipSync(tar(members, program.time), { level });
}

/** Returns Debian's package. */
export async function debianPackage(architecture: string, executable: Uint8Array, shared: Shared): Promise<Uint8Array> {
  const { program, parts, completions, level } = shared;
  const files = [
    file("usr/bin/jobs", executable, 0o755),
    ...await Promise.all([
      packaged("etc/jobs/jobs.json", "etc/jobs.json", 0o640),
      packaged("etc/profile.d/jobs.sh", "profile.d/jobs.sh"),
      packaged("lib/systemd/system/jobs.service", "systemd/jobs.service"),
      packaged("lib/systemd/system/jobs@.service", "systemd/jobs@.service"),
      packaged("usr/share/fish/vendor_conf.d/jobs.fish", "profile.d/jobs.fish"),
    ]),
    file("usr/share/man/man1/jobs.1.gz", gzipSync((await packaged("man/jobs.1")).content!, { level: 9 })),
    file("usr/share/bash-completion/completions/jobs", completions.bash),
    file("usr/share/zsh/vendor-completions/_jobs", completions.zsh),
    file("usr/share/fish/vendor_completions.d/jobs.fish", completions.fish),
    file("usr/share/doc/jobs/copyright", debianCopyright(parts, program)),
    file("usr/share/doc/jobs/jobs.cdx.json", billOfMaterials(parts, program)),
    ...await sharedFiles({ doc: "usr/share/doc/jobs", clients: "usr/share/jobs/clients", packaging: "usr/share/jobs" }),
  ];
  const size = files.reduce((sum, { content }) => sum + content!.length, 0);
  const sums = files.filter(({ path }) => !path.startsWith("etc/")).map(({ path, content }) =>
    `${createHash("md5").update(content!).digest("hex")}  ${path}\n`
  );
  const control = await Promise.all([
    file("control", controlFile(program.version, architecture, Math.ceil(size / 1024))),
    file("conffiles", files.filter(({ path }) => path.startsWith("etc/")).map(({ path }) => `/${path}\n`).join("")),
    file("md5sums", sums.join("")),
    ...["postinst", "prerm", "postrm"].map((name) => packaged(name, `debian/${name}`, 0o755)),
  ]);
  const packed = (members: readonly Member[]) => {
    const all = withParents(members).map((member) => ({ ...member, path: `./${member.path}` }));
    return gzipSync(tar([{ path: ".", mode: 0o755, owner: 0 }, ...all], program.time), { level });
  };
  return ar([
    file("debian-binary", "2.0\n"),
    file("control.tar.gz", packed(control)),
    file("data.tar.gz", packed([...files, { path: "etc/jobs/handlers", mode: 0o755, owner: 0 }])),
  ], program.time);
}

function controlFile(version: string, architecture: string, kilobytes: number): string {
  return `Package: jobs
Version: ${version}
Architecture: ${architecture}
Maintainer: The jobs maintainers <maintainers@jobs.invalid>
Installed-Size: ${kilobytes}
Depends: libc6 (>= 2.27), libgcc-s1, passwd
Recommends: ca-certificates
Suggests: redis-server (>= 5:7.0), postgresql (>= 14)
Section: admin
Priority: optional
Description: background jobs in one executable
 Enqueues, schedules and processes background jobs, with retries, cron, a
 dashboard and metrics. Jobs are stored in SQLite, in PostgreSQL, or in Redis
 in Sidekiq's format. Handlers are JavaScript, TypeScript or any program.
`;
}

/** Returns the documentation as text, the clients, and the files for other programs, in these folders. */
async function sharedFiles(
  into: { readonly doc: string; readonly clients: string; readonly packaging: string },
): Promise<Member[]> {
  const sources: [from: string, to: string][] = [
    ["README.md", join(into.doc, "README.md")],
    ["CHANGELOG.md", join(into.doc, "CHANGELOG.md")],
    ...(await pathsIn("docs")).filter((path) => path.endsWith(".md")).map((path) => placed(path, into.doc)),
    ...(await pathsIn("clients")).map((path) => placed(path, into.clients, "clients")),
  ];
  for (const folder of ["prometheus", "grafana", "kubernetes", "logrotate"]) {
    sources.push(...(await pathsIn(`packaging/${folder}`)).map((path) => placed(path, into.packaging, "packaging")));
  }
  return await Promise.all(sources.map(async ([from, to]) => file(to, await Deno.readFile(join(ROOT, from)))));
}

/** Returns a path of the repository, and that in the package: in a folder, without the part that the folder replaces. */
function placed(path: string, folder: string, without = ""): [from: string, to: string] {
  return [path, join(folder, path.slice(without.length)).replace(/^\//, "")];
}

/** Returns the files of the repository in a folder. Others may lie there, such as caches of Python. */
export async function pathsIn(folder: string): Promise<string[]> {
  return (await git("ls-files", "--", folder)).split("\n").sort();
}

/**
 * Runs git in the repository. Returns its output.
 *
 * @throws {PackageError} if it fails
 */
export async function git(...args: readonly string[]): Promise<string> {
  const command = new Deno.Command("git", { args: ["-C", ROOT, ...args], stdin: "null" });
  const { success, stdout, stderr } = await command.output().catch((error) => {
    throw error instanceof Deno.errors.NotFound ? new PackageError(`"git" is missing: install it first`) : error;
  });
  if (success) return new TextDecoder().decode(stdout).trim();
  throw new PackageError(`git ${args[0]} failed: ${new TextDecoder().decode(stderr).trim()}`);
}

/** Returns a file of `packaging/`, at the same path or another. */
async function packaged(to: string, from = to, mode = 0o644): Promise<Member> {
  return file(to, await Deno.readFile(join(ROOT, "packaging", from)), mode);
}
