/**
 * CommonJS in the executable. Its runtime reads CommonJS modules only from the executable itself, so neither a handler in a `.cjs`
 * file nor a package in `node_modules`, native ones included, could be loaded. This reads them from the file system.
 *
 * @module
 */
import Module, { createRequire } from "node:module";
import { dirname, join } from "node:path";

/** A module that is being loaded. */
interface LoadingModule {
  exports: unknown;
  _compile(source: string, path: string): void;
}

type Extensions = Record<string, (module: LoadingModule, path: string) => void>;

let isInstalled = false;

/**
 * Lets `require` read modules from the file system, of handlers and of packages that they load with `createRequire`. Does nothing
 * when run from the sources, whose runtime does that.
 */
export function readCommonJs(): void {
  if (isInstalled || !Deno.build.standalone) return;
  isInstalled = true;
  const extensions = (Module as unknown as { readonly _extensions: Extensions })._extensions;
  const compile: Extensions[string] = (module, path) => {
    if (isEcmaScript(path)) {
      throw new Error(`"${path}" is an ECMAScript module, which this binary can't require: bundle it with esbuild`);
    }
    module._compile(Deno.readTextFileSync(path).replace(/^\uFEFF/, ""), path);
  };
  extensions[".js"] = compile;
  extensions[".cjs"] = compile;
  extensions[".mjs"] = compile;
  extensions[".json"] = (module, path) => {
    module.exports = JSON.parse(Deno.readTextFileSync(path).replace(/^\uFEFF/, ""));
  };
}

/** Returns the exports of a CommonJS module of the file system; none if it exports something else than an object. */
export function requireModule(path: string): Record<string, unknown> {
  const exports: unknown = createRequire(path)(path);
  return typeof exports === "object" && exports !== null ? { ...exports } : {};
}

/** Returns whether a module is one of ECMAScript, by its name or the `type` of its package. */
function isEcmaScript(path: string): boolean {
  if (!path.endsWith(".js")) return path.endsWith(".mjs");
  for (let folder = dirname(path);; folder = dirname(folder)) {
    try {
      return JSON.parse(Deno.readTextFileSync(join(folder, "package.json"))).type === "module";
    } catch {
      // The folder above may have one.
    }
    if (folder === dirname(folder)) return false;
  }
}
