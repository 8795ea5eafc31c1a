/** Commands on a store that is not there: who makes it, and who says so. */
import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { jobs, temporaryFolder } from "../support/process.ts";

/** Everything in a folder, at any depth. */
async function contents(path: string): Promise<string[]> {
  return (await Array.fromAsync(Deno.readDir(path))).map(({ name }) => name).sort();
}

const LOOKING: readonly (readonly string[])[] = [
  ["stats"],
  ["list", "queues"],
  ["show", "x"],
  ["find", "x"],
  ["ps"],
  ["top", "--once"],
  ["retry", "x"],
  ["kill", "--all", "retry"],
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

Deno.test("a command that looks, or acts on what is there, makes no store of a mistyped address", async () => {
  await using folder = await temporaryFolder();
  for (const command of LOOKING) {
    const { code, stdout, stderr } = await jobs([...command, "--store", "sqlite:no/such.db"], { cwd: folder.path });
    assertEquals([code, stdout], [1, ""], command.join(" "));
    assertMatch(
      stderr,
      /^jobs: (not ready: )?There is no store at "\/.*\/no\/such\.db"; give the address of one that is there, or have jobs run or jobs push make it\n$/,
      command.join(" "),
    );
  }
  const move = await jobs(["move", "--from", "sqlite:none.db", "--to", "sqlite:to.db"], { cwd: folder.path });
  assertEquals(move.code, 1);
  assertStringIncludes(move.stderr, '/none.db"; give the address');
  const doctor = await jobs(["doctor", "--store", "sqlite:none.db"], { cwd: folder.path });
  assertStringIncludes(doctor.stdout, 'there is none at "sqlite:none.db" yet');
  assertEquals(await contents(folder.path), []);
});

Deno.test("whoever puts something in makes the store", async () => {
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

Deno.test("the embedded default, where nothing is yet, is empty, and is made by who puts something in", async () => {
  await using folder = await temporaryFolder();
  const here = { cwd: folder.path, env: { XDG_STATE_HOME: folder.path, JOBS_STORE: "" } };
  assertMatch((await jobs(["stats"], here)).stdout, /^enqueued +0$/m);
  assertEquals((await jobs(["list", "queues"], here)).code, 0);
  assertEquals((await jobs(["find", "x"], here)).code, 1);
  assertEquals((await jobs(["doctor"], here)).code, 0);
  assertEquals(await contents(folder.path), []);
  assertEquals((await jobs(["pause", "low"], here)).code, 0);
  assertEquals(JSON.parse((await jobs(["list", "queues", "--json"], here)).stdout)[0].paused, true);
});
