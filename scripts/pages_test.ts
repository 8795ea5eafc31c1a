import { assertEquals } from "@std/assert";
import { requireTool } from "../tests/support/tools.ts";
import { PAGE as OPTIONS_PAGE, page as optionsPage } from "./job_options.ts";
import { PAGE, page } from "./json_page.ts";
import { metrics, PAGE as METRICS_PAGE } from "./metrics_page.ts";
import { denoCommand, outputOf } from "./deno_command.ts";

const ROOT = new URL("../", import.meta.url).pathname;
const MANUAL = `${ROOT}packaging/man/jobs.1`;

Deno.test("docs/reference/json.md is up to date (deno task docs writes it)", async () => {
  assertEquals(await Deno.readTextFile(PAGE), page());
});

Deno.test("docs/reference/job-options.md is up to date (deno task docs writes it)", async () => {
  // Formatting pads the table's cells.
  const words = (text: string) => text.replaceAll(/ +/g, " ").replaceAll(/-{3,}/g, "---").trim();
  assertEquals(words(await Deno.readTextFile(OPTIONS_PAGE)), words(optionsPage()));
});

Deno.test("docs/reference/metrics.md has every metric with its labels and type (deno task docs writes it)", async () => {
  const page = await Deno.readTextFile(METRICS_PAGE);
  const documented = [...page.matchAll(/^\| `(jobs_\S+)` +\| (\S+) +\|/gm)].map(([, name, kind]) => `${name} ${kind}`);
  const exported = Object.values(await metrics()).flat().map(({ name, kind }) => `${name} ${kind}`);
  assertEquals(documented, exported);
});

Deno.test("the manual page is up to date (deno task docs writes it)", async () => {
  const { stdout } = await outputOf(denoCommand("run", "-A", "--no-prompt", `${ROOT}main.ts`, "man"));
  assertEquals(await Deno.readTextFile(MANUAL), stdout);
});

Deno.test("man formats the manual page without warnings", async () => {
  requireTool("groff");
  const args = ["-man", "-ww", "-Tutf8", "-P-cbou", MANUAL]; // without bold, which is written twice
  const { stdout, stderr } = await new Deno.Command("groff", { args }).output();
  assertEquals(new TextDecoder().decode(stderr), "");
  const text = new TextDecoder().decode(stdout);
  for (const part of ["jobs push — enqueue a job", "--unique-for DURATION", "EXIT CODES", "until it is stopped"]) {
    assertEquals(text.includes(part), true, part);
  }
});
