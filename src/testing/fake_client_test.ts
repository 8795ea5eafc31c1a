import { assert, assertEquals, assertMatch, assertRejects, assertThrows } from "@std/assert";
import type { JobContext } from "../handlers/context.ts";
import { defineJob } from "../handlers/handler.ts";
import { Discard, InvalidPayload, Kill, Snooze } from "../job/errors.ts";
import { context, fakeClient } from "./fake_client.ts";

const Add = defineJob("Add", (_ctx, a: number, b: number) => a + b, { queue: "sums" });
const Chain = defineJob("Chain", async (ctx, left: number): Promise<void> => {
  ctx.log.info(`left ${left}`);
  if (left > 0) await ctx.client.push("Chain", [left - 1], { in: "1d" });
});

Deno.test("pushed returns the jobs of a class with their arguments and options; nothing runs before drain", async () => {
  const client = fakeClient({ jobs: [Add] });
  await client.push(Add, [1, 2], { in: "5m" });
  await client.push("Other", []);
  const [job] = await client.pushed(Add);
  const sum: number = job!.args[0] + job!.args[1];
  assertEquals([sum, job!.queue, job!.state], [3, "sums", "pending"]);
  assertEquals(job!.at.getTime() - client.now.getTime(), 300_000);
  assertEquals((await client.pushed()).length, 2);
});

Deno.test("drain runs due jobs, and the jobs that these push, up to the given time", async () => {
  const client = fakeClient({ jobs: [Add, Chain] });
  await client.push(Add, [1, 2]);
  await client.push(Chain, [9]);
  assertEquals(await client.drain(), 2);
  assertEquals((await client.pushed(Add))[0]!.result, 3);
  const begin = client.now.getTime();
  assertEquals(await client.drain({ until: "7d" }), 7);
  assertEquals(client.now.getTime() - begin, 7 * 86_400_000);
  assertEquals(client.logged.at(-1), "left 2");
});

Deno.test("failures are retried at their time, and Snooze, Discard and Kill decide, as in a worker", async () => {
  let failures = 0;
  const Flaky = defineJob("Flaky", (ctx) => {
    if (++failures < 3) throw new Error("down");
    return ctx.attempt;
  }, { backoff: { type: "fixed", base: "1m" } });
  const Ends = defineJob("Ends", (ctx, how: string) => {
    if (how === "discard") throw new Discard();
    if (how === "kill") throw new Kill();
    if (how === "snooze" && ctx.attempt === 1 && failures === 0) throw new Snooze("1h");
    throw new Error("no");
  }, { retry: 0 });
  const client = fakeClient({ jobs: [Flaky, Ends] });
  await client.push(Flaky, []);
  for (const how of ["discard", "kill", "fail"]) await client.push(Ends, [how]);
  await client.drain({ until: "90s" });
  assertEquals([(await client.pushed(Flaky))[0]!.state, failures], ["pending", 2]);
  await client.drain({ until: "1m" });
  assertEquals([(await client.pushed(Flaky))[0]!.state, (await client.pushed(Flaky))[0]!.result], ["succeeded", 3]);
  assertEquals((await client.pushed(Ends)).map(({ state }) => state), ["discarded", "dead", "dead"]);
});

Deno.test("unique and idempotent pushes behave as on a store", async () => {
  const client = fakeClient({ jobs: [Add] });
  const unique = { unique_for: "1h" } as const;
  const first = await client.push(Add, [1, 1], unique);
  assertEquals([typeof first, await client.push(Add, [1, 1], unique)], ["string", undefined]);
  const once = await client.push(Add, [2, 2], { id: "a" });
  await client.drain();
  assertEquals(await client.push(Add, [2, 2], { id: "a" }), once);
  assertEquals(typeof await client.push(Add, [1, 1], unique), "string");
  await client.drain({ until: "2d" });
  assertEquals(await client.push(Add, [2, 2], { id: "a" }) === once, false);
});

Deno.test("a push replaces the waiting job that has its unique lock, as on a store", async () => {
  const client = fakeClient({ jobs: [Add] });
  const replace = { unique_for: "1h", unique_key: "args[0]", on_duplicate: "replace" } as const;
  const first = await client.tryPush({ class: Add, args: [1, 1], ...replace, in: "1m" });
  assertEquals(await client.tryPush({ class: Add, args: [1, 2], ...replace }), { kind: "replaced", jid: first.jid! });
  await client.drain();
  assertEquals((await client.pushed(Add)).map(({ result }) => result), [3]);
  assertEquals((await client.tryPush({ class: Add, args: [1, 3], ...replace })).kind, "stored");
  const Self = defineJob("Self", async (ctx, n: number) => {
    if (n === 1) await ctx.client.push("Self", [2], { unique_for: "1h", unique_key: "a", on_duplicate: "replace" });
  });
  const selfish = fakeClient({ jobs: [Self] });
  await selfish.push(Self, [1], { unique_for: "1h", unique_key: "a", on_duplicate: "replace" });
  await selfish.drain();
  assertEquals((await selfish.pushed(Self)).map(({ args }) => args), [[1]], "a running job is not replaced");
});

Deno.test("debounced and throttled pushes behave as on a store", async () => {
  const client = fakeClient({ jobs: [Add] });
  const debounce = { debounce: "30s", debounce_key: "args[0]", debounce_max: "1m" } as const;
  const first = await client.tryPush({ class: Add, args: [1, 1], ...debounce });
  assertEquals(first.kind, "stored");
  await client.drain({ until: "20s" });
  assertEquals(await client.tryPush({ class: Add, args: [1, 2], ...debounce }), { kind: "replaced", jid: first.jid! });
  await client.drain({ until: "20s" });
  await client.push(Add, [1, 3], debounce);
  await client.push(Add, [2, 1], debounce);
  await client.drain({ until: "20s" });
  assertEquals((await client.pushed(Add)).map(({ result }) => result), [4, undefined]);
  const throttle = { throttle: "2/1m", throttle_key: "all" } as const;
  const jids = [await client.push(Add, [1, 1], throttle), await client.push(Add, [1, 1], throttle)];
  const throttled = await client.tryPush({ class: Add, args: [5, 5], ...throttle });
  assert(throttled.kind === "throttled");
  assertEquals([throttled.throttledBy, throttled.retryInMs], [jids[0], 60_000]);
  await client.drain({ until: "1m" });
  assertEquals(typeof await client.push(Add, [1, 1], throttle), "string");
});

Deno.test("drain runs durable steps, waits and children", async () => {
  const Double = defineJob("Double", (_ctx, n: number) => 2 * n);
  const Order = defineJob("Order", async (ctx, n: number) => {
    const charged = await ctx.step("charge", () => n + 1);
    await ctx.sleep("nap", "2d");
    const answer = await ctx.waitFor("answer", { key: "order", timeout: "7d" });
    return [charged, answer, await ctx.run("double", Double, [charged])];
  });
  const client = fakeClient({ jobs: [Double, Order] });
  await client.push(Order, [1]);
  await client.drain({ until: "2d" });
  assertEquals((await client.pushed(Order))[0]!.state, "pending");
  await client.signal("order", "yes");
  await client.drain();
  assertEquals((await client.pushed(Order))[0]!.result, [2, "yes", 4]);
  assertEquals((await client.pushed(Double))[0]!.state, "succeeded");
});

Deno.test("members of a cancelled batch end without running", async () => {
  const client = fakeClient({ jobs: [Add] });
  await client.push(Add, [2, 2]);
  const batch = await client.batch({}, (add) => add(Add, [3, 3]));
  await client.batches.cancel(batch.id);
  assertEquals(await client.drain(), 1);
  const states = (await client.pushed(Add)).map(({ state, result }) => [state, result]);
  assertEquals(states, [["succeeded", 4], ["cancelled", undefined]]);
});

Deno.test("an invalid retryIn ends the drain with an error", async () => {
  const Bad = defineJob("Bad", () => {
    throw new Error("no");
  }, { retryIn: () => "whenever" });
  const client = fakeClient({ jobs: [Bad] });
  await client.push(Bad, []);
  await assertRejects(() => client.drain(), Error, "retryIn failed, default backoff used (Bad): It returned");
  assertEquals((await client.pushed(Bad))[0]!.state, "pending");
});

Deno.test("a class without a handler, and a job that pushes itself forever, end the drain with an error", async () => {
  const client = fakeClient();
  await client.push("Missing", []);
  await assertRejects(() => client.drain(), Error, 'No handler for class "Missing"');
  let ran = 0;
  const Self = defineJob("Self", async (ctx): Promise<void> => {
    ran++;
    await ctx.client.push("Self", []);
  });
  const selfish = fakeClient({ jobs: [Self] });
  await selfish.push(Self, []);
  await assertRejects(() => selfish.drain({ maxAttempts: 100 }), Error, "More than 100 attempts: a job pushes itself");
  assertEquals(ran, 100);
});

Deno.test("a step without a worker is an error that names testJob", async () => {
  const Order = defineJob("Order", (ctx) => ctx.step("charge", () => 1));
  const message = "Steps need a worker that performs the job; in a test, use testJob";
  await assertRejects(async () => await Order(await context(Order)), TypeError, message);
});

Deno.test("context returns the first argument of a handler", async () => {
  const logged: string[] = [];
  const stop = new AbortController();
  const client = fakeClient();
  const Job = defineJob("Job", async (ctx, name: string) => {
    ctx.log.info(`hello ${name}`);
    ctx.progress(50, "half");
    await ctx.client.push("Next", [ctx.attempt]);
    return [ctx.class, ctx.attempt, ctx.payload["tenant"], ctx.stopping.aborted, ctx.signal.aborted];
  });
  stop.abort();
  const ctx = await context(Job, { attempt: 3, payload: { tenant: "acme" }, stopping: stop.signal, client, logged });
  assertEquals(await Job(ctx, "Ada"), ["Job", 3, "acme", true, false]);
  assertEquals([logged, (await client.pushed("Next"))[0]!.args], [["hello Ada"], [3]]);
});

Deno.test("performs the handlers of a module as a worker does, with their options", async () => {
  const handlers = {
    Charge: Object.assign(
      async (ctx: JobContext, id: number) => {
        if (ctx.attempt === 1) throw new Error("declined");
        await ctx.client.push("Billing::Mail", [id]);
      },
      { options: { queue: "billing", retry: 1 } },
    ),
    handlers: { "Billing::Mail": (_ctx: JobContext, id: number) => `mailed ${id}` },
    default: 1,
    limit: 5,
  };
  const client = fakeClient({ modules: [handlers] });
  await client.push("Charge", [7]);
  await client.drain({ until: "1h" });
  const seen = (await client.pushed()).map(({ class: name, queue, state, result }) => [name, queue, state, result]);
  assertEquals(seen, [["Charge", "billing", "succeeded", undefined], [
    "Billing::Mail",
    "default",
    "succeeded",
    "mailed 7",
  ]]);
  assertThrows(
    () => fakeClient({ modules: [{ limit: 5 }] }),
    Error,
    'Handlers "modules[0]" cannot be loaded: it exports no',
  );
  assertThrows(() => fakeClient({ jobs: [Add], modules: [{ Add: () => 1 }] }), Error, 'Class "Add"');
});

Deno.test("rejects a plain function and anything else that isn't a definition, by name", async () => {
  const greet = (_ctx: unknown, name: string) => name;
  const wrong: [unknown, RegExp][] = [
    [
      greet,
      /^Invalid "jobs\[1\]": expected what defineJob returns, such as defineJob\("greet", greet\); found the function "greet"$/,
    ],
    [undefined, /^Invalid "jobs\[1\]": .*defineJob\("Greet", handler\); found undefined$/],
    [null, /; found null$/],
    [{ class: "Greet" }, /; found object$/],
  ];
  for (const [job, message] of wrong) {
    assertMatch(assertThrows(() => fakeClient({ jobs: [Add, job as typeof Add] }), TypeError).message, message);
  }
  assertThrows(() => fakeClient({ jobs: { Add } as never }), TypeError, 'Invalid "jobs": expected a list');
  const client = fakeClient();
  await assertRejects(() => client.push(greet as never, ["Ada"]), InvalidPayload, 'defineJob("greet", greet)');
  await assertRejects(() => client.pushed(greet as never), TypeError, 'defineJob("greet", greet)');
  await assertRejects(() => context(greet as never), TypeError, 'defineJob("greet", greet)');
});
