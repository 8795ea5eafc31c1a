import { assertEquals } from "@std/assert";

Deno.test("selfCommand works in a folder whose name a URL would escape", async () => {
  const folder = await Deno.makeTempDir({ prefix: "jobs é 100% " });
  try {
    await Deno.mkdir(`${folder}/src/handlers/isolation`, { recursive: true });
    await Deno.copyFile(new URL("respawn.ts", import.meta.url), `${folder}/src/handlers/isolation/respawn.ts`);
    const module = new URL("respawn.ts", `file://${encodeURI(folder)}/src/handlers/isolation/`);
    const { selfCommand } = await import(module.href) as typeof import("./respawn.ts");
    const rest = ["--config", `${folder}/deno.json`, `${folder}/main.ts`];
    assertEquals(selfCommand().args.slice(3), ["--no-lock", ...rest]);
    // Without a lock file, an isolated process would ask a registry for what its worker has already loaded.
    await Deno.writeTextFile(`${folder}/deno.lock`, "");
    assertEquals(selfCommand().args.slice(3), [`--lock=${folder}/deno.lock`, ...rest]);
    await Deno.mkdir(`${folder}/.deno`);
    await Deno.writeTextFile(`${folder}/.deno/lock`, "");
    assertEquals(selfCommand().args.slice(3), [`--lock=${folder}/.deno/lock`, ...rest]);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});
