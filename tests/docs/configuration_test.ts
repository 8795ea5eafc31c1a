/** The configurations that README and the pages show are valid. */
import { assertEquals } from "@std/assert";
import { dirname, join } from "node:path";
import { loadConfig } from "../../src/config/load.ts";
import { SETTINGS } from "../../src/config/settings.ts";
import { checkEntries } from "../../src/cron/entry_check.ts";
import { blocksOf } from "../support/page_runner.ts";
import { documentationPages } from "../support/pages.ts";
import { temporaryFolder } from "../support/process.ts";

const ROOT = new URL("../../", import.meta.url).pathname;
/** Settings by which a configuration may begin. The file of a flow begins with a name. */
const KEYS = new Set(["environments", ...Object.values(SETTINGS).map(({ key }) => key.split(".")[0]!)]);
KEYS.delete("name");

Deno.test("the configurations of the pages are valid, with their cron entries", async () => {
  await using folder = await temporaryFolder();
  const wrong: string[] = [];
  let count = 0;
  for (const path of await documentationPages()) {
    for (const { language, text, line } of blocksOf(await Deno.readTextFile(join(ROOT, path)))) {
      const first = text.match(/^(?:\{\s*(?:\/\/.*\s*)?)?"?(\w+)"?:/)?.[1];
      if (!["json", "jsonc", "yaml"].includes(language) || !KEYS.has(first ?? "")) continue;
      count++;
      const file = `${folder.path}/jobs.${language}`;
      await Deno.writeTextFile(file, text);
      try {
        const { settings, environment } = await loadConfig({ file, env: () => undefined });
        const { problems } = checkEntries(settings.cron, { environment });
        for (const { entry, message } of problems) wrong.push(`${path}:${line}: ${entry}: ${message}`);
      } catch (error) {
        wrong.push(`${path}:${line}: ${(error as Error).message.replace(dirname(file), "")}`);
      }
    }
  }
  assertEquals(wrong, []);
  assertEquals(count > 10, true, `${count} configurations`);
});
