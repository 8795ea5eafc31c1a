/**
 * The packages of `make package`, installed, used, upgraded and removed by the real dpkg: in a copy of this machine's root
 * folder, so that the machine itself stays unchanged.
 */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { pinnedDeno, runHere, useExecutable } from "../support/command.ts";
import { blocksOf } from "../support/page_runner.ts";
import { temporaryFolder } from "../support/process.ts";
import { requireRoot, requireTool } from "../support/tools.ts";

const binary = await useExecutable();

/** Makes the packages of one version. */
async function makePackages(output: string, version: string): Promise<string> {
  const args = ["--binary", binary, "--output", output, "--version", version, "--level", "0"];
  await runHere(await pinnedDeno(), ["run", "--allow-all", "scripts/release/main.ts", ...args]);
  return `${output}/jobs_${version}_${await runHere("dpkg", ["--print-architecture"])}.deb`;
}

/** The result of a command in the copy. */
interface Ended {
  readonly code: number;
  readonly output: string;
}

/** A copy of the machine: an overlay of its folders, with changes in memory. */
class MachineCopy implements AsyncDisposable {
  readonly #holder: Deno.ChildProcess;
  readonly #root: string;

  private constructor(holder: Deno.ChildProcess, root: string) {
    this.#holder = holder;
    this.#root = root;
  }

  static async make(folder: string): Promise<MachineCopy> {
    const script = `
      set -e
      mount -t tmpfs tmpfs ${folder}
      mkdir ${folder}/upper ${folder}/work ${folder}/root ${folder}/files
      mount -t overlay overlay -o lowerdir=/,upperdir=${folder}/upper,workdir=${folder}/work ${folder}/root
      mount -t proc proc ${folder}/root/proc
      mount --rbind /dev ${folder}/root/dev
      mount -t tmpfs tmpfs ${folder}/root/run
      echo ready
      exec cat`;
    const args = ["--mount", "--pid", "--fork", "--kill-child", "--propagation", "private", "sh", "-c", script];
    const holder = new Deno.Command("unshare", { args, stdin: "piped", stdout: "piped" }).spawn();
    const reader = holder.stdout.pipeThrough(new TextDecoderStream()).getReader();
    const { value } = await reader.read();
    assertEquals(value, "ready\n");
    await reader.cancel();
    return new MachineCopy(holder, `${folder}/root`);
  }

  /** Copies a file into the folder /srv of the copy. */
  async take(path: string): Promise<string> {
    const name = path.split("/").at(-1)!;
    await this.write(`/srv/${name}`, await Deno.readFile(path));
    return `/srv/${name}`;
  }

  /** Writes a file of the copy. */
  async write(path: string, content: Uint8Array | string): Promise<void> {
    const child = this.#command(["sh", "-c", `cat >${path}`], "piped").spawn();
    const writer = child.stdin.getWriter();
    await writer.write(typeof content === "string" ? new TextEncoder().encode(content) : content);
    await writer.close();
    const { success, stderr } = await child.output();
    assert(success, new TextDecoder().decode(stderr));
  }

  /** Runs a line of bash as root. */
  async sh(line: string): Promise<Ended> {
    const { code, stdout, stderr } = await this.#command(["bash", "-c", line], "null").output();
    return { code, output: (new TextDecoder().decode(stdout) + new TextDecoder().decode(stderr)).trim() };
  }

  /** Runs a line that must succeed. Returns its output. */
  async must(line: string): Promise<string> {
    const { code, output } = await this.sh(line);
    assertEquals(code, 0, `${line}\n${output}`);
    return output;
  }

  /** Starts the worker as the unit does, without systemd: with its command, folder, user and umask. Returns the process ID. */
  async startUnit(log: string): Promise<number> {
    const unit = await this.must("cat /lib/systemd/system/jobs.service");
    const value = (name: string) => unit.match(new RegExp(`^${name}=(.*)$`, "m"))![1]!;
    const user = `setpriv --reuid=${value("User")} --regid=${value("Group")} --init-groups`;
    const start = `cd ${value("WorkingDirectory")}; umask ${value("UMask")}; ${user} ${value("ExecStart")}`;
    return Number(await this.must(`( ${start} ) >${log} 2>&1 </dev/null & echo $!`));
  }

  #command(args: readonly string[], stdin: "piped" | "null"): Deno.Command {
    const spaces = `/proc/${this.#holder.pid}/ns`;
    const where = [`--mount=${spaces}/mnt`, `--pid=${spaces}/pid_for_children`, "chroot", this.#root];
    return new Deno.Command("nsenter", {
      args: [...where, "env", "-i", "PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LANG=C.UTF-8", "HOME=/root", ...args],
      stdin,
      stdout: "piped",
      stderr: "piped",
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.sh("pkill -TERM -x jobs"); // sees the processes of the copy only
    await this.#holder.stdin.close();
    await this.#holder.status;
  }
}

const HANDLERS = `export function Greet(ctx, name) { return "Hello " + name; }\n`;

Deno.test("the Debian package installs, runs, upgrades without losing a job, and leaves jobs behind when removed", async () => {
  requireRoot();
  requireTool("systemd-analyze");
  await using built = await temporaryFolder();
  const [first, second] = [await makePackages(built.path, "0.1.0"), await makePackages(built.path, "0.2.0")];
  await using folder = await temporaryFolder();
  await using machine = await MachineCopy.make(folder.path);

  // Install.
  // The index of this machine's manual pages takes seconds of a processor after each of the four steps.
  await machine.must("rm -f /var/lib/man-db/auto-update");
  await machine.must("dpkg --purge jobs >/dev/null 2>&1; true");
  assertStringIncludes(
    await machine.must(`dpkg --install ${await machine.take(first)}`),
    "systemctl enable --now jobs",
  );
  assertEquals(
    await machine.must("stat -c %U:%G:%a /var/lib/jobs /etc/jobs/jobs.json"),
    "jobs:jobs:750\nroot:jobs:640",
  );
  assertEquals(await machine.must("dpkg --verify jobs"), "");
  const units = "/lib/systemd/system/jobs.service /lib/systemd/system/jobs@.service";
  assertEquals(await machine.must(`systemd-analyze verify --man=no ${units}`), "");
  assertMatch(await machine.must("zcat /usr/share/man/man1/jobs.1.gz"), /^\.TH JOBS 1/im);
  assertEquals(
    await machine.must("bash -c '. /usr/share/bash-completion/completions/jobs; jobs version'"),
    await machine.must("/usr/bin/jobs version"),
  );

  // The first command of root creates the store. It belongs to the service.
  await machine.must("env jobs push Greet early");
  assertEquals(await machine.must("stat -c %U:%G:%a /var/lib/jobs/jobs.db"), "jobs:jobs:600");

  // It is named on a terminal, where the user may expect another one. Scripts and cron get silence.
  const named = "jobs: the store is sqlite:/var/lib/jobs/jobs.db, from /etc/jobs/jobs.json";
  assertStringIncludes(await machine.must("script -qec 'env jobs push Other' /dev/null"), named);
  assertEquals((await machine.must("env jobs push Other")).includes(named), false);

  // Start as the unit does, and push from a shell into the same store.
  await machine.write("/etc/jobs/handlers/greet.js", HANDLERS);
  await machine.startUnit("/srv/first.log");
  const asJobs = (line: string) =>
    `setpriv --reuid=jobs --regid=jobs --init-groups env HOME=/var/lib/jobs bash -lc '${line}'`;
  assertEquals(await machine.must(asJobs("env jobs push Greet ann --wait 2>/dev/null")), '"Hello ann"');
  // From a folder that the service's user can't enter, such as root's home.
  await machine.must(`install -d -m 700 /srv/root && cd /srv/root && ${asJobs("env jobs stats")}`);

  // `jobs` is also a builtin of the shell: login shells have a function that distinguishes both.
  assertEquals(
    await machine.must(asJobs("jobs stats >/dev/null; sleep 9 & jobs -p >/tmp/pids; kill %1; wc -l </tmp/pids")),
    "1",
  );

  // Another user can't read the service's settings, and names a store.
  const asOther = (line: string) => `setpriv --reuid=65534 --regid=65534 --clear-groups env ${line}`;
  const { code, output } = await machine.sh(asOther("jobs stats"));
  assertEquals([code, output.split("\n").length], [2, 1], output);
  assertStringIncludes(output, "permission denied; run the command as its user (sudo -u jobs jobs …), name a store");
  await machine.must("install -d -o 65534 /srv/other");
  await machine.must(asOther("JOBS_STORE=sqlite:/srv/other/jobs.db jobs push Greet eve"));
  await machine.must(asOther("jobs stats --store sqlite:/srv/other/jobs.db"));

  // README's quickstart, word for word, as that user.
  const demo = "/srv/other/demo";
  await machine.must(asOther(`mkdir ${demo}`));
  const readme = await Deno.readTextFile(new URL("../../README.md", import.meta.url));
  const blocks = blocksOf(readme.split("\n## Quickstart\n")[1]!.split("\n## ")[0]!);
  for (const { file, text } of blocks) if (file) await machine.write(`${demo}/${file}`, text);
  const [start, push] = blocks.filter(({ isIgnored }) => !isIgnored).map(({ text }) => text.replace(/^\$ /, ""));
  await machine.write("/srv/start.sh", `cd ${demo}\n${start}\n`);
  await machine.write("/srv/push.sh", `cd ${demo}\n${push!.split("\n")[0]}\n`);
  await machine.must(asOther("sh /srv/start.sh >/srv/start.log 2>&1 </dev/null &"));
  await machine.must(`until grep -q Ready /srv/start.log; do sleep 0.1; done`);
  assertEquals(await machine.must(asOther("sh /srv/push.sh")), push!.split("\n")[1]);
  assertMatch(await machine.must(`ls ${demo}`), /^demo\.db$/m);

  // The documentation, the clients and the files for other programs.
  const shared =
    "/usr/share/jobs/clients/node/jobs_client.mjs /usr/share/jobs/prometheus/alerts.yml /usr/share/jobs/grafana/jobs.json";
  await machine.must(`ls ${shared} /usr/share/doc/jobs/README.md /usr/share/doc/jobs/docs/operate/runbook.md`);

  // Upgrade: the settings are kept, and so is a job that was pushed while no worker ran.
  await machine.must("pkill -TERM -x jobs; while pgrep --runstates R,S,D -x jobs; do sleep 0.1; done");
  await machine.must(asJobs("env jobs push Greet later"));
  await machine.must(`sed -i 's/{/{ "tag": "mine",/' /etc/jobs/jobs.json`);
  await machine.must(`dpkg --install --force-confold ${await machine.take(second)}`);
  assertStringIncludes(await machine.must("cat /etc/jobs/jobs.json"), '"tag": "mine"');
  assertEquals(await machine.must("dpkg-query -W -f '${Version}' jobs"), "0.2.0");
  await machine.startUnit("/srv/second.log");
  assertEquals(await machine.must(asJobs("env jobs push Greet again --wait 2>/dev/null")), '"Hello again"');
  await machine.must(`until ${asJobs("env jobs stats --json")} | grep -q '"processed": *4'; do sleep 0.1; done`);

  // Remove, and purge.
  await machine.must("pkill -TERM -x jobs; while pgrep --runstates R,S,D -x jobs; do sleep 0.1; done");
  await machine.must("dpkg --remove jobs");
  assertEquals(
    await machine.must("ls /usr/bin/jobs /lib/systemd/system/jobs* 2>/dev/null; ls /etc/jobs/jobs.json"),
    "/etc/jobs/jobs.json",
  );
  assertStringIncludes(await machine.must("dpkg --purge jobs"), "kept /var/lib/jobs");
  assertEquals(
    await machine.must("ls /etc/jobs/jobs.json 2>/dev/null; ls /var/lib/jobs/jobs.db"),
    "/var/lib/jobs/jobs.db",
  );
});
