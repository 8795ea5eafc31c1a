/** The image: its archive, and its files as the root of a container. */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { createHash } from "node:crypto";
import { containerConfig } from "../../scripts/image.ts";
import { gather } from "../../scripts/image_rootfs.ts";
import { tar } from "../../scripts/archive.ts";
import { pinnedDeno, runHere, useCommand, useExecutable } from "../support/command.ts";
import { childOf, containerCommand } from "../support/container.ts";
import { jobs, JobsProcess, temporaryFolder } from "../support/process.ts";
import { until } from "../support/eventually.ts";
import { signalIfRunning } from "../support/pid.ts";
import { requireRoot } from "../support/tools.ts";

const OUTPUT = new URL("../../dist/test/", import.meta.url).pathname;
const ROOTFS = `${OUTPUT}rootfs`;
const ARCHIVE = `${OUTPUT}jobs.tar`;

const binary = await useExecutable();
const said = await makeImage();

/** Runs `make image`. Returns its output. */
async function makeImage(from = binary): Promise<string> {
  const args = [
    "run",
    "-A",
    "scripts/image.ts",
    "--binary",
    from,
    "--output",
    ARCHIVE,
    "--rootfs",
    ROOTFS,
    "--level",
    "1",
  ];
  return await runHere(await pinnedDeno(), args);
}

Deno.test("the same executable makes the same image", async () => {
  await using folder = await temporaryFolder();
  const copy = `${folder.path}/jobs`;
  await Deno.copyFile(binary, copy);
  await Deno.utime(copy, 1, 1);
  // The digests of the layers, which alone differ between machines and times.
  const layers = async (executable: string) => {
    const { system, program } = await gather(executable);
    return [system, program].map((members) => createHash("sha256").update(tar(members)).digest("hex"));
  };
  assertEquals(await layers(copy), await layers(binary));
});

Deno.test("the archive is an OCI image: each blob matches its digest, and the layers have the files", async () => {
  await using folder = await temporaryFolder();
  const root = `${folder.path}/root`;
  await Deno.mkdir(root);
  await runHere("tar", ["-xf", ARCHIVE, "-C", folder.path]);
  const read = async (path: string) => JSON.parse(await Deno.readTextFile(`${folder.path}/${path}`));
  const blob = (digest: string) => `blobs/${digest.replace(":", "/")}`;
  for await (const { name } of Deno.readDir(`${folder.path}/blobs/sha256`)) {
    const sum = await runHere("sha256sum", [`${folder.path}/blobs/sha256/${name}`]);
    assertEquals(sum.split(" ")[0], name);
  }
  assertEquals(await read("oci-layout"), { imageLayoutVersion: "1.0.0" });
  const [{ digest, size }] = (await read("index.json")).manifests;
  assert(said.endsWith(digest), said);
  assertEquals(size, (await Deno.stat(`${folder.path}/${blob(digest)}`)).size);
  const manifest = await read(blob(digest));
  const config = await read(blob(manifest.config.digest));
  assertEquals(config.config.Entrypoint, ["/usr/bin/jobs"]);
  const version = JSON.parse((await jobs(["version", "--json"])).stdout);
  assertEquals(config.config, containerConfig(version.jobs, version.commit));
  const layers = manifest.layers.map(({ digest }: { digest: string }) => blob(digest));
  const docker = { Config: blob(manifest.config.digest), RepoTags: [`jobs:${version.jobs}`], Layers: layers };
  assertEquals(await read("manifest.json"), [docker], "docker load without containerd's store reads it");
  for (const [i, layer] of manifest.layers.entries()) {
    const unpacked = `${folder.path}/layer`;
    await runHere("sh", ["-c", `gunzip <"$0" >"$1"`, `${folder.path}/${blob(layer.digest)}`, unpacked]);
    assertEquals(`sha256:${(await runHere("sha256sum", [unpacked])).split(" ")[0]}`, config.rootfs.diff_ids[i]);
    await runHere("tar", ["-xpf", unpacked, "-C", root]);
  }
  await runHere("diff", ["--recursive", root, ROOTFS]);
  assertMatch(await Deno.readTextFile(`${ROOTFS}/usr/share/doc/jobs/LICENSES.txt`), /^hono \d\S*: MIT$/m);
  const list = (path: string) => runHere("find", [path, "-mindepth", "1", "-printf", "%P %m %U:%G\n"]);
  assertEquals((await list(root)).split("\n").sort(), (await list(ROOTFS)).split("\n").sort());
});

Deno.test("the Dockerfile has the same configuration as the image", async () => {
  const lines = (await Deno.readTextFile(new URL("../../Dockerfile", import.meta.url))).replaceAll("\\\n", "");
  const stage = lines.slice(lines.indexOf("FROM scratch"));
  const after = (word: string) => stage.match(new RegExp(`(?:^|\\s)${word}\\s(.*)`))![1]!;
  const config = containerConfig("0", undefined) as Record<string, never>;
  assertEquals(after("USER"), config.User);
  assertEquals(after("WORKDIR"), config.WorkingDir);
  assertEquals(after("ENV").split(" "), config.Env);
  assertEquals([after("VOLUME")], Object.keys(config.Volumes!));
  assertEquals(after("STOPSIGNAL"), config.StopSignal);
  assertEquals(JSON.parse(after("ENTRYPOINT")), config.Entrypoint);
  assertEquals(JSON.parse(stage.match(/\nCMD (.*)/)![1]!), config.Cmd);
  assertEquals(["CMD", ...JSON.parse(stage.match(/HEALTHCHECK .* CMD (.*)/)![1]!)], config.Healthcheck!["Test"]);
});

Deno.test("in a read-only root, as process 1 without privileges, a worker performs, is ready, becomes quiet, and stops on TERM", async () => {
  requireRoot();
  await using volume = await temporaryFolder();
  await Deno.chown(volume.path, 65532, 65532);
  useCommand(containerCommand(ROOTFS, volume.path));
  const store = "sqlite:/var/lib/jobs/jobs.db";
  const env = { PATH: Deno.env.get("PATH")!, HOME: "/var/lib/jobs", JOBS_STORE: store };

  const notReady = await jobs(["doctor", "--ready"], { env });
  assertEquals([notReady.code, notReady.stdout], [1, ""]);
  assertMatch(notReady.stderr, /^jobs: not ready: No store at "\/var\/lib\/jobs\/jobs.db"/);

  // In an isolated process, which needs neither /dev/null nor a writable /tmp.
  await using server = new JobsProcess({ store, args: ["/app/handlers.js", "--isolate", "Note"], env });
  await server.logged("Ready");
  const inside = (await childOf(server.pid))!;
  // It would outlive its parent: the change of its user reset its parent-death signal.
  using _end = { [Symbol.dispose]: () => signalIfRunning(inside, "SIGKILL") };
  const status = await Deno.readTextFile(`/proc/${inside}/status`);
  assertMatch(status, /^NSpid:\t\d+\t1$/m);
  assertMatch(status, /^Uid:\t65532\t65532\t65532\t65532$/m);
  assertMatch(status, /^CapEff:\t0+$/m);
  assertEquals(await jobs(["doctor", "--ready"], { env }), { code: 0, stdout: "ready\n", stderr: "" });

  const { stdout: jid } = await jobs(["push", "Note", "/var/lib/jobs/notes"], { env });
  await until(async () => await Deno.readTextFile(`${volume.path}/notes`).catch(() => "") === jid, "the job");

  assertEquals((await jobs(["quiet", "--here"], { env })).code, 0);
  await server.logged("Quiet: taking no more jobs");
  await until(async () => (await jobs(["workers"], { env })).stdout.includes("quiet"), "quiet");
  const quiet = await jobs(["doctor", "--ready"], { env });
  assertEquals(quiet.code, 1);
  assertMatch(quiet.stderr, /^jobs: not ready: \S+ on ".*" is quiet: it doesn't fetch jobs\n$/);

  Deno.kill(inside, "SIGTERM");
  assertEquals((await server.status()).code, 0);
});

Deno.test("a path that the image cannot write or read causes one line with the remedy", async () => {
  requireRoot();
  await using volume = await temporaryFolder(); // root's: not ours to write
  useCommand(containerCommand(ROOTFS, volume.path));
  const env = { PATH: Deno.env.get("PATH")! };
  for (const path of ["/app/jobs.db", "/var/lib/jobs/jobs.db", "/new/jobs.db"]) {
    for (const command of [["push", "Note"], ["run", "/app/handlers.js"]]) {
      const { code, stdout, stderr } = await jobs([...command, "--store", `sqlite:${path}`], { env });
      assertEquals([code, stdout], [1, ""], stderr);
      const [line, ...more] = stderr.trim().split("\n").filter((line) => !line.startsWith("{"));
      assertEquals(more, []);
      assertMatch(line!, /^jobs: Store "\/.*" cannot be opened .*; choose another place .*volume.*permission/);
    }
  }
});

Deno.test("making an image fails without an executable for this machine", async () => {
  await using folder = await temporaryFolder();
  const other = `${folder.path}/jobs`;
  const refusal = async () => {
    const error = await makeImage(other).then(() => undefined, (error) => error as Error);
    return error?.message.split("\n").slice(1).join("\n");
  };
  assertMatch(await refusal() ?? "", /^".*\/jobs" not found: make compile makes it\n$/);
  const header = (await Deno.readFile(binary)).slice(0, 64);
  header[18] = Deno.build.arch === "aarch64" ? 62 : 183;
  await Deno.writeFile(other, header, { mode: 0o755 });
  assertMatch(await refusal() ?? "", /^".*\/jobs" is for \w+, and the libraries .* make the image on a machine/);
});
