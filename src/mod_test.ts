import { assert, assertEquals } from "@std/assert";
import { denoCommand, outputOf } from "../scripts/deno_command.ts";

/** A declaration as `deno doc --json` prints it. */
interface DocSymbol {
  readonly name: string;
  readonly declarations: readonly {
    readonly jsDoc?: { readonly doc?: string; readonly tags?: readonly { readonly kind: string }[] };
  }[];
}

Deno.test("exports a name only with a docstring and an example, and few enough to read", async () => {
  const module = new URL("./mod.ts", import.meta.url).href;
  const { stdout } = await outputOf(denoCommand("doc", "--json", module));
  const { nodes } = JSON.parse(stdout) as { nodes: Record<string, { symbols: DocSymbol[] }> };
  const symbols = nodes[module]!.symbols;
  assert(symbols.length <= 45, `${symbols.length} names`);
  const without = symbols.filter(({ declarations }) => {
    const docs = declarations.map(({ jsDoc }) => jsDoc);
    return !docs.some((doc) => doc?.doc) || !docs.some((doc) => doc?.tags?.some(({ kind }) => kind === "example"));
  });
  assertEquals(without.map(({ name }) => name), []);
});
