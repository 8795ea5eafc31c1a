/**
 * Loads handlers from modules and folders of modules.
 *
 * In a module, each exported function is a handler, and the name of the export is its class. A name that isn't an
 * identifier goes into `export const handlers = { "Billing::InvoiceJob": fn }`. A definition that `defineJob` returned has
 * a name already. `performMiddleware`, `pushMiddleware` and `hooks` are those of the worker. Classes, constants and the
 * default export are ignored.
 *
 * @module
 */
import { pathToFileURL } from "node:url";
import { stripAnsiCode } from "@std/fmt/colors";
import { plain } from "../log/format.ts";
import { asText } from "../log/value.ts";
import type { HandlerExport, HandlerOptions, JobDefinition } from "./handler.ts";
import { readCommonJs, requireModule } from "./common_js.ts";
import { Extensions } from "./extensions.ts";
import { HandlerError, type Registry } from "./registry.ts";

const MODULE = /\.(js|mjs|cjs|ts|mts|jsx|tsx)$/;
const NOT_A_HANDLER_FILE = /(^[._])|([._]test\.[a-z]+$)|(\.d\.m?ts$)/;

/**
 * Imports modules and registers their handlers. A module may be named twice, for example as a file and by its folder, and
 * may export a handler of another module again: the same function for the same class is one handler.
 *
 * @param paths modules and folders, relative to the working directory. Of a folder, every module directly in it is loaded,
 * except tests and names that begin with `.` or `_`
 * @param check called with each path and each module before it is imported; throws to refuse it
 * @returns the middleware and hooks of the modules
 * @throws {HandlerError} if a path doesn't exist, or a module cannot be imported, has neither a handler nor middleware nor
 * hooks, or has a handler for a class that already has one
 */
export async function loadHandlers(
  paths: readonly string[],
  registry: Registry,
  check: (path: string) => void = () => {},
): Promise<Extensions> {
  const extensions = new Extensions();
  readCommonJs();
  for (const path of paths) {
    const files = await modulesAt(path);
    for (const one of new Set([path, ...files])) check(one);
    for (const file of files) await loadModule(file, registry, extensions);
  }
  return extensions;
}

async function modulesAt(path: string): Promise<string[]> {
  let info: Deno.FileInfo;
  try {
    info = await Deno.stat(path);
  } catch (error) {
    const why = error instanceof Deno.errors.NotFound ? "no such file or folder" : (error as Error).message;
    throw new HandlerError(`Handlers "${path}" cannot be loaded: ${why}`);
  }
  if (!info.isDirectory) return [path];
  const names: string[] = [];
  for await (const entry of Deno.readDir(path)) {
    if (!entry.isDirectory && MODULE.test(entry.name) && !NOT_A_HANDLER_FILE.test(entry.name)) names.push(entry.name);
  }
  if (names.length === 0) {
    throw new HandlerError(`Handlers "${path}" cannot be loaded: the folder has no module (.js, .mjs, .ts)`);
  }
  return names.sort().map((name) => `${path.replace(/\/+$/, "")}/${name}`);
}

async function loadModule(file: string, registry: Registry, extensions: Extensions): Promise<void> {
  let exports: Record<string, unknown>;
  try {
    const path = await Deno.realPath(file);
    // An absolute URL: in a compiled binary, a relative one would refer to a file in the binary.
    exports = path.endsWith(".cjs") ? requireModule(path) : await import(pathToFileURL(path).href);
  } catch (error) {
    throw new HandlerError(`Handlers "${file}" cannot be loaded: ${whyNotLoaded(file, error)}`, { cause: error });
  }
  addExports(exports, file, registry, extensions);
}

/**
 * Registers the handlers among the exports of a module, and collects its middleware and hooks.
 *
 * @param file the name of the module, for messages
 * @throws {HandlerError}
 */
export function addExports(
  exports: Readonly<Record<string, unknown>>,
  file: string,
  registry: Registry,
  extensions: Extensions,
): void {
  let found = 0;
  for (const [name, value] of Object.entries(exports)) {
    if (name === "default") continue;
    if (extensions.add(name, value, file)) found++;
    else if (name === "handlers") found += addNamed(value, file, registry);
    else if (isFunction(value)) {
      register(isDefinition(value) ? value.class : name, value, file, registry);
      found++;
    }
  }
  if (found === 0) {
    throw new HandlerError(
      `Handlers "${file}" cannot be loaded: it exports no function; expected export function HardJob(ctx, …args) { … }`,
    );
  }
}

function addNamed(value: unknown, file: string, registry: Registry): number {
  if (!isPlainObject(value)) {
    throw new HandlerError(
      `Handlers "${file}": its export "handlers" isn't an object; expected { "ClassName": function }`,
    );
  }
  for (const [name, perform] of Object.entries(value)) {
    if (!isFunction(perform)) {
      throw new HandlerError(`Handlers "${file}": handlers["${name}"] isn't a function; expected (ctx, …args) => …`);
    }
    register(name, perform, file, registry);
  }
  return Object.keys(value).length;
}

function register(name: string, perform: HandlerExport, file: string, registry: Registry): void {
  if (registry.get(name)?.perform === perform) return;
  const options = optionsOf(name, perform, file);
  if (!isPlainObject(options)) {
    throw new HandlerError(`Handlers "${file}": ${name}.options isn't an object; expected { queue: "low", retry: 5 }`);
  }
  registry.add(name, perform, options, file);
}

/** Returns the options of a handler. The property, and each option, may be a getter that throws. */
function optionsOf(name: string, perform: HandlerExport, file: string): HandlerOptions {
  try {
    const options = perform.options ?? {};
    Object.values(options);
    return options;
  } catch (error) {
    throw new HandlerError(`Handlers "${file}": ${name}.options cannot be read: ${plain(asText(error))}`, {
      cause: error,
    });
  }
}

function isPlainObject(value: unknown): value is object {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Returns whether a value is a function and not a class. The `prototype` of a class isn't writable. */
function isFunction(value: unknown): value is HandlerExport {
  return typeof value === "function" && Object.getOwnPropertyDescriptor(value, "prototype")?.writable !== false;
}

// deno-lint-ignore no-explicit-any -- definitions with any arguments
function isDefinition(value: HandlerExport): value is JobDefinition<any> {
  return typeof (value as { class?: unknown }).class === "string";
}

/** Returns one line with the reason why an import failed, and the remedy if it is known. */
function whyNotLoaded(file: string, error: unknown): string {
  if (!(error instanceof Error)) return `it throws ${plain(asText(error))}`;
  const message = stripAnsiCode(`${error.name}: ${error.message}`)
    .replace(/^ *\d* \|.*$/gm, "") // the source, as the parser quotes it
    .replace("TypeError: SyntaxError:", "SyntaxError:")
    .replaceAll("file://", "")
    .replace(/\s+/g, " ")
    .replace(/( at \S+)\1+/, "$1"); // the runtime may repeat it
  // The place of an error that a module throws is only in its stack.
  const thrownAt = / at .*?file:\/\/(\/[^\s)]+)/.exec(error.stack ?? "")?.[1] ?? "";
  const place = message.includes(" at /") || thrownAt.startsWith(import.meta.dirname!) ? "" : thrownAt;
  return plain(message.trim()) + (place && ` at ${place}`) + remedyFor(file, message);
}

/** Returns the remedy for a CommonJS module, or for packages; empty if it is unknown. */
function remedyFor(file: string, message: string): string {
  if (/\b(module|exports|require) is not defined/.test(message)) {
    return ` (this is CommonJS: rename the file to ${file.replace(/\.[^.]*$/, "")}.cjs, or use import and export)`;
  }
  return Deno.build.standalone ? bundlingHint(file, message) : packageHint(file, message);
}

/** Returns the remedy for packages. When run from sources, Deno loads them only from npm: addresses. */
function packageHint(file: string, message: string): string {
  if (!/not a dependency/.test(message)) return "";
  return ` (import packages as npm:NAME@VERSION, or bundle them: deno bundle ${file} -o bundle.js)`;
}

/** A native file that can't be loaded, or a package that looks for one next to its files and finds itself in a bundle. */
const NATIVE = /\.node\b|argument 'filename' must be a file URL|Could not load the ".*" module/;

/** Returns the remedy for the executable, which loads files, but neither packages nor, with some runtimes, TypeScript. */
function bundlingHint(file: string, message: string): string {
  const missing = /Cannot find module '((?:@[\w.-]+\/)?\w[\w.-]*)/.exec(message)?.[1];
  if (missing !== undefined) return ` (run "npm install ${missing}" in the folder of the handlers, or above)`;
  if (NATIVE.test(message)) {
    return ` (native packages can't be bundled: add --external:NAME to esbuild, and run "npm install NAME" next to the bundle)`;
  }
  const reason = /\.m?tsx?$/.test(file) && /Unexpected|SyntaxError|not supported/.test(message)
    ? "this binary's runtime does not load TypeScript"
    : /not a dependency|list of packages|(npm|jsr|https?):/.test(message)
    ? "this binary loads no packages"
    : undefined;
  return reason === undefined
    ? ""
    : ` (${reason}: bundle it with "npx esbuild ${file} --bundle --platform=node --outfile=handlers.cjs")`;
}
