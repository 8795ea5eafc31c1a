/**
 * The targets of a release, and the runtimes that are given for them.
 *
 * @module
 */
import { join } from "node:path";

/** The names of a target in the files of a release. */
export interface Target {
  readonly name: string;
  /** Debian's name of the machine; there are packages for Linux only. */
  readonly debian?: string;
  readonly extension?: string;
}

/** Deno's name of the target → ours. */
export const TARGETS: Readonly<Record<string, Target>> = {
  "x86_64-unknown-linux-gnu": { name: "linux-x86_64", debian: "amd64" },
  "aarch64-unknown-linux-gnu": { name: "linux-aarch64", debian: "arm64" },
  "x86_64-apple-darwin": { name: "macos-x86_64" },
  "aarch64-apple-darwin": { name: "macos-aarch64" },
  "x86_64-pc-windows-msvc": { name: "windows-x86_64", extension: ".exe" },
};

/** The targets can't be chosen. The message is one line for users. */
export class TargetError extends Error {}

/** The choice: each target with its runtime (undefined: Deno downloads it), and those without one. */
export interface Choice {
  readonly chosen: ReadonlyMap<string, string | undefined>;
  readonly leftOut: readonly string[];
}

/** Options of {@linkcode chooseTargets}. */
export interface ChoiceOptions {
  /** All targets to build; by default those whose runtime is given, else this machine's. */
  readonly targets: readonly string[];
  /** A folder with runtimes, each called `denort-TARGET`. */
  readonly runtimes: string | undefined;
  /** The runtime for this machine. */
  readonly own: string | undefined;
}

/**
 * Chooses the targets.
 *
 * @throws {TargetError} if a target is unknown, or the folder has no runtime
 */
export async function chooseTargets({ targets, runtimes, own }: ChoiceOptions): Promise<Choice> {
  const unknown = targets.find((target) => !Object.hasOwn(TARGETS, target));
  if (unknown !== undefined) {
    throw new TargetError(`Unknown target "${unknown}": expected ${Object.keys(TARGETS).join(", ")}`);
  }
  const given = await runtimesIn(runtimes);
  if (own !== undefined && !given.has(Deno.build.target)) given.set(Deno.build.target, own);
  if (runtimes !== undefined && given.size === 0) {
    throw new TargetError(
      `No runtime in "${runtimes}": expected files denort-TARGET, such as denort-${Deno.build.target}`,
    );
  }
  const names = targets.length > 0 ? targets : given.size > 0 ? [...given.keys()] : [Deno.build.target];
  return {
    chosen: new Map(Object.keys(TARGETS).filter((name) => names.includes(name)).map((name) => [name, given.get(name)])),
    leftOut: Object.keys(TARGETS).filter((name) => !names.includes(name)),
  };
}

async function runtimesIn(folder: string | undefined): Promise<Map<string, string>> {
  const given = new Map<string, string>();
  if (folder === undefined) return given;
  try {
    for await (const { name } of Deno.readDir(folder)) {
      const target = name.match(/^denort-(.*?)(\.exe)?$/)?.[1];
      if (target !== undefined && Object.hasOwn(TARGETS, target)) given.set(target, join(folder, name));
    }
  } catch (error) {
    throw new TargetError(`Can't read the runtimes in "${folder}": ${(error as Error).message}`);
  }
  return given;
}
