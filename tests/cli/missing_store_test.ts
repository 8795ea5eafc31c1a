/** Commands on a store that doesn't exist: which create it, and which fail. */
import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { jobs, temporaryFolder } from "../support/process.ts";

/** All files and folders in a folder, at any depth. */
async function contents(path: string): Promise<string[]> {
  return (await Array.fromAsync(Deno.readDir(path))).map(({ name }) => name).sort();
}

const LOOKING: readonly (readonly string[])[] = [
  ["stats"],
  ["queues"],
  ["show", "x"],
  ["find", "x"],
  ["workers"],
  ["top", "--once"],
  ["retry", "x"],
  ["kill", "--all", "retrying"],
  ["list", "dead"],
  ["errors"],
  ["move", "x", "--to", "low"],
  ["backup", "to.db"],
  ["delete", "--all", "dead"],
  ["cancel", "x"],
  ["clear", "x", "--yes"],
  ["pause", "x"],
  ["resume", "x"],
  ["stop", "--all"],
  ["cron", "list"],
  ["cron", "remove", "x"],
  ["doctor", "--ready"],
];

Deno.test("creates no store at a mistyped address", async () => {
  await using folder = await temporaryFolder();
  for (const command of LOOKING) {
    const { code, stdout, stderr } = await jobs([...command, "--store", "sqlite:no/such.db"], { cwd: folder.path });
    assertEquals([code, stdout], [1, ""], command.join(" "));
    assertMatch(
      stderr,
      /^jobs: (not ready: )?No store at "[^"]*no\/such\.db"; .*\n$/,
      command.join(" "),
    );
  }
  const move = await jobs(["migrate", "--from", "sqlite:none.db", "--to", "sqlite:to.db"], { cwd: folder.path });
  assertEquals(move.code, 1);
  assertStringIncludes(move.stderr, '/none.db"; use the address');
  const doctor = await jobs(["doctor", "--store", "sqlite:none.db"], { cwd: folder.path });
  assertStringIncludes(doctor.stdout, 'no store at "sqlite:none.db" yet');
  assertEquals(await contents(folder.path), []);
});

Deno.test("creates the store with the first push or cron entry", async () => {
  for (
    const command of [
      ["push", "Noop"],
      ["push", "--bulk", "-"],
      ["cron", "add", "nightly", "Noop", "--rule", "0 3 * * *"],
    ]
  ) {
    await using folder = await temporaryFolder();
    const made = await jobs([...command, "--store", "sqlite:a/b.db"], {
      cwd: folder.path,
      ...(command.includes("-") && { stdin: '{"class":"Noop","args":[]}\n' }),
    });
    assertEquals(made.code, 0, made.stderr);
    assertEquals(await contents(`${folder.path}/a`), ["b.db"]);
  }
});

Deno.test("treats a missing default store as empty", async () => {
  await using folder = await temporaryFolder();
  const here = { cwd: folder.path, env: { XDG_STATE_HOME: folder.path, JOBS_STORE: "" } };
  assertMatch((await jobs(["stats"], here)).stdout, /^queued +0$/m);
  assertEquals((await jobs(["queues"], here)).code, 0);
  assertEquals((await jobs(["find", "x"], here)).code, 1);
  assertEquals((await jobs(["doctor"], here)).code, 0);
  assertEquals(await contents(folder.path), []);
  assertEquals((await jobs(["pause", "low"], here)).code, 0);
  assertEquals(JSON.parse((await jobs(["queues", "--json"], here)).stdout).queues[0].paused, true);
});

Deno.test("the default store is in the user's home, however that is written, never in the working directory", async () => {
  await using folder = await temporaryFolder();
  const cwd = `${folder.path}/cwd`;
  await Deno.mkdir(cwd);
  const deno = Deno.env.get("DENO_DIR") ?? `${Deno.env.get("HOME")}/.cache/deno`;
  const run = (command: string[], env: Record<string, string>) =>
    jobs(command, { cwd, env: { DENO_DIR: deno, XDG_STATE_HOME: "", JOBS_STORE: "", ...env } });
  for (const name of ["a b", "a?durability=x", "a%20", "a#b"]) {
    const home = `${folder.path}/${name}`;
    const { code, stderr } = await run(["push", "A"], { HOME: `${home}//` });
    assertEquals(code, 0, stderr);
    assertEquals((await Deno.stat(`${home}/.local/state/jobs/jobs.db`)).isFile, true);
  }
  for (const HOME of ["", "relative", "./"]) {
    const { code, stdout, stderr } = await run(["push", "A"], { HOME, XDG_STATE_HOME: "also/relative" });
    assertEquals([code, stdout], [2, ""]);
    assertMatch(
      stderr,
      /^jobs: No store is set, and HOME is .*: expected an absolute path; name the store with --store/,
    );
  }
  const { stdout } = await run(["doctor"], { HOME: "/" });
  assertStringIncludes(stdout, "sqlite:/.local/state/jobs/jobs.db");
  assertEquals(await contents(cwd), []);
});
