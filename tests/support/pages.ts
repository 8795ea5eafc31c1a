/** The pages of the documentation. @module */
import { join } from "node:path";

const ROOT = new URL("../../", import.meta.url).pathname;

/** Returns the paths of README and the pages, relative to the project's folder. */
export async function documentationPages(): Promise<string[]> {
  return ["README.md", ...(await Array.fromAsync(pagesOf("docs"))).sort()];
}

async function* pagesOf(folder: string): AsyncGenerator<string> {
  for await (const { name, isDirectory } of Deno.readDir(join(ROOT, folder))) {
    const path = join(folder, name);
    if (isDirectory) yield* pagesOf(path);
    else if (name.endsWith(".md")) yield path;
  }
}
