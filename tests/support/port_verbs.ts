/**
 * The verbs of the store's port, read from its code.
 *
 * @module
 */
const ROOT = new URL("../../", import.meta.url);

/** A verb of the port. */
export interface PortVerb {
  /** The part that it belongs to: `jobs`. */
  readonly part: string;
  /** Its name: `take`. */
  readonly verb: string;
  /** Its documentation, in one line. */
  readonly doc: string;
}

/** Returns the verbs of the parts, by the interfaces in the code. */
export async function verbsInCode(): Promise<PortVerb[]> {
  const verbs: PortVerb[] = [];
  for (const [store, folder] of [["port/store.ts", "port"], ["admin/store.ts", "admin"]]) {
    const text = await Deno.readTextFile(new URL(`src/store/${store}`, ROOT));
    for (const [, part, type] of text.matchAll(/^ {2}readonly (\w+): (\w+);$/gm)) {
      if (type === "string") continue;
      const [, file] = new RegExp(`import type \\{[^}]*\\b${type}\\b[^}]*\\} from "\\./(.*)"`).exec(text)!;
      const code = await Deno.readTextFile(new URL(`src/store/${folder}/${file}`, ROOT));
      const [, body] = new RegExp(`export interface ${type} \\{\\n([\\s\\S]*?)\\n\\}`).exec(code)!;
      for (const [, doc, verb] of body!.matchAll(/^ {2}\/\*\*([\s\S]*?)\*\/\n {2}(\w+)\??(?:<.*>)?\(/gm)) {
        verbs.push({ part: part!, verb: verb!, doc: doc!.replace(/\s+\* ?/g, " ").trim() });
      }
    }
  }
  return verbs;
}
