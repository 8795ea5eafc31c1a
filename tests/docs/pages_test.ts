/** The commands of the documentation, run as they are written. */
import { assert } from "@std/assert";
import { runPage } from "../support/page_runner.ts";

const PAGES = [
  "start/quickstart.md",
  "guides/retries.md",
  "guides/scheduling.md",
  "guides/cron.md",
  "guides/limits.md",
  "guides/programs.md",
  "guides/testing.md",
  "operate/sqlite.md",
  "operate/monitoring.md",
  "operate/runbook.md",
  "migrate/rq.md",
];

for (const page of PAGES) {
  Deno.test(`the commands of docs/${page} print what it shows`, async () => {
    assert(await runPage(new URL(`../../docs/${page}`, import.meta.url).pathname) > 0);
  });
}
