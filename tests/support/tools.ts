/**
 * The requirements of tests on the machine, besides Deno.
 *
 * @module
 */
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
 * Makes sure that the test runs as root: it mounts, changes its root folder, or makes namespaces.
 *
 * @throws {MissingTool} for any other user
 */
export function requireRoot(): void {
  if (Deno.uid() !== 0) throw new MissingTool("root privileges required");
}
