/**
 * The set-up: everything that a run downloads, before its first test. After it, tests have no network (`loopback.ts`).
 *
 * @module
 */
import { join } from "node:path";
import { denoCommand, outputOf } from "../deno_command.ts";
import { canInstall, findOnPath, install, installCommand, missingTools } from "./tools.ts";

/** Packages of npm that tests install for Node, with exact versions. */
export const NODE_PACKAGES = ["express@5.3.0", "pg@8.16.3"] as const;

export type NodePackage = typeof NODE_PACKAGES[number];

/** Returns the folder of a package of {@linkcode NODE_PACKAGES}: its file `complete` exists once it is installed. */
export function packageFolder(root: string, name: NodePackage): string {
  return join(root, ".deno/test-packages", name);
}

/** One thing that a set-up provides. */
interface Part {
  readonly name: string;
  /** The consequence if it is missing; undefined if nothing works without it. */
  readonly without?: string;
  /** @throws {Error} with the reason */
  provide(): Promise<void>;
}

/** Runs a command; throws its last lines of output if it fails. */
async function run(command: readonly [string, ...string[]], root: string): Promise<void> {
  const { success, stdout, stderr } = await outputOf(command, { cwd: root });
  if (!success) throw new Error(`${stdout}${stderr}`.trim().split("\n").slice(-10).join("\n"));
}

/** The packages of the lock file, and the bundler, which Deno downloads when it bundles for the first time. */
function toolchain(root: string): Part[] {
  return [
    { name: "the packages of deno.lock", provide: () => run(denoCommand("ci", "--quiet"), root) },
    {
      name: "the bundler",
      provide: async () => {
        const folder = await Deno.makeTempDir({ prefix: "jobs-setup-" });
        try {
          await Deno.writeTextFile(join(folder, "a.js"), "");
          await run(denoCommand("bundle", "--quiet", "--output", join(folder, "b.js"), join(folder, "a.js")), root);
        } finally {
          await Deno.remove(folder, { recursive: true });
        }
      },
    },
  ];
}

const WITHOUT = "tests that need it are skipped";

/** The runtime that `make compile` puts into the executable, in Deno's cache. */
function compiler(root: string): Part {
  return {
    name: "Deno's runtime",
    without: "`make compile` will try again",
    provide: async () => {
      if (Deno.env.get("DENORT_BIN")) return;
      const folder = await Deno.makeTempDir({ prefix: "jobs-setup-" });
      try {
        await Deno.writeTextFile(join(folder, "a.js"), "");
        const args = ["--quiet", "--output", join(folder, "b"), join(folder, "a.js")];
        const { success, stderr } = await outputOf(denoCommand("compile", ...args), { cwd: root });
        if (!success) throw new Error(stderr.match(/error sending request[^\n]*/)?.[0] ?? stderr);
      } finally {
        await Deno.remove(folder, { recursive: true });
      }
    },
  };
}

/** The parts that only tests need. */
function testParts(root: string, print: (line: string) => void): Part[] {
  return [
    {
      name: "the programs that tests drive",
      without: WITHOUT,
      provide: async () => {
        const missing = missingTools();
        if (missing.length === 0) return;
        const names = missing.map(({ command }) => command).join(", ");
        if (!canInstall()) {
          throw new Error(`Not installed: ${names}. Install them with:\n  sudo ${installCommand(missing)}`);
        }
        print(`Installing what the tests drive: ${names}`);
        await install(missing);
      },
    },
    {
      name: "a runtime for tests to compile with",
      without: WITHOUT,
      provide: () => run(["scripts/test-denort.sh"], root),
    },
    { name: "Redis 8 and Valkey 8", without: WITHOUT, provide: () => run(["scripts/test-servers.sh"], root) },
    ...NODE_PACKAGES.map((name): Part => ({
      name,
      without: WITHOUT,
      provide: () => installPackage(packageFolder(root, name), name, root),
    })),
  ];
}

async function installPackage(folder: string, name: string, root: string): Promise<void> {
  const complete = join(folder, "complete");
  if (await Deno.stat(complete).then(() => true, () => false)) return;
  if (findOnPath("npm") === undefined) throw new Error("npm is not installed");
  await Deno.mkdir(folder, { recursive: true });
  await run(["npm", "install", "--no-audit", "--no-fund", "--ignore-scripts", "--prefix", folder, name], root);
  await Deno.writeTextFile(complete, "");
}

/** The extent of a set-up. */
export interface SetUpOptions {
  /** Also the parts that only tests need. */
  readonly forTests: boolean;
  /** Also the parts that no test needs, for a time without a network. */
  readonly ahead: boolean;
  /** No test may be skipped. */
  readonly strict: boolean;
  readonly print: (line: string) => void;
}

/**
 * Provides what is missing; takes half a second if nothing is.
 *
 * @returns whether a run may start; prints what is missing
 */
export async function setUp(
  root: string,
  { forTests, ahead, strict, print }: SetUpOptions,
): Promise<boolean> {
  let complete = true;
  const provide = async ({ name, without, provide }: Part) => {
    try {
      await provide();
    } catch (error) {
      print(`Can't get ${name}${without === undefined ? "" : `: ${without}`}. ${(error as Error).message}`);
      if (without === undefined || (strict && without === WITHOUT)) complete = false;
    }
  };
  for (const part of toolchain(root)) await provide(part);
  if (ahead) await provide(compiler(root));
  if (forTests && complete) await Promise.all(testParts(root, print).map(provide));
  if (!complete && strict) print("CI is set: nothing may be skipped.");
  return complete;
}
