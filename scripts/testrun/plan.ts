/**
 * The commands of a run, in the order in which they start.
 *
 * @module
 */
import { join, relative } from "node:path";
import { pathToFileURL } from "node:url";

/** One command of a run. */
export interface Task {
  /** Its name in progress lines and the summary. */
  readonly name: string;
  readonly kind: "check" | "tests";
  /** Arguments of `deno`. */
  readonly args: readonly string[];
  /** Runs alone. */
  readonly alone: boolean;
}

/** The selection of `make test` and `make check`. */
export interface Selection {
  /** Run the checks, without any tests. */
  readonly checksOnly: boolean;
  /** A part of a test file's path, or of tests' titles if no path contains it. */
  readonly filter: string | undefined;
  /** The folder for generated modules. */
  readonly into: string;
}

/** The checks, which run no tests. */
const CHECKS: readonly (readonly [name: string, args: readonly string[]])[] = [
  ["types", ["check"]],
  ["documentation's examples", [
    "test",
    "--no-check",
    "-A",
    "--doc",
    "--ignore=**/*_test.ts",
    "src",
    "README.md",
    "docs",
  ]],
  ["lint", ["lint", "--quiet"]],
  ["format", ["fmt", "--check", "--quiet"]],
  ["words of the pages", ["run", "--allow-read=.", "lint/words_files.ts"]],
  // Also a check: a new log message needs its section on the page in the same commit.
  ["messages on the troubleshooting page", ["test", "--no-check", "-A", "tests/docs/troubleshooting_test.ts"]],
  ["public documentation", ["doc", "--lint", "src/mod.ts", "src/testing/mod.ts", "src/types.ts"]],
];

/**
 * Folders whose tests start no `jobs` processes. One command runs each folder, as one module that imports all of its test files:
 * they share the loaded program, which takes longer to load than most of them take to run.
 */
const UNIT_FOLDERS = ["src", "lint", "scripts"];

/** Files that take longest start first, so that none of them is left for the end: path prefixes, longest first. */
const SLOW_FIRST = [
  "tests/store_postgres_test",
  "tests/soak/",
  "tests/binary/",
  "tests/server/cron",
  "tests/library/",
  "tests/cli/long_work",
  "tests/server/timeouts",
  "tests/chaos/",
  "tests/clients/worker_",
  "tests/cli/incidents",
  "tests/store_redis_test",
  "tests/store_migrate",
  "tests/web/browser",
  "tests/interop/",
];

/** Tests that measure how the machine itself behaves: a parallel test would change the result. */
const ALONE: readonly string[] = [];

/**
 * Returns the tasks of a run, in the order in which they should start.
 *
 * @throws {Error} if the filter matches no file and is not a usable title either
 */
export async function planRun(root: string, { checksOnly, filter, into }: Selection): Promise<Task[]> {
  const checks = CHECKS.map(([name, args]): Task => ({ name: `check: ${name}`, kind: "check", args, alone: false }));
  if (checksOnly) return checks;
  const system = order(await testFiles(root, "tests"));
  if (filter !== undefined) return await filtered(root, system, filter);
  const units = await Promise.all(
    UNIT_FOLDERS.map(async (folder) => testTask(folder, [await unitModule(root, folder, into)])),
  );
  const [first, ...others] = checks;
  const files = system.map((file) => testTask(file, [file]));
  return [first!, ...files.slice(0, 4), ...units, ...others, ...files.slice(4)];
}

/** Paths that contain the filter; if there are none, tests with it in their titles. */
async function filtered(root: string, system: readonly string[], filter: string): Promise<Task[]> {
  const units = (await Promise.all(UNIT_FOLDERS.map((folder) => testFiles(root, folder)))).flat();
  const matching = [...system, ...units].filter((file) => file.includes(filter));
  if (matching.length > 0) return matching.map((file) => testTask(file, [file]));
  const byTitle = ["--filter", filter, "--permit-no-files"];
  return [
    ...UNIT_FOLDERS.map((folder) => testTask(folder, [...byTitle, folder])),
    ...system.map((file) => testTask(file, [...byTitle, file])),
  ];
}

/** Writes the module that imports a folder's test files; returns its path. */
async function unitModule(root: string, folder: string, into: string): Promise<string> {
  const path = join(into, `${folder}_tests.ts`);
  const imports = (await testFiles(root, folder)).map((file) => `import "${pathToFileURL(join(root, file))}";\n`);
  await Deno.writeTextFile(path, imports.join(""));
  return path;
}

function testTask(name: string, args: readonly string[]): Task {
  const test = ["test", "--allow-all", "--no-check"];
  return { name, kind: "tests", args: [...test, ...args], alone: ALONE.includes(name) };
}

function order(files: readonly string[]): string[] {
  const rank = (file: string) => {
    const position = SLOW_FIRST.findIndex((prefix) => file.startsWith(prefix));
    return position === -1 ? SLOW_FIRST.length : position;
  };
  return files.toSorted((a, b) => rank(a) - rank(b) || (a < b ? -1 : 1));
}

/** The test files below a folder, as paths from the root. */
async function testFiles(root: string, folder: string): Promise<string[]> {
  const files: string[] = [];
  for await (const { name, isDirectory } of Deno.readDir(join(root, folder))) {
    const path = join(folder, name);
    if (isDirectory) files.push(...await testFiles(root, path));
    else if (/_test\.tsx?$/.test(name)) files.push(relative(root, join(root, path)));
  }
  return files.sort();
}
