/**
 * The requirements of tests on the machine, besides Deno.
 *
 * @module
 */
import { type NodePackage, packageFolder } from "../../scripts/testrun/setup.ts";
import { pathOf, TOOLS } from "../../scripts/testrun/tools.ts";

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

/**
 * Returns the folder `node_modules` of a package of npm for Node, which the set-up has installed.
 *
 * @throws {MissingTool} if it could not
 */
export async function requirePackage(name: NodePackage): Promise<string> {
  requireTool("npm");
  const folder = packageFolder(new URL("../../", import.meta.url).pathname, name);
  if (!await Deno.stat(`${folder}/complete`).then(() => true, () => false)) throw new MissingTool(`${name} required`);
  return `${folder}/node_modules`;
}

/**
 * Makes sure that the test runs as root: it mounts, changes its root folder, or makes namespaces.
 *
 * @throws {MissingTool} for any other user
 */
export function requireRoot(): void {
  if (Deno.uid() !== 0) throw new MissingTool("root privileges required");
}
