/** The selection of `make test CHANGED=…`, in a small repository. */
import { assertEquals, assertRejects } from "@std/assert";
import { dirname, join } from "node:path";
import { outputOf } from "../deno_command.ts";
import { changedTests } from "./changed.ts";

const START = 'import "../support/command.ts";\n';
const FILES: Readonly<Record<string, string>> = {
  "src/job/time.ts": "export const a = 1;\n",
  "src/cron/entries.ts": 'export * from "../job/time.ts";\n',
  "src/cron/entries_test.ts": 'import "./entries.ts";\n',
  "src/job/time_test.ts": 'import type { a } from "./time.ts";\nexport type B = typeof a;\n',
  "src/other_test.ts": "",
  "tests/support/command.ts": "",
  "tests/server/cron_test.ts": START,
  "tests/server/entries_list_test.ts": START,
  "tests/server/pause_test.ts": START,
  "tests/cli/push_test.ts": START,
  "lint/a_test.ts": "",
  "scripts/a_test.ts": "",
};

/** A repository with the files, in one commit. */
async function repository() {
  const root = await Deno.makeTempDir({ prefix: "jobs-changed-" });
  const write = async (path: string, text: string) => {
    await Deno.mkdir(dirname(join(root, path)), { recursive: true });
    await Deno.writeTextFile(join(root, path), text);
  };
  for (const [path, text] of Object.entries(FILES)) await write(path, text);
  const user = ["-c", "user.name=a", "-c", "user.email=a@example.com"];
  for (const args of [["init", "--quiet", "--initial-branch=main"], ["add", "."], ["commit", "--quiet", "-m", "a"]]) {
    const { success, stderr } = await outputOf(["git", "-C", root, ...user, ...args]);
    assertEquals([success, stderr], [true, ""]);
  }
  return { root, write, [Symbol.asyncDispose]: () => Deno.remove(root, { recursive: true }) };
}

Deno.test("selects the tests that import a changed file, nearest first, and those of the program that have its name", async () => {
  await using repo = await repository();
  assertEquals(await changedTests(repo.root, "main", {}), { changed: [], files: [], left: [] });
  await repo.write("src/job/time.ts", "export const a = 2;\n");
  const { changed, files, left } = await changedTests(repo.root, "main", {});
  assertEquals([changed, left], [["src/job/time.ts"], []]);
  assertEquals(files, ["src/job/time_test.ts", "tests/cli/push_test.ts", "src/cron/entries_test.ts"]);
});

Deno.test("selects new files and changed tests, and names the files that take too long", async () => {
  await using repo = await repository();
  await repo.write("src/cron/entries.ts", "export const b = 1;\n");
  await repo.write("tests/server/new_test.ts", "");
  const slow = {
    "src/cron/entries_test.ts": { seconds: 1, cpu: 149 },
    "tests/server/entries_list_test.ts": { seconds: 1, cpu: 2 },
  };
  assertEquals(await changedTests(repo.root, "main", slow), {
    changed: ["src/cron/entries.ts", "tests/server/new_test.ts"],
    files: ["tests/server/new_test.ts", "src/cron/entries_test.ts"],
    left: ["tests/cli/push_test.ts", "tests/server/cron_test.ts", "tests/server/entries_list_test.ts"],
  });
});

Deno.test("refuses a commit that doesn't exist, with what was expected", async () => {
  await using repo = await repository();
  await assertRejects(
    () => changedTests(repo.root, "nowhere", {}),
    Error,
    "Invalid CHANGED=nowhere: expected a commit, for example main.",
  );
});
