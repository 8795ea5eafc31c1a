/**
 * Node's `zlib`, loaded when it is first used: loading it takes a tenth of the start of a push or a worker, which need none.
 *
 * @module
 */
import process from "node:process";

/** Returns the module. */
export function zlib(): typeof import("node:zlib") {
  return process.getBuiltinModule("node:zlib");
}
