/**
 * Node's `crypto`, loaded when it is first used: most pushes need none, and loading it would delay their start.
 *
 * @module
 */
import process from "node:process";

/** Returns the module. */
export function nodeCrypto(): typeof import("node:crypto") {
  return process.getBuiltinModule("node:crypto");
}
