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

/** One thing that a set-up provides. A run without it skips tests by name, except where it is `required`. */
interface Part {
  readonly name: string;
  readonly required?: boolean;
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
    { name: "the packages of deno.lock", required: true, provide: () => run(denoCommand("ci", "--quiet"), root) },
    {
      name: "the bundler",
      required: true,
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

/** The parts that only tests need. */
function testParts(root: string, print: (line: string) => void): Part[] {
  return [
    {
      name: "the programs that tests drive",
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
    { name: "a runtime to compile with", provide: () => run(["scripts/test-denort.sh"], root) },
    { name: "Redis 8 and Valkey 8", provide: () => run(["scripts/test-servers.sh"], root) },
    ...NODE_PACKAGES.map((name): Part => ({
      name,
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

/**
 * Provides what is missing; takes half a second if nothing is.
 *
 * @param forTests false: only what the program itself, `make check` and `make compile` need
 * @param strict nothing may be missing
 * @returns whether a run may start; prints what is missing
 */
export async function setUp(
  root: string,
  { forTests, strict, print }: { forTests: boolean; strict: boolean; print: (line: string) => void },
): Promise<boolean> {
  let complete = true;
  const provide = async ({ name, required, provide }: Part) => {
    try {
      await provide();
    } catch (error) {
      print(`Can't get ${name}${required ? "" : ": tests that need it are skipped"}. ${(error as Error).message}`);
      if (required || strict) complete = false;
    }
  };
  for (const part of toolchain(root)) await provide(part);
  if (forTests && complete) await Promise.all(testParts(root, print).map(provide));
  if (!complete && strict) print("CI is set: nothing may be skipped.");
  return complete;
}
