import { assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { FakeClock } from "../../../tests/support/clock.ts";
import { StoreError } from "../port/errors.ts";
import { FileGuard } from "./file_guard.ts";

async function lab() {
  const dir = await Deno.makeTempDir({ prefix: "jobs-test-" });
  const path = `${dir}/jobs.db`;
  await Deno.writeTextFile(path, "ours");
  const clock = new FakeClock();
  const file = new FileGuard(path, clock);
  return { dir, path, clock, file, [Symbol.asyncDispose]: () => Deno.remove(dir, { recursive: true }) };
}

/** Returns the error of the next check. */
async function problemOf({ clock, file }: { clock: FakeClock; file: FileGuard }): Promise<string> {
  await clock.advance(1_000);
  const error = assertThrows(() => file.check(), StoreError);
  assertEquals(error.code, "gone");
  return error.message;
}

const NOW = "restart this program to use the current file";

Deno.test("check fails after the file, or its folder, was deleted or moved", async () => {
  for (const away of ["delete", "move", "folder"]) {
    await using t = await lab();
    if (away === "delete") await Deno.remove(t.path);
    if (away === "move") await Deno.rename(t.path, `${t.path}.old`);
    if (away === "folder") await Deno.rename(t.dir, `${t.dir}.old`);
    assertEquals(
      await problemOf(t),
      `The file of store "${t.path}" was deleted or moved away while it was in use, and nothing more is stored; ${NOW}`,
    );
    if (away === "folder") await Deno.rename(`${t.dir}.old`, t.dir);
  }
});

Deno.test("check fails after another file with the same content has replaced the file", async () => {
  await using t = await lab();
  await Deno.copyFile(t.path, `${t.path}.copy`);
  await Deno.rename(`${t.path}.copy`, t.path);
  assertEquals(
    await problemOf(t),
    `The file of store "${t.path}" was replaced by another while it was in use, and nothing more is stored; ${NOW}`,
  );
});

Deno.test("check reads the files at most once a second, and succeeds again when the file is back", async () => {
  await using t = await lab();
  await Deno.rename(t.path, `${t.path}.old`);
  await t.clock.advance(999);
  t.file.check();
  await problemOf(t);
  await Deno.rename(`${t.path}.old`, t.path);
  assertThrows(() => t.file.check(), StoreError, "deleted", "as it was at the last check");
  await t.clock.advance(1_000);
  t.file.check();
});

Deno.test("check ignores writes to the file, and a store in memory", async () => {
  await using t = await lab();
  await Deno.writeTextFile(t.path, "more", { append: true });
  await t.clock.advance(1_000);
  t.file.check();
  const memory = new FileGuard(":memory:", t.clock);
  await t.clock.advance(1_000);
  memory.check();
});

Deno.test("check covers the log and its index, also next to the target of a symbolic link", async () => {
  for (const end of ["-wal", "-shm"]) {
    for (const way of ["deleted or moved away", "replaced by another"]) {
      await using t = await lab();
      for (const end of ["-wal", "-shm"]) await Deno.writeTextFile(t.path + end, "");
      await Deno.symlink(t.path, `${t.dir}/link.db`);
      const linked = new FileGuard(`${t.dir}/link.db`, t.clock);
      const file = new FileGuard(t.path, t.clock);
      await Deno.rename(t.path + end, `${t.path}.old`);
      assertEquals(file.isReplaced(), false);
      if (way.startsWith("replaced")) await Deno.writeTextFile(t.path + end, "");
      assertEquals(file.isReplaced(), way.startsWith("replaced"));
      assertStringIncludes(
        await problemOf({ ...t, file }),
        `The file ${end} of store "${t.path}" was ${way} while it was in`,
      );
      assertStringIncludes(
        await problemOf({ ...t, file: linked }),
        `The file ${end} of store "${t.dir}/link.db" was ${way}`,
      );
    }
  }
});

Deno.test("check looks no more at the files of a closed database, whose log is deleted with the end of its last connection", async () => {
  await using t = await lab();
  await Deno.rename(t.path, `${t.path}.old`);
  t.file.stop();
  await t.clock.advance(1_000);
  t.file.check();
  await Deno.rename(`${t.path}.old`, t.path);
});
