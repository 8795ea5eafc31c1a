/**
 * Handlers from the file system: modules, and folders of modules, imported and registered.
 *
 * In a module, each exported function is a handler and its export's name the class. `export const handlers = {
 * "Billing::InvoiceJob": fn }` is for names that are no identifiers; what `defineJob` made has its own name. Classes,
 * constants and the default export are passed over.
 *
 * @module
 */
import { pathToFileURL } from "node:url";
import { stripAnsiCode } from "@std/fmt/colors";
import { plain } from "../log/format.ts";
import { asText } from "../log/value.ts";
import type { HandlerExport, HandlerOptions, JobDefinition } from "./handler.ts";
import { HandlerError, type Registry } from "./registry.ts";

const MODULE = /\.(js|mjs|cjs|ts|mts|jsx|tsx)$/;
const NOT_A_HANDLER_FILE = /(^[._])|([._]test\.[a-z]+$)|(\.d\.m?ts$)/;

/**
 * Imports modules and registers their handlers. A module may be named twice, say as a file and by its folder, and may
 * pass on what another exports: the same function for the same class is one handler.
 *
 * @param paths modules and folders, relative to the working directory; of a folder, every module directly in it but
 * tests and names that begin with `.` or `_`
 * @throws {HandlerError} when one is not there, cannot be imported, has no handler, or clashes with another
 */
export async function loadHandlers(paths: readonly string[], registry: Registry): Promise<void> {
  for (const path of paths) {
    for (const file of await modulesAt(path)) await loadModule(file, registry);
  }
}

async function modulesAt(path: string): Promise<string[]> {
  let info: Deno.FileInfo;
  try {
    info = await Deno.stat(path);
  } catch (error) {
    const why = error instanceof Deno.errors.NotFound ? "there is no such file or folder" : (error as Error).message;
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

async function loadModule(file: string, registry: Registry): Promise<void> {
  let exports: Record<string, unknown>;
  try {
    // An absolute address: in a compiled binary, a relative one would lead into the binary.
    exports = await import(pathToFileURL(await Deno.realPath(file)).href);
  } catch (error) {
    throw new HandlerError(`Handlers "${file}" cannot be loaded: ${whyNotLoaded(file, error)}`, { cause: error });
  }
  let found = 0;
  for (const [name, value] of Object.entries(exports)) {
    if (name === "default") continue;
    if (name === "handlers") found += addNamed(value, file, registry);
    else if (isFunction(value)) {
      register(isDefinition(value) ? value.class : name, value, file, registry);
      found++;
    }
  }
  if (found === 0) {
    throw new HandlerError(
      `Handlers "${file}" cannot be loaded: it exports no function; wanted: export function HardJob(ctx, …args) { … }`,
    );
  }
}

function addNamed(value: unknown, file: string, registry: Registry): number {
  if (!isPlainObject(value)) {
    throw new HandlerError(`Handlers "${file}": its export "handlers" is no object; wanted: { "ClassName": function }`);
  }
  for (const [name, perform] of Object.entries(value)) {
    if (!isFunction(perform)) {
      throw new HandlerError(`Handlers "${file}": handlers["${name}"] is no function; wanted: (ctx, …args) => …`);
    }
    register(name, perform, file, registry);
  }
  return Object.keys(value).length;
}

function register(name: string, perform: HandlerExport, file: string, registry: Registry): void {
  if (registry.get(name)?.perform === perform) return;
  const options = optionsOf(name, perform, file);
  if (!isPlainObject(options)) {
    throw new HandlerError(`Handlers "${file}": ${name}.options is no object; wanted: { queue: "low", retry: 5 }`);
  }
  registry.add(name, perform, options, file);
}

/** They, and each of them, may be a getter that throws. */
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

/** A class is no handler; its `prototype` cannot be replaced, a function's can. */
function isFunction(value: unknown): value is HandlerExport {
  return typeof value === "function" && Object.getOwnPropertyDescriptor(value, "prototype")?.writable !== false;
}

// deno-lint-ignore no-explicit-any -- definitions with any arguments
function isDefinition(value: HandlerExport): value is JobDefinition<any> {
  return typeof (value as { class?: unknown }).class === "string";
}

/** One line of why an import failed, and what to do where we know. */
function whyNotLoaded(file: string, error: unknown): string {
  if (!(error instanceof Error)) return `it throws ${plain(asText(error))}`;
  const message = stripAnsiCode(`${error.name}: ${error.message}`)
    .replace(/^ *\d* \|.*$/gm, "") // the source, as the parser quotes it
    .replace("TypeError: SyntaxError:", "SyntaxError:")
    .replaceAll("file://", "")
    .replace(/\s+/g, " ")
    .replace(/( at \S+)\1+/, "$1"); // the runtime may say it twice
  // What a module throws says where in its stack only.
  const thrownAt = / at .*?file:\/\/(\/[^\s)]+)/.exec(error.stack ?? "")?.[1] ?? "";
  const place = message.includes(" at /") || thrownAt.startsWith(import.meta.dirname!) ? "" : thrownAt;
  return plain(message.trim()) + (place && ` at ${place}`) + cureOf(file, message);
}

/** Returns what to do about a module of CommonJS, and about packages. */
function cureOf(file: string, message: string): string {
  if (/\b(module|exports|require) is not defined/.test(message)) {
    return ` (this is CommonJS: rename the file to ${file.replace(/\.[^.]*$/, "")}.cjs, or use import and export)`;
  }
  return Deno.build.standalone ? bundlingHint(file, message) : packageHint(file, message);
}

/** From the sources, packages come from npm: addresses only. */
function packageHint(file: string, message: string): string {
  if (!/not a dependency/.test(message)) return "";
  return ` (import packages as npm:NAME@VERSION, or bundle them: deno bundle ${file} -o bundle.js)`;
}

/** The executable loads files, but no packages, and not every runtime TypeScript: a bundle of it all helps. */
function bundlingHint(file: string, message: string): string {
  const why = /\.m?tsx?$/.test(file) && /Unexpected|SyntaxError|not supported/.test(message)
    ? "this binary's runtime does not load TypeScript"
    : /not a dependency|list of packages|(npm|jsr|https?):/.test(message)
    ? "this binary loads no packages"
    : undefined;
  return why === undefined ? "" : ` (${why}: bundle it with "deno bundle ${file} -o handlers.js")`;
}
