/**
 * What stands in the container: the executable, the libraries it links to with their loader, certificates of
 * authorities, a user, and the folders it needs.
 *
 * @module
 */
import { machineOf } from "./elf.ts";
import type { Member } from "./image_tar.ts";

/** The number of the user, and of its group. */
export const USER = 65532;
/** Where the store is kept: the volume. */
export const DATA = "var/lib/jobs";
/** The working directory: where handlers and jobs.json are looked for. */
export const APP = "app";
/** The executable. */
export const PROGRAM = "usr/bin/jobs";

/** Why there is no image, in one line. */
export class ImageError extends Error {}

/** Where distributions keep the certificates, all in one file. */
const CERTIFICATES = ["/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/cert.pem"];

/** What changes rarely, and the executable: a layer each. */
export interface RootFs {
  readonly system: readonly Member[];
  readonly program: readonly Member[];
}

/**
 * Gathers the files.
 *
 * @throws {ImageError} when the executable is not there, not for this machine, or a library is missing
 */
export async function gather(binary: string): Promise<RootFs> {
  await checkMachine(binary);
  const files: Member[] = [
    text("etc/passwd", `root:x:0:0:root:/:/sbin/nologin\njobs:x:${USER}:${USER}:jobs:/${DATA}:/sbin/nologin\n`),
    text("etc/group", `root:x:0:\njobs:x:${USER}:\n`),
    text("etc/nsswitch.conf", "hosts: files dns\n"),
    { path: "etc/ssl/certs/ca-certificates.crt", content: await certificates(), mode: 0o644, owner: 0 },
    ...await libraries(binary),
  ];
  const folders: Member[] = [
    ...[APP, "dev", "proc", "sys", "usr/bin"].map((path) => ({ path, mode: 0o755, owner: 0 })),
    { path: "tmp", mode: 0o1777, owner: 0 },
    { path: DATA, mode: 0o750, owner: USER },
  ];
  return {
    system: withParents([...folders, ...files]),
    program: [{ path: PROGRAM, content: await Deno.readFile(binary), mode: 0o755, owner: 0 }],
  };
}

/** The libraries come from this machine, so the executable must be for its kind. */
async function checkMachine(binary: string): Promise<void> {
  let machine: string | undefined;
  try {
    machine = await machineOf(binary);
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
    throw new ImageError(`There is no "${binary}": make compile makes it`);
  }
  if (machine === Deno.build.arch && Deno.build.os === "linux") return;
  throw new ImageError(
    `"${binary}" is for ${
      machine ?? "another system"
    }, and the libraries of its image come from this machine, which is ${Deno.build.arch}: ` +
      `make the image on a machine of that kind, or with docker build --platform`,
  );
}

/** What `ldd` says that the executable needs, at the paths where its loader finds it. */
async function libraries(binary: string): Promise<Member[]> {
  const { success, stdout } = await new Deno.Command("ldd", { args: [binary], env: { LC_ALL: "C" }, stderr: "null" })
    .output();
  const lines = new TextDecoder().decode(stdout).split("\n");
  const missing = lines.find((line) => line.includes("not found"))?.trim();
  if (!success || missing !== undefined) {
    throw new ImageError(`The libraries of "${binary}" cannot be gathered: ${missing ?? "ldd fails"}; install glibc's`);
  }
  const paths = lines.flatMap((line) => line.match(/(?:=> |^\s)(\/\S+) \(0x/)?.[1] ?? []);
  return await Promise.all(paths.map(async (path) => ({
    path: path.slice(1),
    content: await Deno.readFile(path),
    mode: 0o755,
    owner: 0,
  })));
}

async function certificates(): Promise<Uint8Array> {
  for (const path of CERTIFICATES) {
    try {
      return await Deno.readFile(path);
    } catch (error) {
      if (!(error instanceof Deno.errors.NotFound)) throw error;
    }
  }
  throw new ImageError(`No certificates of authorities in ${CERTIFICATES.join(", ")}: install ca-certificates`);
}

function text(path: string, content: string): Member {
  return { path, content: new TextEncoder().encode(content), mode: 0o644, owner: 0 };
}

/** The members and the folders above them, each once, parents first. */
function withParents(members: readonly Member[]): Member[] {
  const all = new Map<string, Member>();
  for (const { path } of members) {
    const parts = path.split("/");
    for (let i = 1; i < parts.length; i++) {
      const parent = parts.slice(0, i).join("/");
      all.set(parent, { path: parent, mode: 0o755, owner: 0 });
    }
  }
  for (const member of members) all.set(member.path, member);
  return [...all.values()].sort((a, b) => a.path < b.path ? -1 : 1);
}
