/**
 * The options of handlers apply to pushes from everywhere, with and without a running worker.
 *
 * @module
 */
import { assertEquals, assertMatch } from "@std/assert";
import { Bench } from "../support/bench.ts";
import { jobs } from "../support/process.ts";
import { startRedis } from "../support/redis.ts";

const HANDLERS = `
export function Careful() {}
Careful.options = { queue: "slow", retry: 2, tags: ["files"], unique_for: "1h", retryIn: () => 5 };
export async function Apart(ctx) { for (const name of ["Careful", "Elsewhere"]) await ctx.client.push(name, ["apart"]); }
Apart.options = { isolate: true, queue: "other" };
`;

for (const kind of ["SQLite", "Redis"] as const) {
  Deno.test(`jobs push applies the options of a handler, on ${kind}`, async () => {
    await using redis = kind === "Redis" ? await startRedis() : undefined;
    await using bench = await Bench.open(redis?.url);
    const handlers = `${bench.folder}/careful.js`;
    await Deno.writeTextFile(handlers, HANDLERS);
    const push = (...args: string[]) => jobs(["push", ...args, "--store", bench.url]);
    const pushed = async (jid: string) => JSON.parse((await bench.store.jobs.find([jid.trim()]))[0]!.payload);

    const early = await pushed((await push("Careful", "0")).stdout);
    assertEquals([early.queue, early.retry], ["default", true]);
    const server = await bench.server([handlers, "-q", "other"]);
    await bench.store.classes.declare([{ name: "Elsewhere", options: '{"queue":"far"}' }]);

    const first = await push("Careful", "1");
    assertMatch(first.stderr, /no worker processes queue "slow"/);
    const payload = await pushed(first.stdout);
    assertEquals([payload.queue, payload.retry, payload.tags, payload.unique_for], ["slow", 2, ["files"], 3_600]);
    const duplicate = await push("Careful", "1");
    assertEquals([duplicate.code, duplicate.stdout], [0, first.stdout], "the job that holds the lock is named");
    assertEquals((await pushed((await push("Careful", "1", "-q", "mine", "--retry", "9")).stdout)).queue, "mine");
    assertMatch(
      (await push("Unregistered", "-q", "other")).stderr,
      /it waits: no worker of queue "other" has a handler for class "Unregistered"/,
    );

    // An isolated handler knows the classes of its worker, and the registered classes of others.
    await push("Apart");
    await bench.until(async () =>
      (await bench.store.admin.stats()).queues.some(({ name, size }) => name === "far" && size === 1)
    );
    const [far] = (await bench.store.admin.page({ in: "queue", queue: "far" })).entries;
    assertEquals(JSON.parse(far!.payload).class, "Elsewhere");
    const slow = (await bench.store.admin.page({ in: "queue", queue: "slow" })).entries.map(({ payload }) => payload);
    assertEquals(slow.filter((payload) => payload.includes('"apart"')).length, 1);

    // The options of a canary are in force while it is online.
    const canaryHandlers = `${bench.folder}/canary.js`;
    await Deno.writeTextFile(canaryHandlers, HANDLERS.replace('"slow"', '"canary"'));
    const canary = await bench.server([canaryHandlers, "-q", "unused"]);
    assertEquals((await pushed((await push("Careful", "canary")).stdout)).queue, "canary");
    canary.kill("SIGTERM");
    await canary.status();
    assertEquals((await pushed((await push("Careful", "after it")).stdout)).queue, "slow");

    server.kill("SIGTERM");
    await server.status();
    const late = await pushed((await push("Careful", "2")).stdout);
    assertEquals([late.queue, late.retry], ["slow", 2]);
  });
}
