/** The commands of the documentation, run as they are written. */
import { assert } from "@std/assert";
import { runPage } from "../support/page_runner.ts";
import { startRedis } from "../support/redis.ts";
import { requireTool } from "../support/tools.ts";

/** Languages of programs on a page. */
const TOOLS: Readonly<Record<string, readonly string[]>> = { "guides/programs.md": ["python3", "ruby", "jq"] };

const PAGES = [
  "start/quickstart.md",
  "guides/retries.md",
  "guides/scheduling.md",
  "guides/cron.md",
  "guides/unique.md",
  "guides/limits.md",
  "guides/programs.md",
  "guides/schemas.md",
  "guides/testing.md",
  "guides/workflows.md",
  "operate/sqlite.md",
  "operate/monitoring.md",
  "operate/runbook.md",
  "migrate/crontab.md",
  "migrate/rq.md",
];

const pathOf = (page: string) => new URL(`../../docs/${page}`, import.meta.url).pathname;

for (const page of PAGES) {
  Deno.test(`the commands of docs/${page} print what it shows`, async () => {
    for (const tool of TOOLS[page] ?? []) requireTool(tool);
    assert(await runPage(pathOf(page)) > 0);
  });
}

for (const page of ["guides/unique.md", "guides/limits.md"]) {
  Deno.test(`the commands of docs/${page} print what it shows, on Redis`, async () => {
    await using redis = await startRedis();
    assert(await runPage(pathOf(page), { env: { JOBS_STORE: redis.url } }) > 0);
  });
}
