/**
 * `make image`: a container image of the executable and the files that it needs. Works without a container engine.
 *
 *     deno run -A scripts/image.ts [--binary dist/jobs] [--output dist/jobs.tar] [--rootfs dist/rootfs] [--level 6]
 *
 * `--rootfs` is a folder for the same files, which the Dockerfile copies. The same executable and libraries make the same
 * digest.
 *
 * @module
 */
import { parseArgs } from "@std/cli/parse-args";
import { join, resolve } from "node:path";
import { image } from "./image_oci.ts";
import { APP, DATA, gather, ImageError, PROGRAM, type RootFs, USER } from "./image_rootfs.ts";
import { ComponentError } from "./release/components.ts";

const ARCHITECTURES: Readonly<Record<typeof Deno.build.arch, string>> = { x86_64: "amd64", aarch64: "arm64" };

const SECOND = 1e9; // nanoseconds

/** Returns the configuration of the container. A test compares it with the Dockerfile's. */
export function containerConfig(version: string, commit: string | undefined): Record<string, unknown> {
  return {
    User: `${USER}:${USER}`,
    Env: [
      "PATH=/usr/bin",
      `HOME=/${DATA}`,
      "SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt",
      `JOBS_STORE=sqlite:/${DATA}/jobs.db`,
      "JOBS_TRUSTED_FOLDER=/app",
    ],
    Entrypoint: [`/${PROGRAM}`],
    Cmd: ["run"],
    WorkingDir: `/${APP}`,
    Volumes: { [`/${DATA}`]: {} },
    StopSignal: "SIGTERM",
    Healthcheck: {
      Test: ["CMD", `/${PROGRAM}`, "doctor", "--ready"],
      Interval: 30 * SECOND,
      Timeout: 10 * SECOND,
      StartPeriod: 15 * SECOND,
    },
    Labels: {
      "org.opencontainers.image.title": "jobs",
      "org.opencontainers.image.description": "Background jobs in one executable",
      "org.opencontainers.image.licenses": "MIT",
      "org.opencontainers.image.version": version,
      ...(commit && { "org.opencontainers.image.revision": commit }),
    },
  };
}

/** Empties a folder and writes the files into it. */
async function writeRootFs({ system, program }: RootFs, folder: string): Promise<void> {
  await Deno.remove(folder, { recursive: true }).catch((error) => {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  });
  await Deno.mkdir(folder, { recursive: true });
  const mayChown = Deno.uid() === 0;
  for (const { path, content, mode, owner } of [...system, ...program]) {
    const to = join(folder, path);
    if (content) await Deno.writeFile(to, content);
    else await Deno.mkdir(to);
    await Deno.chmod(to, mode); // despite the umask
    if (mayChown) await Deno.chown(to, owner, owner);
  }
}

async function versionOf(binary: string): Promise<{ jobs: string; commit?: string }> {
  const { success, stdout } = await new Deno.Command(resolve(binary), { args: ["version", "--json"] }).output();
  if (!success) throw new ImageError(`"${binary}" doesn't run on this machine: make compile compiles it again`);
  return JSON.parse(new TextDecoder().decode(stdout));
}

if (import.meta.main) {
  const { binary, output, rootfs, level } = parseArgs(Deno.args, {
    string: ["binary", "output", "rootfs", "level"],
    default: { binary: "dist/jobs", output: "dist/jobs.tar", rootfs: "dist/rootfs", level: "6" },
  }) as unknown as Record<"binary" | "output" | "rootfs" | "level", string>;
  try {
    const files = await gather(binary);
    const { jobs, commit } = await versionOf(binary);
    await writeRootFs(files, rootfs);
    const { archive, digest } = image([files.system, files.program], {
      architecture: ARCHITECTURES[Deno.build.arch],
      config: containerConfig(jobs, commit),
      name: `jobs:${jobs}`,
      level: Number(level),
    });
    await Deno.writeFile(output, archive);
    console.log(`${output}: image jobs:${jobs}, ${(archive.length / 1e6).toFixed(1)} MB, ${digest}`);
  } catch (error) {
    if (!(error instanceof ImageError || error instanceof ComponentError)) throw error;
    console.error(error.message);
    Deno.exit(1);
  }
}
