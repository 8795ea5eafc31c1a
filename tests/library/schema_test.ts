/** Schemas of arguments: every way to push checks them, and the schemas of two libraries. */
import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import * as v from "valibot";
import { z } from "zod";
import { Client } from "../../src/client/client.ts";
import { Crontab } from "../../src/client/crontab.ts";
import { CrontabError } from "../../src/cron/crontab.ts";
import { defineJob } from "../../src/handlers/handler.ts";
import { unstoredSchemas } from "../../src/handlers/option_typos.ts";
import { HandlerError, Registry } from "../../src/handlers/registry.ts";
import { InvalidPayload } from "../../src/job/errors.ts";
import { ClassSync } from "../../src/server/stats/class_sync.ts";
import { systemClock } from "../../src/clock.ts";
import { Bench } from "../support/bench.ts";
import { jobs } from "../support/process.ts";
import { startRedis } from "../support/redis.ts";

const HANDLERS = `
export const Mail = (_ctx, { email }) => email;
Mail.options = { result_ttl: "1h", schema: [{ type: "object", properties: { email: { type: "string" } }, required: ["email"] }] };
export const Parent = (ctx, args) => ctx.client.push("Mail", args);
export const Inner = (ctx, args) => ctx.client.push("Mail", args);
Inner.options = { isolate: true, retry: false };
Parent.options = { retry: false };
`;
const WRONG = [{ email: 5 }];
const SAID = "args[0].email is 5; expected string";

for (const kind of ["SQLite", "Redis"]) {
  Deno.test(`every way to push checks the schema of the class, and stores nothing that doesn't fit, on ${kind}`, async () => {
    await using redis = kind === "Redis" ? await startRedis() : undefined;
    await using bench = await Bench.open(redis?.url);
    const module = `${bench.folder}/mail.js`;
    await Deno.writeTextFile(module, HANDLERS);
    const worker = await bench.server([module, "--web", "0", "-q", "default"]);
    await using _worker = worker;
    const url = String((await worker.logged("Ready"))["web"]);
    const { client, store } = bench;

    const rejected = await assertRejects(() => client.push("Mail", WRONG), InvalidPayload, SAID);
    assertEquals(rejected.field, "args[0].email");
    await assertRejects(() => client.push("Mail", []), InvalidPayload, "args.length is 0; expected 1");
    const [wrong, right] = await client.pushBulk("Mail", [WRONG, [{ email: "a@b" }]]);
    assertEquals([wrong!.refused, right!.refused], [SAID, undefined]);
    assertEquals((await client.result(right!.jid!, { signal: AbortSignal.timeout(30_000) }))?.result, "a@b");
    const flow = client.flow("f", { a: { job: ["Mail", WRONG] } });
    await assertRejects(() => flow, InvalidPayload, `nodes.a.${SAID}`);
    await assertRejects(() => client.batch({ success: ["Mail", WRONG] as never }, () => {}), InvalidPayload);
    const crontab = new Crontab({ store, client });
    const entry = { name: "m", every: "1h", class: "Mail", args: WRONG };
    await assertRejects(() => crontab.add(entry), CrontabError, `Cron entry "m": ${SAID}`);
    await crontab.add({ ...entry, args: [{ email: "a@b" }] });
    const Mail = defineJob("Mail", () => {}, { schema: [{ type: "string" }] });
    const later = new Crontab({ store, client: new Client({ store, jobs: [Mail] }) });
    const skipped = 'Cannot enqueue cron entry "m": args[0] is {"email":"a@b"}; expected string';
    await assertRejects(() => later.run("m"), CrontabError, skipped);

    const on = { env: { JOBS_STORE: bench.url }, cwd: bench.folder };
    const pushed = await jobs(["push", "Mail", '{"email":5}'], on);
    assertEquals([pushed.code, pushed.stderr], [2, `jobs: ${SAID}\n`]);
    const many = await jobs(["push", "Mail", "--bulk", "-"], { ...on, stdin: '[{"email":5}]\n' });
    assertStringIncludes(many.stderr, SAID);

    const post = async (path: string, body: BodyInit, type: string) => {
      const headers = { "content-type": type, origin: url.replace(/\/$/, "") };
      const response = await fetch(`${url}${path}`, { method: "POST", headers, body, redirect: "manual" });
      return [response.status, await response.text()] as const;
    };
    const [status, answer] = await post(
      "api/v1/jobs",
      JSON.stringify({ class: "Mail", args: WRONG }),
      "application/json",
    );
    const { error } = JSON.parse(answer);
    assertEquals([status, error.code, error.field, error.message], [422, "invalid", "args[0].email", SAID]);
    const page = await (await fetch(`${url}push?class=Mail`)).text();
    const token = /name="token" value="([^"]+)"/.exec(page)?.[1] ?? "";
    const form = new URLSearchParams({ class: "Mail", args: JSON.stringify(WRONG), token });
    const [, shown] = await post("push", form.toString(), "application/x-www-form-urlencoded");
    assertStringIncludes(shown, SAID);
    assertStringIncludes(await (await fetch(`${url}classes/Mail`)).text(), "&quot;required&quot;");

    for (const parent of ["Parent", "Inner"]) {
      const jid = await client.push({ class: parent, args: [WRONG], failure_ttl: "1h" });
      const ended = await client.result(jid!, { signal: AbortSignal.timeout(30_000) });
      assertEquals(ended?.error?.message, SAID, parent);
    }
    const { enqueued, scheduled, dead } = await store.admin.stats();
    assertEquals([enqueued, scheduled, dead], [0, 0, 0]);
  });
}

Deno.test("schemas of zod are checked where the code is, and as JSON Schema by every other program", async () => {
  await using bench = await Bench.open();
  const address = z.object({ email: z.email(), plan: z.enum(["free", "paid"]).default("free") })
    .refine(({ email }) => !email.endsWith("@blocked.example"), "blocked");
  const Welcome = defineJob("Welcome", (_ctx, _to: z.input<typeof address>) => {}, { schema: z.tuple([address]) });
  const registry = new Registry().define(Welcome);
  await new ClassSync({ store: bench.store, registry, clock: systemClock }).step();
  assertEquals(unstoredSchemas(registry.list()), []);

  const own = new Client({ store: bench.store, jobs: [Welcome] });
  const to = (email: unknown) => [{ email }] as never;
  assert(await own.push(Welcome, to("ada@example.com")));
  await assertRejects(
    () => own.push(Welcome, to(5)),
    InvalidPayload,
    "args[0].email is 5; expected what its schema accepts",
  );
  await assertRejects(() => own.push(Welcome, to("a@blocked.example")), InvalidPayload, "blocked");
  assert(await bench.client.push("Welcome", to("a@blocked.example")), "JSON Schema has no such rule");
  await assertRejects(() => bench.client.push("Welcome", to(5)), InvalidPayload, "args[0].email is 5; expected string");
  const expected = 'args[0].email is "a@@b"; expected a text of the format email';
  await assertRejects(() => bench.client.push("Welcome", to("a@@b")), InvalidPayload, expected);
});

Deno.test("a schema of a library without JSON Schema checks the pushes of its program, with a warning", async () => {
  await using bench = await Bench.open();
  const Sum = defineJob("Sum", (_ctx, a: number) => a, { schema: [v.pipe(v.number(), v.minValue(1))] });
  const registry = new Registry().define(Sum);
  await new ClassSync({ store: bench.store, registry, clock: systemClock }).step();
  assertStringIncludes(unstoredSchemas(registry.list()).join(), "The schema of class Sum has no JSON Schema");
  const own = new Client({ store: bench.store, jobs: [Sum] });
  await assertRejects(() => own.push(Sum, [0]), InvalidPayload, "args[0] is 0; expected what its schema accepts");
  assert(await bench.client.push("Sum", [0]));
});

Deno.test("an invalid schema fails the registration of its class, with its path", () => {
  let message = "";
  try {
    new Registry().add("Mail", () => {}, { schema: [{ properties: { a: { type: "strin" } } }] });
  } catch (error) {
    if (error instanceof HandlerError) message = error.message;
  }
  assertStringIncludes(
    message,
    'Options of class "Mail" in program: schema[0].properties.a.type is "strin"; expected string',
  );
});

Deno.test("a push keeps a field of the name schema in its payload", async () => {
  await using bench = await Bench.open();
  const jid = await bench.client.push("Report", [], { schema: "tenant_1" });
  const [entry] = await bench.store.jobs.find([jid!]);
  assertEquals(JSON.parse(entry!.payload).schema, "tenant_1");
});
