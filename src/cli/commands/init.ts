/** `jobs init [FOLDER]`. @module */
import { userInfo } from "node:os";
import { basename, delimiter, dirname, join, relative, resolve } from "node:path";
import { COMMON_FLAGS, parseCommand } from "../terminal/args.ts";
import { UsageError } from "../terminal/errors.ts";
import { print, printError, printJson } from "../terminal/output.ts";
import { COMPOSE, CONFIGURATION, HANDLERS, IGNORED, TEST, unitOf } from "./init_files.ts";
import { programPath } from "./shell_init.ts";

/** The text of `--help`. */
export const help = `
Usage: jobs init [FOLDER] [--with systemd|compose …] [--json]

Writes a small project into a folder, by default this one: handlers, a test of
them, and a configuration with a store in the folder, the dashboard and a cron
entry. It runs as it is: jobs run. The test needs Node.js 18 or later
(node --test), or Deno (deno test -A). No file is ever overwritten.

      --with systemd   also a unit that runs the worker as this user
      --with compose   also a file for docker compose, which runs the image of
                       make image. Both may be given

Examples
  jobs init demo
  jobs init --with systemd`;

/** The file of a service, by `--with`. The package has `jobs.service`, which a unit of that name would replace. */
const SERVICES: Readonly<Record<string, (folder: string) => string>> = {
  systemd: (folder) => `jobs-${basename(folder).replaceAll(/[^\w.]+/g, "-") || "project"}.service`,
  compose: () => "compose.yaml",
};

/** Writes a project. */
export async function run(argv: readonly string[]): Promise<number> {
  const { flags, args } = parseCommand("init", argv, { ...COMMON_FLAGS, with: { takes: "list" } }, "[FOLDER]");
  const unknown = flags.with.find((name) => !Object.hasOwn(SERVICES, name));
  if (unknown !== undefined) throw new UsageError(`Invalid --with "${unknown}": expected systemd or compose`);
  const folder = resolve(args[0] ?? ".");
  const services = Object.fromEntries([...new Set(flags.with)].map((name) => [name, SERVICES[name]!(folder)]));
  const { systemd: unit, compose } = services;
  const files: Record<string, string> = {
    "jobs.json": CONFIGURATION,
    "handlers.mjs": HANDLERS,
    "handlers.test.mjs": TEST,
  };
  if (compose !== undefined) files[compose] = COMPOSE;
  if (unit !== undefined) {
    files[unit] = unitOf(unit, { program: programPath(), folder, user: userInfo().username });
  }
  const existing = Object.keys(files).filter((name) => exists(join(folder, name)));
  if (existing.length > 0) {
    throw new UsageError(
      `${existing.join(", ")} ${existing.length === 1 ? "exists" : "exist"} in "${folder}": expected a folder without ${
        existing.length === 1 ? "it" : "them"
      }; nothing was written`,
    );
  }
  // A list of ignored files is the user's: it is written only where there is none.
  if (!exists(join(folder, ".gitignore"))) files[".gitignore"] = IGNORED;
  await write(folder, files);
  if (unit !== undefined && Deno.uid() === 0) {
    printError(`jobs: the unit runs as root: set User= in ${unit} to a user with fewer rights`);
  }
  const names = Object.keys(files);
  if (flags.json) printJson({ folder, files: names });
  else print(nextSteps(args[0], folder, { names, unit, compose }));
  return 0;
}

function exists(path: string): boolean {
  try {
    Deno.lstatSync(path);
    return true;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return false;
    throw unwritable(path, error);
  }
}

/** Other users must not be able to write to them, whatever the umask: the worker would not trust them. */
async function write(folder: string, files: Readonly<Record<string, string>>): Promise<void> {
  try {
    await Deno.mkdir(folder, { recursive: true, mode: 0o755 });
    for (const [name, text] of Object.entries(files)) {
      await Deno.writeTextFile(join(folder, name), text, { createNew: true, mode: 0o644 });
    }
  } catch (error) {
    throw unwritable(folder, error);
  }
}

function unwritable(path: string, error: unknown): UsageError {
  // Deno appends the number of the error and the path.
  return new UsageError(`Can't write to "${path}": ${(error as Error).message.replace(/ \(os error.*/s, "")}`);
}

/** Returns what to type next. */
function nextSteps(
  given: string | undefined,
  folder: string,
  { names, unit, compose }: {
    readonly names: readonly string[];
    readonly unit: string | undefined;
    readonly compose: string | undefined;
  },
): string {
  const program = programPath();
  const isOnPath = (Deno.env.get("PATH") ?? "").split(delimiter).includes(dirname(program));
  const steps = [
    ...(given === undefined || relative(Deno.cwd(), folder) === "" ? [] : [`cd ${quoted(given)}`]),
    ...(isOnPath ? [] : [`export PATH=${quoted(dirname(program))}:"$PATH"`]),
    "env jobs run                      # a worker, with the dashboard on http://127.0.0.1:7433",
    "env jobs push Greet ada --wait    # in a second terminal",
    "node --test                       # or: deno test -A",
    ...(unit === undefined ? [] : [`${`head -6 ${unit}`.padEnd(33)} # shows how to start it as a service`]),
    ...(compose === undefined ? [] : [
      "docker compose up                 # in place of jobs run, with a store in the volume: push into it with",
      "docker compose exec worker jobs push Greet ada --wait",
    ]),
  ];
  return `Wrote ${names.join(", ")} to ${folder}\n\nNext:\n${steps.map((step) => `  ${step}`).join("\n")}`;
}

function quoted(text: string): string {
  return /^[\w./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}
