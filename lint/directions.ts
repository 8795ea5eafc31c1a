/**
 * Imports point one way: which part of the program may import which, and which packages it may use.
 *
 * A part is a folder of `src/`, or a file directly in it together with those that begin with its name (`log`:
 * `log.ts`, `log_format.ts`). The store is several: its ports, each adapter, and what works on both.
 *
 * @module
 */
import { isIn, programSource, type Source } from "./source.ts";

/** What each part may import besides itself and `std`. */
const MAY_IMPORT: Readonly<Record<string, string>> = {
  // Pure.
  "std": "",
  "version": "",
  "clock": "",
  "nearest": "",
  "job": "",
  "cron": "job clock",
  "middleware": "job",

  // The ports (`store` for the program, `store/admin` for people), what is behind them, and the one door to that.
  "store": "job clock",
  "store/admin": "store job",
  "store/sqlite": "store store/admin store/open job clock",
  "store/redis": "store store/admin store/open job clock",
  "store/open": "store store/admin store/sqlite store/redis clock",
  "store/move": "store store/admin store/open job clock",

  // From the enqueuer up. The server knows neither the web, nor the command line, nor the store's reading side.
  "log": "clock",
  "config": "log job nearest",
  "client": "store middleware cron job clock",
  "handlers": "client middleware log job clock nearest",
  "tracing": "client handlers middleware version job clock",
  "server": "tracing client handlers middleware cron store store/open config log version job clock",
  // How people are told, on the terminal and in the dashboard, of what the store's reading side tells, too.
  "words": "client cron store store/admin job",
  "web": "words client store store/admin store/open cron config log version job clock",
  "cli":
    "web words server tracing client handlers middleware cron store store/admin store/open store/move config log version job clock nearest",

  // The two front doors: for programs, and for people.
  "mod": "server tracing client handlers middleware cron store store/admin store/open config log version job clock",
  "main": "cli",
};

/** What of Node's is as pure as `job` is, and so may be imported there. */
const PURE_PACKAGES = ["node:zlib"];

/** Packages that one place alone may know; others are free. */
const PACKAGES: Readonly<Record<string, readonly string[]>> = {
  "deno-std/": ["src/std/"],
  "@std/assert": [], // for tests
  "cron-parser": [], // for tests
  "@logtape/logtape": ["src/log.ts"],
  "@redis/client/": ["src/store/redis/connection.ts"],
  "croner": ["src/cron/"],
  "node:sqlite": ["src/store/sqlite/"],
  "node:timers": ["src/clock.ts"],
  "node:timers/promises": ["src/clock.ts"],
  "@opentelemetry/": ["src/tracing/"],
};

/** The parts that are files of the store's folder rather than its ports. */
const STORE_PARTS = ["admin", "open", "move", "sqlite", "redis"];

/** The part that the file at `path` belongs to. */
export function partOf(path: string): string {
  const [first = "", second] = path.replace(/^src\//, "").replace(/\.tsx?$/, "").split("/");
  if (first === "store" && second !== undefined) {
    const part = STORE_PARTS.find((name) => isNamed(second, name));
    return part === undefined ? "store" : `store/${part}`;
  }
  if (second !== undefined) return first;
  return Object.keys(MAY_IMPORT).find((name) => isNamed(first, name)) ?? first;
}

function isNamed(name: string, part: string): boolean {
  return name === part || name.startsWith(`${part}_`);
}

/** What is wrong with `source` importing `specifier`; undefined when nothing is. */
function objection(source: Source, specifier: string): string | undefined {
  const from = partOf(source.path);
  const allowed = MAY_IMPORT[from];
  if (allowed === undefined) {
    return `"${source.path}" belongs to no part of the program: put it in one, or add "${from}" to MAY_IMPORT in lint/directions.ts`;
  }
  if (!specifier.startsWith(".")) return packageObjection(source.path, from, specifier);
  const target = source.resolve(specifier);
  if (!target.startsWith("src/")) return undefined;
  const to = partOf(target);
  if (to === from || to === "std" || allowed.split(" ").includes(to)) return undefined;
  return `"${from}" may not import "${to}" (it may: ${
    allowed || "nothing"
  }): move what both need further down, or have it passed in`;
}

function packageObjection(path: string, from: string, specifier: string): string | undefined {
  if (from === "job" && !PURE_PACKAGES.includes(specifier)) {
    return `"job" is pure and may not import "${specifier}": do it in the caller, pass the result in`;
  }
  const name = Object.keys(PACKAGES).find((name) =>
    name.endsWith("/") ? specifier.startsWith(name) : specifier === name
  );
  const places = name === undefined ? undefined : PACKAGES[name]!;
  if (places === undefined || isIn(path, places)) return undefined;
  return places.length === 0
    ? `"${specifier}" is for tests only`
    : `Only ${places.join(" and ")} may import "${specifier}": use what that exports`;
}

/** The rule `jobs/import-direction`. */
export const importDirection: Deno.lint.Rule = {
  create(context) {
    const source = programSource(context.filename);
    if (source === undefined) return {};
    const check = (node: Deno.lint.Node, specifier: Deno.lint.Node | null) => {
      if (specifier?.type !== "Literal" || typeof specifier.value !== "string") return;
      const message = objection(source, specifier.value);
      if (message !== undefined) context.report({ node, message });
    };
    return {
      ImportDeclaration: (node) => check(node, node.source),
      ExportNamedDeclaration: (node) => check(node, node.source),
      ExportAllDeclaration: (node) => check(node, node.source),
      ImportExpression: (node) => check(node, node.source),
      TSImportType: (node) => check(node, node.argument.type === "TSLiteralType" ? node.argument.literal : null),
    };
  },
};
