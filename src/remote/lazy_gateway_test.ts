import { assert, assertEquals } from "@std/assert";
import { denoCommand, outputOf } from "../../scripts/deno_command.ts";

/** A module in the output of `deno info --json`. */
interface Module {
  readonly specifier: string;
  readonly dependencies?: readonly { readonly code?: { readonly specifier: string }; readonly isDynamic?: boolean }[];
}

Deno.test("a dashboard loads no module of a worker before a program registers one", async () => {
  const root = new URL("../../", import.meta.url);
  const { stdout } = await outputOf(denoCommand("info", "--json", "src/web/web.ts"), { cwd: root });
  const { modules } = JSON.parse(stdout) as { modules: readonly Module[] };
  const byName = new Map(modules.map((module) => [module.specifier, module]));
  const loaded = new Set([new URL("src/web/web.ts", root).href]);
  for (const name of loaded) {
    for (const { code, isDynamic } of byName.get(name)?.dependencies ?? []) {
      if (code !== undefined && !isDynamic) loaded.add(code.specifier);
    }
  }
  const paths = [...loaded].map((name) => name.slice(root.href.length));
  assert(paths.includes("src/remote/refusals.ts"));
  assertEquals(
    paths.filter((path) => /^src\/(server\/launcher|remote\/(?:gateway|remote_worker))\.ts$/.test(path)),
    [],
  );
});
