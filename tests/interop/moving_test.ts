/** The way of a class from Sidekiq to `jobs` and back, as docs/migrate/sidekiq.md describes it. */
import { assertEquals, assertMatch } from "@std/assert";
import { Bench } from "../support/bench.ts";
import { jobs, JobsProcess } from "../support/process.ts";
import { startRedis } from "../support/redis.ts";
import { ruby, Sidekiq } from "./ruby.ts";

const page = await Deno.readTextFile(new URL("../../docs/migrate/sidekiq.md", import.meta.url));
const program = await Deno.readTextFile(new URL("./ruby/workers.rb", import.meta.url));

Deno.test("jobs of a moved class in the old queue, retrying and scheduled reach its new handler", async () => {
  const stub = program.match(/^class Moved$[^]*?^end$/m)![0];
  const shown = page.replaceAll(/^ {3}/gm, ""); // within a list
  assertEquals(
    shown.includes(stub.replace("Worker", "Job").replaceAll("Moved", "Resize")),
    true,
    "the page has the stub",
  );
  await using redis = await startRedis();
  await using bench = await Bench.open(redis.url);
  const push = (more: string) =>
    `Sidekiq::Client.push({ "class" => "Moved", "args" => [${more}], "queue" => "default" }`;
  await ruby(redis.url, `${push('"queued"')}); ${push('"later"')}.merge("at" => Time.now.to_f + 1)); 1`);
  await ruby(
    redis.url,
    `payload = { "class" => "Moved", "args" => ["retried"], "queue" => "default", "jid" => "a" * 24, "retry" => true,
       "retry_count" => 0, "error_class" => "RuntimeError", "error_message" => "x" }
     Sidekiq.redis { |c| c.zadd("retry", Time.now.to_f + 3600, Sidekiq.dump_json(payload)) }; 1`,
  );
  for (const state of ["queued", "retrying"]) {
    const args = ["move", "--all", state, "--class", "Moved", "--to", "js", "--yes", "--store", redis.url];
    assertMatch((await jobs(args)).stdout, /^Moved 1 \w+ job /, state);
  }
  const handlers = `${bench.folder}/moved.js`;
  await Deno.writeTextFile(handlers, "export const Moved = (ctx, what) => ctx.log.info(`got ${what}`);");
  await using server = new JobsProcess({ store: redis.url, args: [handlers, "-q", "js"] });
  await server.logged("Ready");
  await server.logged("got queued");
  await server.logged("got retried");
  // The scheduled one comes due in the queue of its payload, where Ruby's stub forwards it.
  await using _sidekiq = await Sidekiq.start(redis.url, ["default"]);
  await server.logged("got later");
});

Deno.test("on the way back, Ruby takes the jobs of the queue that was ours", async () => {
  await using redis = await startRedis();
  await using bench = await Bench.open(redis.url);
  await bench.push("Note", [bench.notes, "queued"], { queue: "js" });
  await bench.push("Note", [bench.notes, "later"], { queue: "js", in: "1s" });
  await using _sidekiq = await Sidekiq.start(redis.url, ["default", "js"]);
  await bench.until(async () => (await bench.readNotes()).length === 2, "both are done");
  assertEquals((await bench.readNotes()).sort(), ["later", "queued"]);
});
