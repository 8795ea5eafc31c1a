/** The folder of a bench: where it is created, and its removal after a bench that was killed. */
import { assert, assertEquals, assertRejects } from "@std/assert";
import { StoreError } from "../src/store/port/errors.ts";
import { openScratch, openStore, type ScratchOptions } from "../src/store/open.ts";
import { jobsCommand } from "./support/command.ts";
import { until } from "./support/eventually.ts";
import { jobs, temporaryFolder } from "./support/process.ts";

const options: ScratchOptions = { queue: "jobs-bench", warn: () => {} };

async function contents(path: string): Promise<string[]> {
  return (await Array.fromAsync(Deno.readDir(path))).map(({ name }) => name).sort();
}

/** Makes a folder a day old. */
async function age(path: string): Promise<void> {
  const time = (await Deno.stat(path)).mtime!.getTime() / 1_000 - 86_400;
  await Deno.utime(path, time, time);
}

Deno.test("bench creates the folder of the default store, but not of another store", async () => {
  await using folder = await temporaryFolder();
  const here = { cwd: folder.path, env: { XDG_STATE_HOME: folder.path, JOBS_STORE: "" } };
  const mistyped = await jobs(["bench", "--jobs", "1", "--store", `sqlite:${folder.path}/no/such.db`], here);
  assertEquals([mistyped.code, mistyped.stdout, mistyped.stderr], [
    1,
    "",
    `jobs: No folder "${folder.path}/no" to measure in; use the address of a store\n`,
  ]);
  assertEquals(await contents(folder.path), []);
  const unnamed = await jobs(["bench", "--jobs", "1"], here);
  assertEquals(unnamed.code, 0, unnamed.stderr);
  assertEquals([await contents(folder.path), await contents(`${folder.path}/jobs`)], [["jobs"], []]);
});

Deno.test("a later bench removes the folder of a killed one, and nothing else", async () => {
  await using folder = await temporaryFolder();
  const store = `sqlite:${folder.path}/jobs.db`;
  const [program, ...first] = jobsCommand();
  const child = new Deno.Command(program, {
    args: [...first, "bench", "--jobs", "2000000", "--store", store],
    stdin: "null",
    stdout: "null",
    stderr: "null",
  }).spawn();
  await until(async () => (await contents(folder.path)).length === 1);
  const left = `${folder.path}/${(await contents(folder.path))[0]}`;
  await until(async () => (await contents(left)).includes("jobs.db-wal"));
  await age(left);
  // The bench is running, however old its folder is.
  await using other = await openScratch(store, options);
  assertEquals((await contents(folder.path)).length, 2);
  child.kill("SIGKILL");
  await child.status;
  // A new folder with such a name, which may belong to another bench.
  await Deno.mkdir(`${folder.path}/jobs-bench-young`);
  await Deno.mkdir(`${folder.path}/other`);
  for (const path of ["other", other.url.split("/").at(-2)!]) await age(`${folder.path}/${path}`);
  await age(left);
  {
    await using third = await openScratch(store, options);
    await (await openStore(third.url))[Symbol.asyncDispose]();
  }
  const rest = await contents(folder.path);
  assert(!rest.includes(left.split("/").at(-1)!));
  assertEquals(rest, ["jobs-bench-young", "other", other.url.split("/").at(-2)!].sort());
});

Deno.test("a place where a bench can't measure is one clear error", async () => {
  await using folder = await temporaryFolder();
  await Deno.writeTextFile(`${folder.path}/file`, "");
  const url = `sqlite:${folder.path}/file/jobs.db`;
  for (const create of [true, false]) {
    const error = await assertRejects(() => openScratch(url, { ...options, create }), StoreError, "next to");
    assertEquals(error.code, "denied");
  }
  assertEquals(await contents(folder.path), ["file"]);
});
