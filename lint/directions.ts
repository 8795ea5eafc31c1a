/**
 * Imports point one way: which part of the program may import which, and which packages it may use.
 *
 * A part is a folder of `src/`, or a file directly in it. The rooms of the store are separate parts, and so is a
 * file named in {@linkcode MAY_IMPORT}.
 *
 * @module
 */
import { isIn, programSource, type Source } from "./source.ts";

/** The parts that each part may import, besides itself and `std`. */
const MAY_IMPORT: Readonly<Record<string, string>> = {
  // Pure.
  "std": "",
  "version": "",
  "clock": "",
  "processes": "",
  "job": "",
  "cron": "job clock",

  // The store: its port for workers and clients, its port for operators, what is built on both, the verbs of every SQL
  // store, the three adapters, and the one door to the adapters.
  "store/port": "job clock",
  "store/admin": "store/port job",
  "store/ops": "store/port store/admin job clock",
  "store/sql": "store/port store/admin store/ops job",
  "store/sqlite": "store/port store/admin store/ops store/sql store/open job clock",
  "store/redis": "store/port store/admin store/ops store/open job clock",
  "store/postgres": "store/port store/admin store/ops store/sql store/open job clock",
  "store/open": "store/port store/admin store/sqlite store/redis store/postgres clock",

  // From the client up. The server knows neither the web, nor the command line, nor the operators' port.
  "log": "clock",
  "config": "log job",
  "client": "store/ops store/port cron log job clock",
  "steps": "store/port client job clock",
  "handlers": "steps client store/port log job clock",
  "tracing": "client handlers version job clock",
  "server": "tracing steps client handlers cron store/ops store/port store/open config log version job processes clock",
  // Workers whose handlers run in other programs.
  "remote": "server steps handlers store/port store/admin config log job clock",
  // Performs jobs as a worker does, on a store in memory.
  "testing": "server steps handlers client store/ops store/port store/admin store/open config log job clock",
  // The lists and filters of operators, and one description of each thing that they see.
  "operator": "steps client cron log store/ops store/port store/admin job clock",
  // How the terminal and the dashboard word what both show.
  "text": "operator client cron log store/port store/admin store/ops job processes",
  // Alerts are worded for the dashboard and for doctor.
  "operator/alerts": "text operator client cron store/ops store/port store/admin job processes clock",
  // The audit log describes actions to people.
  "operator/actions": "text operator client cron store/ops store/port store/admin job processes clock",
  "web":
    "remote handlers operator/alerts operator/actions text operator client store/port store/admin store/ops store/open cron config log version job processes clock",
  "cli":
    "web remote operator/alerts operator/actions text operator server tracing client handlers cron store/port store/admin store/ops store/open config log version job processes clock",

  // A worker inside a program, with its dashboard.
  "embed": "server web remote config clock",

  // The two front doors: for programs, and for people.
  "mod":
    "embed server testing steps tracing client handlers cron store/port store/admin store/open config log version job clock",
  // The types behind it.
  "types": "server testing steps tracing client handlers cron store/port store/admin store/open config log job clock",
  "main": "cli",
};

/** Packages that one place alone may know; others are free. */
const PACKAGES: Readonly<Record<string, readonly string[]>> = {
  "deno-std/": ["src/std/"],
  "@std/assert": [], // for tests
  "cron-parser": [], // for tests
  "@logtape/logtape": ["src/log/log.ts"],
  "@redis/client/": ["src/store/redis/client/connection.ts"],
  "croner": ["src/cron/"],
  "node:sqlite": ["src/store/sqlite/"],
  "postgres": ["src/store/postgres/pool.ts"],
  "node:timers": ["src/clock.ts"],
  "node:timers/promises": ["src/clock.ts"],
  "@opentelemetry/": ["src/tracing/"],
};

/** The part that the file at `path` belongs to: the longest entry of the table that its path begins with. */
export function partOf(path: string): string {
  const file = path.replace(/^src\//, "").replace(/\.tsx?$/, "");
  const parts = Object.keys(MAY_IMPORT).filter((part) => isNamed(file, part));
  return parts.sort((a, b) => b.length - a.length)[0] ?? file.split("/")[0]!;
}

/** Whether `file` is the part, in its folder, or a file next to it that begins with its name (`store/open_file`). */
function isNamed(file: string, part: string): boolean {
  return file === part || file.startsWith(`${part}/`) || (part.includes("/") && file.startsWith(`${part}_`));
}

/** Returns the reason why `source` may not import `specifier`; undefined if it may. */
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
  if (from === "job") {
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
