/**
 * The commands of a run, in the order in which they start.
 *
 * @module
 */
import { join, relative } from "node:path";
import { pathToFileURL } from "node:url";
import type { Timings } from "./timings.ts";

/** A selection of tests by their titles. */
export interface TitleFilter {
  /** Arguments of `deno test`. */
  readonly args: readonly string[];
  includes(title: string): boolean;
}

/** Selects all tests. */
export const ALL_TITLES: TitleFilter = { args: [], includes: () => true };

/** One command of a run. */
export interface Task {
  /** Its name in progress lines and the summary. */
  readonly name: string;
  readonly kind: "check" | "tests";
  /** Arguments of `deno`. */
  readonly args: readonly string[];
  /** The test files that it runs. */
  readonly files: readonly string[];
  /** The titles that its `--filter` selects. Deno's report has the others as skipped. */
  readonly titles: TitleFilter;
  /** Distinguishes it from other tasks with the same files, at the end of its name. */
  readonly variant: string;
}

/**
 * The parts of a run: `gate` is `make test`, `long` is `make test-long`. The two together run every test once.
 */
export type Suite = "checks" | "gate" | "long";

/** The selection of a run. */
export interface Selection {
  readonly suite: Suite;
  /** A part of a test file's path, or of tests' titles if no path contains it. Selects from both suites. */
  readonly filter?: string | undefined;
  /** Only these test files, of both suites; and the checks. */
  readonly files?: readonly string[] | undefined;
  /** The times of the files in earlier runs. */
  readonly timings: Timings;
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
 * Path prefixes of system tests that take little each. One command runs several of them, also as one module: a whole run spends more than a
 * minute of a processor on loading the program for each by itself.
 */
const GROUPED = ["tests/server/", "tests/cli/", "tests/clients/", "tests/web/", "tests/store_redis_", "tests/docs/"];
/** A group takes about this long; a file that takes half of it runs by itself. */
const GROUP_SECONDS = 24;

/** The tests that are long by nature: path prefixes, with the reason. `make test-long` runs them. */
const LONG: Readonly<Record<string, string>> = {
  "tests/soak/": "minutes of load",
  "tests/chaos/": "kills, freezes and outages, which take their time",
  "tests/server/crash_test.ts": "workers that are killed, thousands of jobs",
  "tests/server/processes_test.ts": "workers of several processes that are killed",
  "tests/outbox_test.ts": "relays that are killed",
  "tests/store_migrate_test.ts": "migrations that are killed at each step",
  "tests/web/bad_rows_test.ts": "each page and list with each bad row",
  "tests/docs/pages_test.ts": "all commands of the pages",
  "tests/interop/": "Debian's Sidekiq next to ours",
  "tests/binary/": "the executable, its packages and its image",
  "tests/library/library_test.ts": "the library as a folder, in programs of its users",
  "tests/clients/worker_": "the conformance table of each language",
  "tests/clients/rough_gateway_test.ts": "a gateway that fails in each way",
  "tests/cli/secrets_test.ts": "each secret in each command, page, log and dump",
  "tests/cli/incidents_test.ts": "each staged incident lasts until it is noticed",
  "tests/simulation/simulation_test.ts": "hundreds of schedules",
  "tests/store_redis_failover_test.ts": "servers that take over",
  "tests/store_postgres_bloat_test.ts": "many dead rows",
  "tests/store_postgres_failover_test.ts": "servers that take over",
  "tests/store_postgres_foreign": "databases of other people",
  "tests/store_postgres_lost_test.ts": "servers and replies that are lost",
  "tests/store_postgres_silence_test.ts": "servers that don't reply",
  "tests/store_postgres_long_test.ts": "the themes of the contract with thousands of jobs",
  "tests/interleave/pairs_test.ts": "each pair of verbs is stopped at each statement",
};

/**
 * Titles of tests that repeat on Redis what they do on SQLite, by the convention of their ends: the store contract has what differs.
 * `make test-long` runs them.
 */
const ON_REDIS = ["on redis", "(redis)"];
const REPEATING = [
  "tests/server/",
  "tests/cli/",
  "tests/web/",
  "tests/clients/",
  "tests/library/",
  "tests/docs/",
];

/**
 * Returns the tasks of a run, in the order in which they should start: those that take longest first, so that the short ones keep all
 * processors busy at the end.
 *
 * @throws {Error} if the filter matches no file and is not a usable title either
 */
export async function planRun(root: string, selection: Selection): Promise<Task[]> {
  const { suite, filter, files: only, timings, into } = selection;
  const checks = CHECKS.map(([name, args]): Task => ({
    name: `check: ${name}`,
    kind: "check",
    args,
    files: [],
    titles: ALL_TITLES,
    variant: "",
  }));
  if (suite === "checks") return checks;
  const all = await testFiles(root, "tests");
  if (filter !== undefined) return await filtered(root, all, filter);
  const checked = CHECKS.flatMap(([, args]) => args);
  const system = all.filter((file) => !checked.includes(file));
  const units = await Promise.all(UNIT_FOLDERS.map(async (folder) => [folder, await testFiles(root, folder)] as const));
  const plan = new Planner(root, into, timings);
  if (only !== undefined) {
    const some = units.map(([folder, files]) => [folder, files.filter((file) => only.includes(file))] as const);
    const tasks = await plan.tasks(some, system.filter((file) => only.includes(file)), ALL_TITLES);
    return [...checks, ...tasks];
  }
  const short = system.filter((file) => !isLong(file));
  const repeating = short.filter((file) => REPEATING.some((prefix) => file.startsWith(prefix)));
  if (suite === "gate") {
    const once = short.filter((file) => !repeating.includes(file));
    return plan.inOrder([
      ...checks,
      ...await plan.tasks(units, once, ALL_TITLES),
      ...await plan.tasks([], repeating, notEndingWith(ON_REDIS)),
    ]);
  }
  const repeated = await plan.containing(repeating, /redis/i);
  return plan.inOrder([
    ...await plan.tasks([], system.filter(isLong), ALL_TITLES),
    ...await plan.tasks([], repeated, endingWith(ON_REDIS), " on Redis"),
  ]);
}

function isLong(file: string): boolean {
  return Object.keys(LONG).some((prefix) => file.startsWith(prefix));
}

/** Selects titles that end with one of these, in any case. */
export function endingWith(ends: readonly string[]): TitleFilter {
  return {
    args: ["--filter", `/(?i)(${ends.map((end) => RegExp.escape(end)).join("|")})$/`],
    includes: (title) => ends.some((end) => title.toLowerCase().endsWith(end)),
  };
}

/** Selects all other titles. The expression is written out because Deno's can't look ahead. */
export function notEndingWith(ends: readonly string[]): TitleFilter {
  // A title doesn't end with "ab" if its last character isn't "b", or if it is and the one before isn't "a", or if it is just "b".
  const tails = new Set(ends.flatMap((end) => Array.from(end, (_, i) => end.slice(i + 1))));
  const others = [...tails].map((tail) => {
    const before = ends.filter((end) => end.endsWith(tail) && end !== tail).map((end) => end.at(-tail.length - 1)!);
    return `(^|[^${before.map((one) => RegExp.escape(one)).join("")}])${RegExp.escape(tail)}`;
  });
  return {
    args: ["--filter", `/(?i)(${others.join("|")})$/`],
    includes: (title) => !endingWith(ends).includes(title),
  };
}

/** Makes tasks of test files. */
class Planner {
  readonly #root: string;
  readonly #into: string;
  readonly #timings: Timings;

  constructor(root: string, into: string, timings: Timings) {
    this.#root = root;
    this.#into = into;
    this.#timings = timings;
  }

  /** Returns those of the files whose text has the pattern. */
  async containing(files: readonly string[], pattern: RegExp): Promise<string[]> {
    const texts = await Promise.all(files.map((file) => Deno.readTextFile(join(this.#root, file))));
    return files.filter((_file, i) => pattern.test(texts[i]!));
  }

  /** Returns the tasks of the folders of unit tests and of the system tests' files. */
  async tasks(
    units: readonly (readonly [folder: string, files: readonly string[]])[],
    system: readonly string[],
    titles: TitleFilter,
    variant = "",
  ): Promise<Task[]> {
    // Hooks, and another store or command for all tests, apply to the whole process.
    const hooked = new Set(await this.containing(system, /\b(beforeAll|benchOn|useCommand|useExecutable)\(/));
    const isSmall = (file: string) =>
      GROUPED.some((prefix) => file.startsWith(prefix)) && this.#seconds(file) < GROUP_SECONDS / 2 &&
      !hooked.has(file) &&
      !isLong(file);
    const groups = GROUPED.flatMap((prefix) => {
      const files = system.filter((file) => file.startsWith(prefix) && isSmall(file));
      const bins = this.#bins(files);
      return bins.map((bin, i): [string, string[]] => [`${prefix}*${variant} ${i + 1} of ${bins.length}`, bin]);
    });
    const all = [...units.filter(([, files]) => files.length > 0), ...groups];
    return [
      ...await Promise.all(all.map(([name, files]) => this.#group(name, files, titles, variant))),
      ...system.filter((file) => !isSmall(file)).map((file) =>
        testTask(file + variant, [file], [file], titles, variant)
      ),
    ];
  }

  /** Sorts tasks: the types first, because they need most of the memory, then by their time. */
  inOrder(tasks: readonly Task[]): Task[] {
    const seconds = ({ name, files }: Task) =>
      name === "check: types"
        ? Infinity
        : files.length === 0
        ? this.#timings[name]?.seconds ?? 0
        : files.reduce((sum, file) => sum + this.#seconds(file), 0);
    return tasks.toSorted((a, b) => seconds(b) - seconds(a));
  }

  #seconds(file: string): number {
    return this.#timings[file]?.seconds ?? 1;
  }

  /** Distributes files over groups that take about as long as each other. */
  #bins(files: readonly string[]): string[][] {
    const total = files.reduce((sum, file) => sum + this.#seconds(file), 0);
    const bins = Array.from(
      { length: Math.ceil(total / GROUP_SECONDS) },
      () => ({ seconds: 0, files: [] as string[] }),
    );
    for (const file of files.toSorted((a, b) => this.#seconds(b) - this.#seconds(a) || (a < b ? -1 : 1))) {
      const [least] = bins.toSorted((a, b) => a.seconds - b.seconds);
      least!.files.push(file);
      least!.seconds += this.#seconds(file);
    }
    return bins.map(({ files }) => files.sort()).filter((files) => files.length > 0);
  }

  /** Returns a task that runs several test files in one process, from a module that imports them. */
  async #group(name: string, files: readonly string[], titles: TitleFilter, variant: string): Promise<Task> {
    const path = join(this.#into, `${name.replaceAll(/[^\w]+/g, "_")}_tests.ts`);
    const imports = files.map((file) => `import "${pathToFileURL(join(this.#root, file))}";\n`);
    await Deno.writeTextFile(path, imports.join(""));
    return testTask(name, files, [path], titles, variant);
  }
}

/** Paths that contain the filter; if there are none, tests with it in their titles. */
async function filtered(root: string, system: readonly string[], filter: string): Promise<Task[]> {
  const units = (await Promise.all(UNIT_FOLDERS.map((folder) => testFiles(root, folder)))).flat();
  const matching = [...system, ...units].filter((file) => file.includes(filter));
  if (matching.length > 0) return matching.map((file) => testTask(file, [file], [file]));
  const titles = {
    args: ["--filter", filter, "--permit-no-files"],
    includes: (title: string) => title.includes(filter),
  };
  return [
    ...UNIT_FOLDERS.map((folder) => testTask(folder, [], [folder], titles)),
    ...system.map((file) => testTask(file, [file], [file], titles)),
  ];
}

function testTask(
  name: string,
  files: readonly string[],
  modules: readonly string[],
  titles: TitleFilter = ALL_TITLES,
  variant = "",
): Task {
  const args = ["test", "--allow-all", "--no-check", "--cached-only", ...titles.args, ...modules];
  return { name, kind: "tests", args, files, titles, variant };
}

/** The test files below a folder, as paths from the root. */
export async function testFiles(root: string, folder: string): Promise<string[]> {
  const files: string[] = [];
  for await (const { name, isDirectory } of Deno.readDir(join(root, folder))) {
    const path = join(folder, name);
    if (isDirectory) files.push(...await testFiles(root, path));
    else if (/_test\.tsx?$/.test(name)) files.push(relative(root, join(root, path)));
  }
  return files.sort();
}
