/**
 * The requirements of tests on the machine, besides Deno.
 *
 * @module
 */
import { pathOf, TOOLS } from "../../scripts/testrun/tools.ts";
import { NETWORK } from "./network.ts";

/** Thrown by a test that this machine cannot run. `make test` counts the test as skipped, by name. */
export class MissingTool extends Error {
  override name = "MissingTool";
}

/**
 * Makes sure that a program is installed, and returns its path.
 *
 * @param command a row of `TOOLS` in `scripts/testrun/tools.ts`
 * @throws {MissingTool} if neither it nor its alternative is on `PATH`
 */
export function requireTool(command: string): string {
  const tool = TOOLS.find((tool) => tool.command === command);
  if (tool === undefined) throw new TypeError(`Unknown tool "${command}": add it to scripts/testrun/tools.ts`);
  const path = pathOf(tool);
  if (path === undefined) throw new MissingTool(`${command} required`);
  return path;
}

/** Packages of npm that tests install, outside of the folders that are deleted with a test. */
const PACKAGES = new URL("../../.deno/test-packages/", import.meta.url).pathname;

/**
 * Installs a package of npm for Node, once, and returns its folder `node_modules`.
 *
 * @param name with its exact version: `express@5.3.0`
 * @throws {MissingTool} without npm, or without a registry
 */
export async function requirePackage(name: string): Promise<string> {
  requireTool("npm");
  const folder = `${PACKAGES}${name}`;
  const modules = `${folder}/node_modules`;
  if (await Deno.stat(`${folder}/complete`).then(() => true, () => false)) return modules;
  await Deno.mkdir(folder, { recursive: true });
  const args = ["install", "--no-audit", "--no-fund", "--ignore-scripts", "--prefix", folder, name];
  const { success } = await new Deno.Command("npm", { args, env: NETWORK, stdout: "null", stderr: "null" }).output();
  if (!success) throw new MissingTool(`${name} required`);
  await Deno.writeTextFile(`${folder}/complete`, "");
  return modules;
}

/**
 * Makes sure that the test runs as root: it mounts, changes its root folder, or makes namespaces.
 *
 * @throws {MissingTool} for any other user
 */
export function requireRoot(): void {
  if (Deno.uid() !== 0) throw new MissingTool("root privileges required");
}
