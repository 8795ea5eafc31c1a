/**
 * The files of the container: the executable and the licenses of its parts, its libraries and their loader, CA certificates, a
 * user, and folders.
 *
 * @module
 */
import { file, type Member, withParents } from "./archive.ts";
import { ROOT } from "./bundle.ts";
import { machineOf } from "./elf.ts";
import { licenseTexts } from "./release/bill.ts";
import { componentsOf } from "./release/components.ts";

/** The ID of the user and of its group. */
export const USER = 65532;
/** The folder of the store: the volume. */
export const DATA = "var/lib/jobs";
/** The working directory, with handlers and jobs.json. */
export const APP = "app";
/** The executable. */
export const PROGRAM = "usr/bin/jobs";

/** The image can't be made. The message is one line for users. */
export class ImageError extends Error {}

/** The files with all CA certificates, by distribution. */
const CERTIFICATES = ["/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/cert.pem"];

/** A layer with the files that change rarely, and one with the executable. */
export interface RootFs {
  readonly system: readonly Member[];
  readonly program: readonly Member[];
}

/**
 * Gathers the files.
 *
 * @throws {ImageError} if the executable is missing or for another machine, or a library is missing
 */
export async function gather(binary: string): Promise<RootFs> {
  await checkMachine(binary);
  const files: Member[] = [
    file("etc/passwd", `root:x:0:0:root:/:/sbin/nologin\njobs:x:${USER}:${USER}:jobs:/${DATA}:/sbin/nologin\n`),
    file("etc/group", `root:x:0:\njobs:x:${USER}:\n`),
    file("etc/nsswitch.conf", "hosts: files dns\n"),
    file("etc/ssl/certs/ca-certificates.crt", await certificates()),
    ...await libraries(binary),
  ];
  const folders: Member[] = [
    ...[APP, "dev", "proc", "sys", "usr/bin", "usr/share/doc/jobs"].map((path) => ({ path, mode: 0o755, owner: 0 })),
    { path: "tmp", mode: 0o1777, owner: 0 },
    { path: DATA, mode: 0o750, owner: USER },
  ];
  const executable = await Deno.readFile(binary);
  const license = await Deno.readTextFile(`${ROOT}/LICENSE`);
  const licenses = licenseTexts(await componentsOf(executable), { license });
  return {
    system: withParents([...folders, ...files]),
    program: [file(PROGRAM, executable, 0o755), file("usr/share/doc/jobs/LICENSES.txt", licenses)],
  };
}

/** Checks that the executable is for this machine, because the libraries are. */
async function checkMachine(binary: string): Promise<void> {
  let machine: string | undefined;
  try {
    machine = await machineOf(binary);
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
    throw new ImageError(`"${binary}" not found: make compile makes it`);
  }
  if (machine === Deno.build.arch && Deno.build.os === "linux") return;
  throw new ImageError(
    `"${binary}" is for ${
      machine ?? "another system"
    }, and the libraries of its image come from this machine, which is ${Deno.build.arch}: ` +
      `make the image on a machine of that kind, or with docker build --platform`,
  );
}

/** Returns the libraries that `ldd` lists, at the paths where the loader finds them. */
async function libraries(binary: string): Promise<Member[]> {
  const { success, stdout } = await new Deno.Command("ldd", { args: [binary], env: { LC_ALL: "C" }, stderr: "null" })
    .output();
  const lines = new TextDecoder().decode(stdout).split("\n");
  const missing = lines.find((line) => line.includes("not found"))?.trim();
  if (!success || missing !== undefined) {
    throw new ImageError(`Can't find the libraries of "${binary}": ${missing ?? "ldd failed"}; install those of glibc`);
  }
  const paths = lines.flatMap((line) => line.match(/(?:=> |^\s)(\/\S+) \(0x/)?.[1] ?? []);
  return await Promise.all(paths.map(async (path) => file(path.slice(1), await Deno.readFile(path), 0o755)));
}

async function certificates(): Promise<Uint8Array> {
  for (const path of CERTIFICATES) {
    try {
      return await Deno.readFile(path);
    } catch (error) {
      if (!(error instanceof Deno.errors.NotFound)) throw error;
    }
  }
  throw new ImageError(`No CA certificates in ${CERTIFICATES.join(", ")}: install ca-certificates`);
}
