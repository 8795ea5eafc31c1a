/** Webhooks of real workers, with a real receiver. */
import { assertEquals, assertStringIncludes } from "@std/assert";
import { signedHeaders } from "../../src/handlers/http/signature.ts";
import type { Notice } from "../../src/job/webhook.ts";
import { Bench } from "../support/bench.ts";
import { answerText, type ArrivedRequest, HttpEndpoint } from "../support/http_endpoint.ts";
import { blocksOf } from "../support/page_runner.ts";
import { startPostgres } from "../support/postgres.ts";
import { startRedis } from "../support/redis.ts";
import { jobs, type JobsProcess, MORTAL } from "../support/process.ts";
import { sharedRedisUrl, shareRedis } from "../support/shared_redis.ts";

shareRedis();

const SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
const OLD_SECRET = `whsec_${btoa("x".repeat(24))}`;
/** How often the store is killed, and a worker. */
const KILLS = Number(Deno.env.get("WEBHOOK_KILLS") ?? 1);
const BACKOFF = { type: "fixed", base: 0.2, jitter: 0 };
const secretBytes = (secret: string) => Uint8Array.fromBase64(secret.slice("whsec_".length));

/** Returns the message of a request, as `TYPE JID`. */
function toldBy({ body }: ArrivedRequest): string {
  const { type, data } = JSON.parse(body) as Pick<Notice, "type" | "data">;
  return `${type} ${data["jid"] ?? data["id"]}`;
}

function serve(bench: Bench, webhooks: readonly object[], args: string[] = [], env = {}): Promise<JobsProcess> {
  const entries = webhooks.map((entry) => ({ allowPrivate: true, ...entry }));
  return bench.server(args, { JOBS_WEBHOOKS: JSON.stringify(entries), ...env });
}

/** Runs a test on each store. */
function onEachStore(title: string, test: (bench: Bench) => Promise<void>): void {
  Deno.test(`${title}, on SQLite`, async () => {
    await using bench = await Bench.open();
    await test(bench);
  });
  Deno.test(`${title}, on Redis`, async () => {
    await using bench = await Bench.open(await sharedRedisUrl());
    await test(bench);
  });
  Deno.test(`${title}, on PostgreSQL`, async () => {
    await using server = await startPostgres();
    await using bench = await Bench.open(server.url(await server.create()));
    await test(bench);
  });
}

Deno.test("sends each end of a job, and no others, with workers that are killed at any moment, on SQLite", async () => {
  await using bench = await Bench.open();
  let requests = 0;
  await using endpoint = await HttpEndpoint.open((_, { write, close }) =>
    // Some answers are lost, and some are refusals.
    ++requests % 7 === 0 ? close() : write(answerText(requests % 11 === 0 ? 500 : 200))
  );
  const all = {
    url: endpoint.url,
    on: ["succeeded", "dead", "failed", "cancelled"],
    retry: 100,
    backoff: BACKOFF,
    concurrency: 5,
  };
  const kept = { result_ttl: "1h", failure_ttl: "1h" };
  const start = () => serve(bench, [all], ["-c", "5"], { ...MORTAL, JOBS_HEARTBEAT: "1s" });
  await using workers = new AsyncDisposableStack();
  const first = workers.use(await start());
  const jids: string[] = [];
  for (let n = 0; n < 60; n++) {
    const [name, more] = ([["Noop", {}], ["Fail", { retry: 0 }], ["Fail", { retry: false }]] as const)[n % 3]!;
    jids.push(await bench.push(name, [], { ...kept, ...more }));
    if (n === 25) first.kill("SIGKILL");
    if (n === 30) workers.use(await start());
  }
  const running = await bench.push("Ignore", [bench.notes], kept);
  const cancelled = await bench.push("Noop", [], { in: "1h" });
  const later = await bench.push("Noop", [], { in: "1h" });
  await bench.noted(`start ${running}`);
  workers.use(await start());
  await jobs(["cancel", cancelled, "--store", bench.url]);
  await bench.go();
  const ended = [...jids, running, cancelled];
  const records = await Promise.all(ended.map((jid) => bench.client.result(jid)));
  const expected = records.map((record) => `${record!.state} ${record!.jid}`).sort();
  assertEquals(new Set(records.map((record) => record!.state)), new Set(["succeeded", "dead", "failed", "cancelled"]));
  const heard = () => [...new Set(endpoint.requests.map(toldBy))].sort();
  await bench.until(() => heard().length >= expected.length, "all are received");
  assertEquals(heard(), expected);
  assertEquals((await bench.store.jobs.find([later]))[0]!.place.in, "scheduled");
  const ids = Map.groupBy(endpoint.requests, toldBy).values().map((same) =>
    new Set(same.map(({ headers }) => headers["webhook-id"])).size
  );
  assertEquals(new Set(ids), new Set([1]), "each event has one ID in all its attempts");
});

for (const kind of ["Redis", "PostgreSQL"] as const) {
  Deno.test(`sends each end while workers and the store are killed, on ${kind}`, async () => {
    await using server = kind === "Redis" ? await startRedis({ aof: "always" }) : await startPostgres();
    await using bench = await Bench.open("create" in server ? server.url(await server.create()) : server.url);
    await using endpoint = await HttpEndpoint.open((_, { write }) => write(answerText(200)));
    const webhook = { url: endpoint.url, on: ["succeeded", "dead"], retry: 100, backoff: BACKOFF };
    const start = () => serve(bench, [webhook], ["-c", "5"], { ...MORTAL, JOBS_HEARTBEAT: "1s" });
    await using workers = new AsyncDisposableStack();
    let worker = workers.use(await start());
    const jids = new Set<string>();
    const push = async (count: number) => {
      const before = jids.size;
      while (jids.size < before + count) {
        const [name, more] = jids.size % 4 === 0 ? ["Fail", { retry: 0, failure_ttl: "1h" }] : ["Noop", {}];
        const job = { class: name as string, args: [], options: { result_ttl: "1h", ...more as object } };
        const { jid } = await bench.client.tryPush(job).catch(() => ({ jid: undefined }));
        if (jid !== undefined) jids.add(jid);
      }
    };
    for (let i = 0; i < KILLS; i++) {
      await push(30);
      const pushing = push(30);
      await server.kill();
      await server.start();
      await pushing;
      worker.kill("SIGKILL");
      worker = workers.use(await start());
    }
    const ended = async () => {
      const records = await Promise.all([...jids].map((jid) => bench.client.result(jid)));
      return records.map((record) => `${record!.state} ${record!.jid}`).sort();
    };
    const expected = await ended();
    const received = () => new Set(endpoint.requests.map(toldBy));
    await bench.until(() => expected.every((event) => received().has(event)), "all are received");
    // A push whose reply was lost is not in the list, but has its webhook.
    assertEquals([...received()].filter((event) => jids.has(event.split(" ")[1]!)).sort(), expected);
  });
}

onEachStore("sends a dead job to Slack as docs/guides/webhooks.md shows", async (bench) => {
  await using slack = await HttpEndpoint.open((_, { write }) => write(answerText(200, "ok")));
  const page = await Deno.readTextFile(new URL("../../docs/guides/webhooks.md", import.meta.url));
  const { text } = blocksOf(page).find(({ text }) => text.includes('"slack"'))!;
  const [entry] = JSON.parse(text).webhooks;
  assertEquals([entry.url.split("/")[2], entry.on], ["hooks.slack.com", ["dead", "alert"]]);
  await using worker = await serve(bench, [{ ...entry, url: slack.url }], ["-q", "default"]);
  const jid = await bench.push("Fail", ["<no & luck>"], { retry: 0 });
  await bench.push("Noop", []);
  await slack.arrived(1);
  const { body, headers } = slack.requests[0]!;
  assertEquals(JSON.parse(body), { text: `Fail ${jid}: dead, RangeError: &lt;no &amp; luck&gt;` });
  assertEquals([headers["content-type"], headers["webhook-signature"]], ["application/json", undefined]);
  await worker.logged("Done", { class: "webhook:slack" });
});

Deno.test("requests are signed with each secret, and repeated by an operator under the same ID", async () => {
  await using bench = await Bench.open();
  await using endpoint = await HttpEndpoint.open((_, { write }) => write(answerText(500, "broken")));
  const entry = { name: "app", url: endpoint.url, on: ["succeeded"], secret: [SECRET, OLD_SECRET], retry: 0 };
  await using worker = await serve(bench, [{ ...entry, class: ["Wai*", "N*p"], queue: "defa*" }]);
  const jid = await bench.push("Noop", [], { tags: ["a"], batch: (await bench.client.batches.open()).id });
  await bench.push("Noop", [], { queue: "other" });
  await endpoint.arrived(1);
  await worker.logged("Failed for good, moved to dead", { class: "webhook:app" });
  await bench.until(async () => (await bench.store.admin.stats()).dead === 1, "it is stored");
  const [dead] = (await bench.store.admin.page({ in: "dead" })).entries;
  const { class: name, jid: delivery, error_message: message } = JSON.parse(dead!.payload);
  assertEquals([name, message], ["webhook:app", `POST ${new URL(endpoint.url).origin}: 500 Words: broken`]);
  endpoint.answer = (_, { write }) => write(`HTTP/1.1 200 OK\r\ncontent-length: 9999999\r\n\r\n${"x".repeat(5_000)}`);
  assertEquals((await jobs(["retry", delivery, "--store", bench.url])).code, 0);
  // The receiver may answer slowly, and as much as it wants.
  await worker.logged("Done", { class: "webhook:app" });
  const [first, again] = endpoint.requests as [ArrivedRequest, ArrivedRequest];
  assertEquals([again.body, again.headers["webhook-id"]], [first.body, first.headers["webhook-id"]]);
  for (const { headers, body } of endpoint.requests) {
    const request = { id: headers["webhook-id"]!, timestamp: Number(headers["webhook-timestamp"]), body };
    const signed = signedHeaders(request, [SECRET, OLD_SECRET].map(secretBytes));
    assertEquals(headers["webhook-signature"], signed["webhook-signature"]);
  }
  const { type, timestamp, data } = JSON.parse(first.body);
  assertEquals([type, new Date(timestamp).toISOString(), data.jid, data.class], ["succeeded", timestamp, jid, "Noop"]);
  assertEquals([data.queue, data.attempt, data.tags, typeof data.batch], ["default", 1, ["a"], "string"]);
  assertEquals(endpoint.requests.length, 2, "the job of the other queue isn't sent");
});

Deno.test("a push notifies the webhooks that it names, and one that doesn't exist is refused", async () => {
  await using bench = await Bench.open();
  await using endpoint = await HttpEndpoint.open((_, { write }) => write(answerText(204)));
  await using worker = await serve(bench, [{ name: "named", url: endpoint.url }]);
  const push = (...args: string[]) => jobs(["push", "Noop", "--store", bench.url, ...args]);
  const { code, stderr } = await push("--notify", "nmed");
  assertEquals(code, 2);
  assertStringIncludes(stderr, "expected the name of a webhook; did you mean named?");
  await push();
  assertEquals((await push("--notify", "named")).code, 0);
  await endpoint.arrived(1);
  const batch = await bench.client.batch({ name: "b", notify: "named" }, (add) => add("Noop", []));
  await endpoint.arrived(2);
  assertEquals(endpoint.requests.map(toldBy).slice(1), [`batch.complete ${batch.id}`]);
  assertEquals(JSON.parse(endpoint.requests[0]!.body).type, "succeeded");
  assertEquals(worker.complaints, []);
});

Deno.test("a wrong webhook ends jobs run with one line and exit 2", async () => {
  await using bench = await Bench.open();
  const entry = { name: "app", url: "https://app.example.com/", on: ["dead"] };
  for (
    const [entries, line] of [
      [[{ ...entry, url: "app/jobs" }], `"url" of webhook "app" is invalid; expected an address such as`],
      [[{ ...entry, url: "http://10.0.0.1/" }], `"url" of webhook "app" is invalid; expected a public address, or`],
      [[{ ...entry, on: ["sucess"] }], `unknown event "sucess" in webhook "app"; expected one of succeeded, dead,`],
      [[{ ...entry, on: ["succeded"] }], `unknown event "succeded" in webhook "app"; did you mean "succeeded"?`],
      [[{ ...entry, on: [] }], `"on" of webhook "app" is invalid; expected a list of events: succeeded, `],
      [[{ url: entry.url }], `"on" of webhook 1 is invalid; expected a list of events, or a "name"`],
      [
        [{ ...entry, secret: "whsec_dG9v" }],
        `"secret" of webhook "app" is invalid; expected 24 to 64 bytes in base64,`,
      ],
      [[{ ...entry, format: "teams" }], `"format" of webhook "app" is invalid; expected one of standard, slack`],
      [[{ ...entry, class: [] }], `"class" of webhook "app" is invalid; expected a name, a pattern such as "Import*"`],
      [[{ ...entry, name: "a b" }], `"name" of webhook "a b" is invalid; expected letters, digits and`],
      [[{ ...entry, event: "dead" }], `unknown key "event" in webhook "app"; known: name, on, class, queue, format`],
      [[entry, entry], `two webhooks have the name "app"; give each a different "name"`],
      [[5], `webhook 1 isn't an object; expected { "url": …, "on": … }`],
    ] as const
  ) {
    const env = { JOBS_WEBHOOKS: JSON.stringify(entries) };
    const { code, stderr } = await jobs(["run", bench.handlers, "--store", bench.url], { env });
    assertEquals([code, stderr.trim().split("\n").length], [2, 1], stderr);
    assertStringIncludes(stderr, `Invalid JOBS_WEBHOOKS: ${line}`);
  }
  assertEquals(await bench.store.webhooks.read(), []);
});
