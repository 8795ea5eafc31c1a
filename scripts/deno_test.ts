/** `scripts/deno.sh` and the launcher `jobs`, in a temporary project with a separate PATH. */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { join } from "node:path";

const PROJECT = new URL("../", import.meta.url);

/** The commands that the scripts call, besides those that a test puts on PATH. */
const TOOLS = ["sh", "cp", "dirname", "mkdir", "mktemp", "mv", "readlink", "rm", "uname"];

/** A folder with `jobs`, `scripts/deno.sh`, and a `bin/` as the only folder of PATH. */
class Sandbox implements AsyncDisposable {
  readonly root = Deno.makeTempDirSync({ prefix: "jobs toolchain " });

  static async create(): Promise<Sandbox> {
    const sandbox = new Sandbox();
    await Deno.mkdir(join(sandbox.root, "scripts"));
    await Deno.mkdir(join(sandbox.root, "bin"));
    for (const file of ["jobs", "scripts/deno.sh"]) {
      await Deno.copyFile(new URL(file, PROJECT), join(sandbox.root, file));
    }
    for (const tool of TOOLS) await Deno.symlink(await pathOf(tool), join(sandbox.root, "bin", tool));
    return sandbox;
  }

  /** Puts a command on PATH. */
  async command(name: string, script: string): Promise<void> {
    await Deno.writeTextFile(join(this.root, "bin", name), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  }

  /** An npm that "installs" a `deno` of the pinned version, and counts its calls. */
  async npm(): Promise<void> {
    await this.command(
      "npm",
      `echo once >>"${this.root}/npm-calls"
while [ "$1" != --prefix ]; do shift; done
mkdir -p "$2/node_modules/.bin"
printf '#!/bin/sh\\necho "2.8.3 %s/node_modules/.bin/deno"\\n' "$2" >"$2/node_modules/.bin/deno"
/bin/chmod 755 "$2/node_modules/.bin/deno"`,
    );
  }

  async run(command: string, args: readonly string[] = [], cwd: string = this.root, env: Record<string, string> = {}) {
    const child = new Deno.Command(join(this.root, command), {
      args: [...args],
      cwd,
      clearEnv: true,
      env: { PATH: join(this.root, "bin"), HOME: this.root, NO_COLOR: "1", ...env },
      stdout: "piped",
      stderr: "piped",
    }).spawn();
    const { code, stdout, stderr } = await child.output();
    const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes).trim();
    return { code, out: text(stdout), err: text(stderr), pid: child.pid };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Deno.remove(this.root, { recursive: true });
  }
}

async function pathOf(tool: string): Promise<string> {
  for (const folder of ["/usr/bin", "/bin"]) {
    const path = join(folder, tool);
    if (await Deno.stat(path).then(() => true, () => false)) return path;
  }
  throw new Error(`No "${tool}" in /usr/bin and /bin`);
}

Deno.test("uses the real binary behind a wrapper of Deno", async () => {
  await using sandbox = await Sandbox.create();
  await sandbox.command("deno", `"${Deno.execPath()}" "$@"`);
  const { out, err } = await sandbox.run("scripts/deno.sh");
  assertEquals(out, Deno.execPath(), err);
  assertEquals(await Deno.readTextFile(join(sandbox.root, ".deno/path")), Deno.execPath() + "\n");
});

Deno.test("ignores a Deno that is too old, too new or broken; uses a newer one of the same major version", async () => {
  await using sandbox = await Sandbox.create();
  await sandbox.npm();
  const pinned = join(sandbox.root, ".deno/deno-2.8.3");
  const answers: readonly [answer: string, used: string][] = [
    ["echo '2.8.2 /opt/deno'", pinned],
    ["echo '2.7.9 /opt/deno'", pinned],
    ["echo '1.46.3 /opt/deno'", pinned],
    ["echo '3.0.0 /opt/deno'", pinned],
    ["exit 1", pinned],
    ["echo '2.8.3 /opt/deno'", "/opt/deno"],
    ["echo '2.10.0 /opt/my deno'", "/opt/my deno"],
    ["echo '2.9.0-rc.1 /opt/deno'", "/opt/deno"],
  ];
  for (const [answer, used] of answers) {
    await sandbox.command("deno", answer);
    assertEquals((await sandbox.run("scripts/deno.sh")).out, used, answer);
  }
  await sandbox.command("deno", "echo '2.10.0 /opt/deno'");
  assertEquals((await sandbox.run("scripts/deno.sh", ["--pinned"])).out, pinned);
  assertEquals(await Deno.readTextFile(join(sandbox.root, "npm-calls")), "once\n", "npm is asked once");
});

Deno.test("concurrent calls all install it, and only the binary is left", async () => {
  await using sandbox = await Sandbox.create();
  await sandbox.npm();
  const pinned = join(sandbox.root, ".deno/deno-2.8.3");
  const results = await Promise.all([1, 2, 3, 4].map(() => sandbox.run("scripts/deno.sh")));
  for (const { out, err } of results) assertEquals(out, pinned, err);
  const kept = await Array.fromAsync(Deno.readDir(join(sandbox.root, ".deno")), (entry) => entry.name);
  assertEquals(kept.sort(), ["deno-2.8.3", "path"]);
});

Deno.test("without Deno and npm, one line names the cure", async () => {
  await using sandbox = await Sandbox.create();
  for (const command of ["scripts/deno.sh", "jobs"]) {
    const { code, out, err } = await sandbox.run(command);
    assertEquals([code, out], [1, ""]);
    assertMatch(err, /^Deno 2\.8\.3 or later .*npm.*$/);
  }
});

Deno.test("jobs runs from any folder and through links, in the working directory, as the started process", async () => {
  await using sandbox = await Sandbox.create();
  await sandbox.command("deno", `"${Deno.execPath()}" "$@"`);
  await Deno.writeTextFile(
    join(sandbox.root, "main.ts"),
    "console.log(JSON.stringify({ args: Deno.args, cwd: Deno.cwd(), pid: Deno.pid })); Deno.exit(3);",
  );
  const elsewhere = join(sandbox.root, "else where");
  await Deno.mkdir(elsewhere);
  await Deno.symlink("../jobs", join(elsewhere, "jobs"));
  await Deno.symlink(join(elsewhere, "jobs"), join(sandbox.root, "bin/jobs"));
  const args = ["push", "a b", "", "--x=*"];
  for (const command of ["jobs", "else where/jobs", "bin/jobs"]) {
    const { code, out, err, pid } = await sandbox.run(command, args, elsewhere);
    assert(out, err);
    assertEquals(JSON.parse(out), { args, cwd: await Deno.realPath(elsewhere), pid }, command);
    assertEquals(code, 3);
  }
});

Deno.test("the first start copies the lock file for child processes, and later starts update the copy", async () => {
  await using sandbox = await Sandbox.create();
  await sandbox.command("deno", `"${Deno.execPath()}" "$@"`);
  await Deno.writeTextFile(join(sandbox.root, "main.ts"), "");
  const lock = join(sandbox.root, "deno.lock");
  const copy = join(sandbox.root, ".deno/lock");
  for (const [i, [command, ...args]] of [["scripts/deno.sh"], ["scripts/deno.sh", "--lock"], ["jobs"]].entries()) {
    const text = `{ "version": "5", "remote": { "https://example.com/${i}": "" } }`;
    await Deno.writeTextFile(lock, text);
    if (i > 0) await Deno.utime(copy, 1, 1);
    const { code, err } = await sandbox.run(command!, args);
    assertEquals([code, err], [0, ""]);
    assertEquals(await Deno.readTextFile(copy), text, command);
  }
  await Deno.writeTextFile(copy, '{ "version": "5" }');
  for (const command of ["scripts/deno.sh", "jobs"]) await sandbox.run(command);
  assertEquals(await Deno.readTextFile(copy), '{ "version": "5" }', "what was locked since stays");
  const kept = await Array.fromAsync(Deno.readDir(join(sandbox.root, ".deno")), (entry) => entry.name);
  assertEquals(kept.sort(), ["cache", "lock", "path"]);
});

Deno.test("a lock file that can't be copied is reported, and doesn't prevent the start", async () => {
  await using sandbox = await Sandbox.create();
  await sandbox.command("deno", `"${Deno.execPath()}" "$@"`);
  await Deno.writeTextFile(join(sandbox.root, "main.ts"), 'console.log("runs");');
  await Deno.writeTextFile(join(sandbox.root, "deno.lock"), '{ "version": "5" }');
  await Deno.remove(join(sandbox.root, "bin/cp"));
  await sandbox.command("cp", 'echo half >"$2"; echo "cp: no space" >&2; exit 1');
  assertEquals(await sandbox.run("scripts/deno.sh").then(({ code, out, err }) => [code, out, err]), [
    ...[0, Deno.execPath(), "cp: no space"],
  ]);
  const { code, out } = await sandbox.run("jobs");
  assertEquals([code, out], [0, "runs"]);
  assertEquals((await Array.fromAsync(Deno.readDir(join(sandbox.root, ".deno")), ({ name }) => name)).sort(), [
    ...["cache", "path"],
  ]);
});

Deno.test("jobs keeps what Deno downloads in the project for each user and HOME, unless DENO_DIR is set", async () => {
  await using sandbox = await Sandbox.create();
  await sandbox.command("deno", `"${Deno.execPath()}" "$@"`);
  await Deno.writeTextFile(join(sandbox.root, "main.ts"), 'console.log(Deno.env.get("DENO_DIR"));');
  const cache = join(await Deno.realPath(sandbox.root), ".deno/cache");
  for (const HOME of [sandbox.root, "/nonexistent"]) {
    assertEquals((await sandbox.run("jobs", [], "/", { HOME })).out, cache);
  }
  assertEquals(
    (await sandbox.run("jobs", [], "/", { DENO_DIR: `${sandbox.root}/other` })).out,
    `${sandbox.root}/other`,
  );
});

Deno.test("every task that starts processes of jobs copies the lock file first", async () => {
  const { tasks } = JSON.parse(await Deno.readTextFile(new URL("deno.json", PROJECT)));
  const starting = Object.keys(tasks).filter((name) => /\b(examples|tests)\//.test(tasks[name].command));
  assert(starting.includes("demo") && starting.includes("bench"), starting.join(" "));
  for (const name of starting) assertMatch(tasks[name].command, /^scripts\/deno\.sh --lock && /, name);
});
