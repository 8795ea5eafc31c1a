/**
 * Where a linted file stands in the project.
 *
 * @module
 */
import { dirname, relative, resolve } from "node:path";

const ROOT = resolve(import.meta.dirname!, "..");

/** A file of the program itself: under `src/`, or `main.ts`. */
export interface Source {
  /** From the project's folder: `src/server/work/manager.ts`. */
  readonly path: string;
  /** The path, from the project's folder, of what the file imports by a relative specifier. */
  resolve(specifier: string): string;
}

/** The path of `filename` from the project's folder. */
export function projectPath(filename: string): string {
  return relative(ROOT, filename);
}

/** `filename` as a file of the program; undefined for tests, examples, scripts and the rules themselves. */
export function programSource(filename: string): Source | undefined {
  const path = projectPath(filename);
  if (isTest(path) || !(path === "main.ts" || path.startsWith("src/"))) return undefined;
  return { path, resolve: (specifier) => relative(ROOT, resolve(dirname(filename), specifier)) };
}

/** Whether the file at `path` is a test. */
export function isTest(path: string): boolean {
  return /_test\.tsx?$/.test(path);
}

/** Whether `path` is one of `places`: files, or folders ending in `/`. */
export function isIn(path: string, places: readonly string[]): boolean {
  return places.some((place) => place.endsWith("/") ? path.startsWith(place) : path === place);
}
