/** How `.ci/run` reads the output of `make test`, and the workflow of a public forge. */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { join } from "node:path";
import { parseYaml } from "../src/config/yaml.ts";

/** Runs it over a Makefile whose `test` does `recipe`, and whose `test-long` does `long`. */
async function ciRun(
  recipe: string,
  long = 'echo "1 passed, 0 failed"',
): Promise<{ success: boolean; output: string; lastLine: string | undefined }> {
  const root = await Deno.makeTempDir({ prefix: "jobs-ci-" });
  try {
    await Deno.mkdir(join(root, ".ci"));
    await Deno.copyFile(new URL("../.ci/run", import.meta.url), join(root, ".ci/run"));
    await Deno.writeTextFile(join(root, "Makefile"), `test:\n\t@${recipe}\ntest-long:\n\t@${long}\n`);
    const { success, stdout } = await new Deno.Command(join(root, ".ci/run"), { cwd: "/" }).output();
    const output = new TextDecoder().decode(stdout);
    return { success, output, lastLine: output.trimEnd().split("\n").at(-1) };
  } finally {
    await Deno.remove(root, { recursive: true });
  }
}

Deno.test("adds up the totals of both runs in its last line", async () => {
  const { success, output, lastLine } = await ciRun(
    `echo "ok a_test.ts 5 passed"; printf '\\033[32m12 passed, 0 failed\\033[0m\\n'`,
  );
  assertEquals([success, lastLine], [true, "13 passed, 0 failed"]);
  assertStringIncludes(output, "ok a_test.ts 5 passed");
});

Deno.test("exits 1 when a test failed", async () => {
  const failing = 'echo "6 passed, 2 failed"; exit 1';
  for (const [recipe, long] of [[failing, undefined], ['echo "1 passed, 0 failed"', failing]] as const) {
    const { success, lastLine } = await ciRun(recipe, long);
    assertEquals([success, lastLine], [false, "7 passed, 2 failed"]);
  }
});

Deno.test("counts a run that was refused, a crash, and a run without tests as one failure", async () => {
  for (
    const [recipe, expected] of [
      [`echo "9 passed, 0 failed, 3 skipped"; exit 1`, "10 passed, 1 failed"],
      [`printf "error: Type checking failed."; exit 1`, "1 passed, 1 failed"],
      ["true", "1 passed, 1 failed"],
    ] as const
  ) {
    const { success, lastLine } = await ciRun(recipe);
    assertEquals([success, lastLine], [false, expected], recipe);
  }
});

Deno.test("ends a process that a test left behind instead of waiting for it", async () => {
  const { output, lastLine } = await ciRun(`sleep 600 & echo "left $$!"; echo "1 passed, 0 failed"`);
  assertEquals(lastLine, "2 passed, 0 failed");
  const pid = output.match(/^left (\d+)$/m)?.[1];
  while (await runs(pid!)) await new Promise((resolve) => setTimeout(resolve, 5));
});

Deno.test("begins with an empty home and empty caches, and keeps the user's settings of npm and Git", async () => {
  const { output } = await ciRun('ls -A "$$HOME"; env; echo "1 passed, 0 failed"');
  const env = new Map(output.split("\n").map((line) => line.split("=", 2) as [string, string]));
  const home = Deno.env.get("HOME");
  assertEquals([env.get("NPM_CONFIG_USERCONFIG"), env.get("GIT_CONFIG_GLOBAL")], [
    Deno.env.get("NPM_CONFIG_USERCONFIG") ?? `${home}/.npmrc`,
    Deno.env.get("GIT_CONFIG_GLOBAL") ?? `${home}/.gitconfig`,
  ]);
  for (const name of ["HOME", "DENO_DIR", "XDG_CACHE_HOME"]) {
    assert(env.get(name) !== Deno.env.get(name), name);
    // It was removed with the run.
    assertEquals(await Deno.stat(env.get(name)!).then(() => true, () => false), false, name);
  }
});

/** The part of a workflow that the test reads. */
interface Workflow {
  readonly on: { readonly push: Readonly<Record<"branches" | "tags", readonly string[]>> };
  readonly jobs: Readonly<Record<string, { if?: string; steps: readonly { run?: string; uses?: string }[] }>>;
}

Deno.test("the workflow names targets of the Makefile, and pins its actions by commit", async () => {
  const read = (path: string) => Deno.readTextFile(new URL(`../${path}`, import.meta.url));
  const { on, jobs } = parseYaml(await read(".github/workflows/ci.yml")) as unknown as Workflow;
  assertEquals(on.push, { branches: ["**"], tags: ["v*"] });
  assertEquals(jobs["release"]?.if, "startsWith(github.ref, 'refs/tags/v')");
  const makefile = await read("Makefile");
  const targets = [...makefile.matchAll(/^([a-z-]+):(?!=)/gm)].map(([, target]) => target!);
  const made = (job: string) =>
    jobs[job]!.steps.flatMap(({ run = "" }) => [...run.matchAll(/\bmake ([a-z-]+)/g)].map(([, target]) => target!));
  assertEquals([made("test"), made("release")], [["test", "test-long", "bench-guard"], ["release"]]);
  assertEquals(Object.keys(jobs).flatMap(made).filter((target) => !targets.includes(target)), []);
  // Variables of the environment reach the Makefile.
  assert(makefile.includes("$(TARGETS)"));
  for (const { uses } of Object.values(jobs).flatMap(({ steps }) => steps)) {
    if (uses !== undefined) assertMatch(uses, /@[0-9a-f]{40}$/);
  }
});

/** Returns whether process `pid` exists and isn't a zombie. */
async function runs(pid: string): Promise<boolean> {
  const stat = await Deno.readTextFile(`/proc/${pid}/stat`).catch(() => "");
  return stat !== "" && !/\) Z /.test(stat);
}
