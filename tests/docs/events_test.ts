/** The progress bar of docs/guides/events.md, with a real server, a page that is cut off, and each store. */
import { assertEquals, assertGreater } from "@std/assert";
import { TextLineStream } from "@std/streams/text-line-stream";
import { newToken } from "../../src/web/auth/accounts.ts";
import { Bench } from "../support/bench.ts";
import { TestEventSource } from "../support/event_source.ts";
import { blocksOf } from "../support/page_runner.ts";
import { startPostgres } from "../support/postgres.ts";
import { sharedRedisUrl, shareRedis } from "../support/shared_redis.ts";
import { requireTool } from "../support/tools.ts";

shareRedis();
const PAGE = await Deno.readTextFile(new URL("../../docs/guides/events.md", import.meta.url));
const TOTAL = 12;

for (const kind of ["SQLite", "Redis", "PostgreSQL"] as const) {
  Deno.test(`the progress bar of a page reaches its end, on ${kind}`, async () => {
    requireTool("node");
    await using postgres = kind === "PostgreSQL" ? await startPostgres() : undefined;
    const url = kind === "Redis" ? await sharedRedisUrl() : postgres?.url(await postgres.create());
    await using bench = await Bench.open(url);
    const { token, secret } = newToken();
    await using worker = await bench.server(["--web", "0"], {
      JOBS_RETENTION_EVENTS: "1h",
      JOBS_WEB_USERS: `page:reader:${secret}`,
    });
    const web = String((await worker.logged("Ready"))["web"]).replace(/\/$/, "");
    const program = blocksOf(PAGE).find(({ file }) => file === "progress.mjs")!.text;
    await Deno.writeTextFile(`${bench.folder}/progress.mjs`, program);
    await using app = new Deno.Command("node", {
      args: [`${bench.folder}/progress.mjs`],
      env: { JOBS_URL: web, JOBS_TOKEN: token, PORT: "0" },
      stdout: "piped",
      stderr: "inherit",
    }).spawn();
    const lines = app.stdout.pipeThrough(new TextDecoderStream()).pipeThrough(new TextLineStream()).getReader();
    const base = `http://127.0.0.1:${(await lines.read()).value}`;

    const batch = await bench.client.batch({ name: "import" }, async (add) => {
      // The last one waits for the page.
      for (let n = 1; n < TOTAL; n++) await add("Noop", []);
      await add("Listen", [bench.notes]);
    });
    await bench.client.push("Noop", []);
    const html = await (await fetch(`${base}/imports/${batch.id}`)).text();
    const bar = { value: 0, max: Number(/max="(\d+)"/.exec(html)![1]) };
    const [, script] = /<script>([\s\S]*)<\/script>/.exec(html)!;
    const closed = Promise.withResolvers<void>();
    const sources: TestEventSource[] = [];
    class Source extends TestEventSource {
      constructor(path: string) {
        super(base + path);
        sources.push(this);
      }
      override close(): void {
        super.close();
        closed.resolve();
      }
    }
    new Function("document", "EventSource", script!)({ querySelector: () => bar }, Source);
    await bench.until(() => bar.value === TOTAL - 1, "all but one have ended");
    sources[0]!.cut();
    await bench.go();
    await closed.promise;
    assertEquals(bar, { value: TOTAL, max: TOTAL });
    assertGreater(sources[0]!.connections, 1);
    await sources[0]![Symbol.asyncDispose]();
    app.kill("SIGKILL");
    await lines.cancel();
  });
}
