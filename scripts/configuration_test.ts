import { assertEquals, assertStringIncludes } from "@std/assert";
import { help as runHelp } from "../src/cli/commands/run.ts";
import { help as webHelp } from "../src/cli/commands/web.ts";
import { type Setting, SETTINGS } from "../src/config/settings.ts";
import { loadConfig } from "../src/config/load.ts";
import { PAGE, withTable } from "./configuration.ts";

Deno.test("docs/reference/configuration.md is up to date (deno task docs writes it)", async () => {
  const page = await Deno.readTextFile(PAGE);
  assertEquals(page, withTable(page));
});

Deno.test("every key, environment variable and option of the settings occurs once", () => {
  const rows = Object.values(SETTINGS) as readonly Setting<unknown>[];
  for (const pick of [(row: Setting<unknown>) => row.key, (row: Setting<unknown>) => row.env]) {
    assertEquals(new Set(rows.map(pick)).size, rows.length);
  }
  for (const { flag } of rows) {
    // `--store` is an option of every command, and part of the overview.
    if (flag !== undefined && flag !== "--store") assertStringIncludes(`${runHelp}${webHelp}`, `${flag} `);
  }
});

Deno.test("the examples in docs/reference/configuration.md load", async () => {
  const page = await Deno.readTextFile(PAGE);
  const examples = [...page.matchAll(/```(json|jsonc|yaml)\n([\s\S]*?)```/g)];
  assertEquals(examples.length >= 2, true);
  for (const [, kind, text] of examples) {
    const file = await Deno.makeTempFile({ suffix: `.${kind}` });
    try {
      await Deno.writeTextFile(file, text!);
      await loadConfig({ file, environment: "production", env: () => undefined });
    } finally {
      await Deno.remove(file);
    }
  }
});
