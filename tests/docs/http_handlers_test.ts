/** The endpoints of docs/guides/http-handlers.md, called by a real worker. */
import { assertEquals } from "@std/assert";
import { dirname } from "node:path";
import { TextLineStream } from "@std/streams/text-line-stream";
import { Bench } from "../support/bench.ts";
import { blocksOf } from "../support/page_runner.ts";
import { startPostgres } from "../support/postgres.ts";
import { freePort } from "../support/redis.ts";
import { sharedRedisUrl, shareRedis } from "../support/shared_redis.ts";
import { offlineDeno } from "../../scripts/deno_command.ts";
import { requireTool } from "../support/tools.ts";

const PAGE = await Deno.readTextFile(new URL("../../docs/guides/http-handlers.md", import.meta.url));
const SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
const WRONG = "whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";
/** Serves the route as Next.js does. */
const SERVE = `import { POST } from "./app/jobs/mail/route.js";
Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: ({ port }) => console.log(port) }, POST);`;

shareRedis();
for (
  const [language, command, kind] of [
    ["Next.js", "deno", "SQLite"],
    ["Next.js", "deno", "Redis"],
    ["Next.js", "deno", "PostgreSQL"],
    ["Python", "python3", "SQLite"],
  ] as const
) {
  Deno.test(`the endpoint in ${language} verifies the signature and answers, on ${kind}`, async () => {
    if (command === "python3") requireTool(command);
    await using postgres = kind === "PostgreSQL" ? await startPostgres() : undefined;
    const store = kind === "Redis" ? await sharedRedisUrl() : postgres?.url(await postgres.create());
    await using bench = await Bench.open(store);
    for (const { file, text } of blocksOf(PAGE)) {
      if (file === undefined) continue;
      const path = `${bench.folder}/${file}`;
      await Deno.mkdir(dirname(path), { recursive: true });
      await Deno.writeTextFile(path, text);
    }
    await Deno.writeTextFile(`${bench.folder}/serve.js`, SERVE);
    const [program, ...args] = command === "deno" ? offlineDeno("run", "-A", "serve.js") : [command, "mail.py", "0"];
    await using app = new Deno.Command(program, {
      args,
      cwd: bench.folder,
      env: { JOBS_SECRET: SECRET },
      stdout: "piped",
      stderr: "null",
    }).spawn();
    const lines = app.stdout.pipeThrough(new TextDecoderStream()).pipeThrough(new TextLineStream());
    const reader = lines.getReader();
    const url = `http://127.0.0.1:${(await reader.read()).value}/jobs/mail`;
    const entries = [SECRET, WRONG].map((secret, i) => ({
      ...{ class: i === 0 ? "Mail" : "Forged", url, secret, retry: 0, allowPrivate: true },
    }));
    const port = freePort();
    await using _worker = await bench.server(["--web", `${port}`], {
      JOBS_HTTP: JSON.stringify(entries),
      JOBS_REPORT_URL: `http://127.0.0.1:${port}`,
    });
    const [good, forged] = await Promise.all(["Mail", "Forged"].map((name) => bench.push(name, ["bob@example.com"])));
    assertEquals((await bench.client.result(good!))?.result, { to: "bob@example.com", attempt: 1 });
    const { error } = (await bench.client.result(forged!))!;
    assertEquals(/: 401 .*The signature is wrong/.test(error!.message), true, error!.message);
    app.kill("SIGKILL");
    await reader.cancel();
  });
}
