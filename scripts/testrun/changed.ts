/**
 * The test files that a change can break: `make test CHANGED=main`.
 *
 * @module
 */
import { basename, dirname, join, relative } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { denoCommand, outputOf } from "../deno_command.ts";
import { testFiles } from "./plan.ts";
import type { Timings } from "./timings.ts";

/** The selected files take at most about this long, in seconds of a processor. */
const MAX_CPU_SECONDS = 150;

/** Files that start the program and use most of it: they run after each change of it. */
const SMOKE = ["tests/cli/push_test.ts", "tests/server/ending_test.ts", "tests/server/stopping_test.ts"];

/** A test file that starts the program, rather than importing it, has this among its imports. */
const STARTS_PROGRAM = "tests/support/command.ts";

/** The selection for a change. */
export interface ChangedTests {
  readonly changed: readonly string[];
  readonly files: readonly string[];
  /** Files that the change may break, too, but that did not fit. */
  readonly left: readonly string[];
}

/**
 * Returns the tests for what differs from a commit, uncommitted and new files included. The nearest come first: test files that changed, those
 * that import a changed file, by the number of imports in between, then those that start the program and have a word of a changed file's name
 * in theirs.
 *
 * @throws {Error} if the commit doesn't exist
 */
export async function changedTests(root: string, ref: string, timings: Timings): Promise<ChangedTests> {
  const changed = await changedFiles(root, ref);
  const tests = (await Promise.all(["tests", "src", "lint", "scripts"].map((folder) => testFiles(root, folder))))
    .flat();
  const distances = distancesFrom(changed, await importers(root, tests));
  const near = tests.filter((file) => distances.has(file)).toSorted((a, b) => distances.get(a)! - distances.get(b)!);
  const imported = distancesFrom([STARTS_PROGRAM], await importers(root, tests));
  const touchesProgram = changed.some((file) => file.startsWith("src/") || file === "main.ts");
  const words = new Set(changed.filter((file) => file.startsWith("src/")).flatMap(wordsOf));
  const named = touchesProgram
    ? tests.filter((file) =>
      imported.has(file) && (SMOKE.includes(file) || wordsOf(file).some((word) => words.has(word)))
    )
    : [];
  return {
    changed,
    ...fitting([...new Set([...near.filter((file) => distances.get(file)! <= 1), ...named, ...near])], timings),
  };
}

/** Divides the files into those that fit into the time, and the rest. */
function fitting(files: readonly string[], timings: Timings): { files: string[]; left: string[] } {
  const selected: { files: string[]; left: string[] } = { files: [], left: [] };
  let seconds = 0;
  for (const file of files) {
    const more = timings[file]?.cpu ?? 1;
    const fits = seconds + more <= MAX_CPU_SECONDS;
    if (fits) seconds += more;
    (fits ? selected.files : selected.left).push(file);
  }
  return selected;
}

/** The words of a path by which a subject is found: `src/store/sql/cron_writes.ts` has `cron` and `writes`. */
function wordsOf(path: string): string[] {
  const name = basename(path).replace(/(_test)?\.\w+$/, "");
  return [...name.split("_"), basename(dirname(path))].filter((word) => word.length > 3).map((word) =>
    word.replace(/s$/, "")
  );
}

async function changedFiles(root: string, ref: string): Promise<string[]> {
  const git = async (...args: string[]) => {
    const { success, stdout, stderr } = await outputOf(["git", "-C", root, ...args]);
    if (!success) throw new Error(`Invalid CHANGED=${ref}: expected a commit, for example main. ${stderr.trim()}`);
    return stdout.split("\n").filter((line) => line !== "");
  };
  const [base = ref] = await git("merge-base", ref, "HEAD");
  return [...await git("diff", "--name-only", base), ...await git("ls-files", "--others", "--exclude-standard")];
}

/** Returns the importers of each file of the project, by path, that the tests lead to. */
async function importers(root: string, tests: readonly string[]): Promise<Map<string, Set<string>>> {
  const folder = await Deno.makeTempDir({ prefix: "jobs-changed-" });
  try {
    const all = join(folder, "all.ts");
    await Deno.writeTextFile(
      all,
      tests.map((file) => `import ${JSON.stringify(pathToFileURL(join(root, file)))};\n`).join(""),
    );
    const { stdout } = await outputOf(denoCommand("info", "--json", all), { cwd: root });
    return importersIn(JSON.parse(stdout), root);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

/** The part of the output of `deno info --json` that this reads. */
interface Graph {
  readonly modules: readonly {
    readonly specifier: string;
    readonly dependencies?: readonly {
      readonly code?: { readonly specifier: string };
      readonly type?: { readonly specifier: string };
    }[];
  }[];
}

function importersIn({ modules }: Graph, root: string): Map<string, Set<string>> {
  const pathOf = (specifier: string) =>
    specifier.startsWith("file:") ? relative(root, fileURLToPath(specifier)) : specifier;
  const found = new Map<string, Set<string>>();
  for (const { specifier, dependencies = [] } of modules) {
    for (const { code, type } of dependencies) {
      const to = code ?? type;
      if (to === undefined) continue;
      const path = pathOf(to.specifier);
      found.set(path, (found.get(path) ?? new Set()).add(pathOf(specifier)));
    }
  }
  return found;
}

/** Returns how many imports lie between each file and the nearest of `files`. */
function distancesFrom(
  files: readonly string[],
  importers: ReadonlyMap<string, ReadonlySet<string>>,
): Map<string, number> {
  const distances = new Map(files.map((file) => [file, 0]));
  for (const [file, distance] of distances) {
    for (const importer of importers.get(file) ?? []) {
      if (!distances.has(importer)) distances.set(importer, distance + 1);
    }
  }
  return distances;
}
