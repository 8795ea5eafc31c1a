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
  ["documentation's examples", ["test", "--no-check", "-A", "tests/docs/examples_test.ts"]],
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

/**
 * Path prefixes of system tests that take little each. One command runs up to {@linkcode FILES_PER_GROUP} of them, also as one
 * module: a whole run spends more than a minute of a processor on loading the program for each by itself.
 */
const GROUPED = ["tests/server/", "tests/cli/", "tests/clients/", "tests/web/", "tests/store_redis_", "tests/docs/"];
const FILES_PER_GROUP = 8;

/**
 * Files that take longest start first: path prefixes, longest first. Then the groups, most of whose tests wait for something. Files that
 * take little each are left for the end, where they keep all processors busy.
 */
const SLOW_FIRST = [
  "tests/cli/incidents",
  "tests/store_postgres_test",
  "tests/soak/",
  "tests/binary/",
  "tests/server/cron",
  "tests/library/",
  "tests/cli/long_work",
  "tests/server/timeouts",
  "tests/chaos/",
  "tests/clients/worker_",
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
  const checked = CHECKS.flatMap(([, args]) => args);
  if (filter !== undefined) return await filtered(root, system, filter);
  const units = await Promise.all(
    UNIT_FOLDERS.map(async (folder) => groupTask(root, folder, await testFiles(root, folder), into)),
  );
  const [first, ...others] = checks;
  const unchecked = system.filter((file) => !checked.includes(file));
  const small = new Set(await smallFiles(root, unchecked));
  const files = unchecked.filter((file) => !small.has(file)).map((file) => testTask(file, [file]));
  const groups = await Promise.all(groupsOf([...small]).map(([name, group]) => groupTask(root, name, group, into)));
  const slow = files.findLastIndex(({ name }) => rankOf(name) < SLOW_FIRST.length) + 1;
  const [begin, slower, quick] = [files.slice(0, 5), files.slice(5, slow), files.slice(slow)];
  return [first!, ...begin, ...units, ...others, ...slower, ...groups, ...quick];
}

/** Returns the files that may share a process. A file with hooks can't: they apply to all tests of the process. */
async function smallFiles(root: string, system: readonly string[]): Promise<string[]> {
  const files = system.filter((file) =>
    GROUPED.some((prefix) => file.startsWith(prefix)) && !SLOW_FIRST.some((prefix) => file.startsWith(prefix))
  );
  const texts = await Promise.all(files.map((file) => Deno.readTextFile(join(root, file))));
  return files.filter((_file, i) => !texts[i]!.includes("Deno.test.beforeAll("));
}

/** Returns the groups of small files, with names. */
function groupsOf(small: readonly string[]): [name: string, files: string[]][] {
  return GROUPED.flatMap((prefix) => {
    const files = small.filter((file) => file.startsWith(prefix)).sort();
    const count = Math.ceil(files.length / FILES_PER_GROUP);
    return Array.from({ length: count }, (_, i): [string, string[]] => {
      // Neighbours go to different groups: they often take about as long.
      const group = files.filter((_file, at) => at % count === i);
      return [`${prefix}* ${i + 1} of ${count}`, group];
    });
  });
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

/** Returns a task that runs several test files in one process, from a module that imports them. */
async function groupTask(root: string, name: string, files: readonly string[], into: string): Promise<Task> {
  const path = join(into, `${name.replaceAll(/[^\w]+/g, "_")}_tests.ts`);
  const imports = files.map((file) => `import "${pathToFileURL(join(root, file))}";\n`);
  await Deno.writeTextFile(path, imports.join(""));
  return testTask(name, [path]);
}

function testTask(name: string, args: readonly string[]): Task {
  const test = ["test", "--allow-all", "--no-check"];
  return { name, kind: "tests", args: [...test, ...args], alone: ALONE.includes(name) };
}

/** Returns the position of a file in {@linkcode SLOW_FIRST}, its length for the others. */
function rankOf(file: string): number {
  const position = SLOW_FIRST.findIndex((prefix) => file.startsWith(prefix));
  return position === -1 ? SLOW_FIRST.length : position;
}

function order(files: readonly string[]): string[] {
  return files.toSorted((a, b) => rankOf(a) - rankOf(b) || (a < b ? -1 : 1));
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
