/** The programs of the pages about pushing from Node and Python, run as they are written against a real worker. */
import { assert, assertEquals } from "@std/assert";
import { Bench } from "../support/bench.ts";
import { blocksOf } from "../support/page_runner.ts";
import { requireTool } from "../support/tools.ts";

const ROOT = new URL("../../", import.meta.url).pathname;
const HANDLERS = "export const Greet = (_ctx, name) => name;";
const LANGUAGES = { js: ["node", "main.mjs"], python: ["python3", "main.py"], ruby: ["ruby", "main.rb"] } as const;
const ON_PAGE = { clients: ["js", "python", "ruby"], pushing: ["js", "python"] } as const;

for (const [page, languages] of Object.entries(ON_PAGE)) {
  for (const language of languages) {
    const [command, name] = LANGUAGES[language];
    Deno.test(`the ${command} program of docs/guides/${page}.md runs`, async () => {
      requireTool(command);
      await using bench = await Bench.open();
      const blocks = blocksOf(await Deno.readTextFile(`${ROOT}docs/guides/${page}.md`));
      const module = `${bench.folder}/handlers.js`;
      await Deno.writeTextFile(module, blocks.find(({ file }) => file === "handlers.js")?.text ?? HANDLERS);
      await using worker = await bench.server([module, "--web", "0"]);
      const url = String((await worker.logged("Ready"))["web"]).replace(/\/$/, "");
      for (const client of ["node/jobs_client.mjs", "python/jobs_client.py", "ruby/jobs.rb"]) {
        await Deno.copyFile(`${ROOT}clients/${client}`, `${bench.folder}/${client.split("/")[1]}`);
      }
      const programs = blocks.filter((block) => block.language === language && block.file === undefined);
      assert(programs.length > 0);
      // A later block continues the first one.
      const text = programs.map(({ text }) => text).join("\n").replace(`from "jobs-client"`, `from "./jobs_client.mjs"`)
        .replace(`"http://127.0.0.1:7433"`, `"${url}"`)
        .replace(`"http://127.0.0.1:7433/`, `"${url}/`).replace(`{ in: "5s"`, `{ in: "0s"`).replace(
          `in_="5s"`,
          `in_="0s"`,
        ).replace(`in: "5s"`, `in: "0s"`);
      await Deno.writeTextFile(`${bench.folder}/${name}`, text);
      const { success, stdout, stderr } = await new Deno.Command(command, { args: [name], cwd: bench.folder }).output();
      const decoder = new TextDecoder();
      assert(success, decoder.decode(stderr));
      assertEquals(decoder.decode(stdout) + decoder.decode(stderr), "");
      await worker.logged("Done");
    });
  }
}
