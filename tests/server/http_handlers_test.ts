/** Jobs performed by HTTP endpoints, in real workers. */
import { assertEquals, assertStringIncludes } from "@std/assert";
import type { Entry } from "../../src/store/port/entries.ts";
import { Bench } from "../support/bench.ts";
import { type AnswerRequest, answerText, HttpEndpoint } from "../support/http_endpoint.ts";
import { jobs, type JobsProcess, MORTAL } from "../support/process.ts";
import { freePort } from "../support/redis.ts";
import { sharedRedisUrl, shareRedis } from "../support/shared_redis.ts";

shareRedis();

const answering = (status: number, body = "", headers = {}): AnswerRequest => (_, { write }) =>
  write(answerText(status, body, headers));

function serve(bench: Bench, entries: readonly object[], args: string[] = [], env = {}): Promise<JobsProcess> {
  const http = entries.map((entry) => ({ class: "Call", allowPrivate: true, retry: 3, ...entry }));
  return bench.server(args, { JOBS_HTTP: JSON.stringify(http), ...env });
}

for (const kind of ["SQLite", "Redis"] as const) {
  const open = async () => await Bench.open(kind === "Redis" ? await sharedRedisUrl() : undefined);

  Deno.test(`a job whose worker is killed is sent again with the same ID, on ${kind}`, async () => {
    await using bench = await open();
    await using endpoint = await HttpEndpoint.open(() => {});
    await using worker = await serve(bench, [{ url: endpoint.url }], [], MORTAL);
    const jid = await bench.push("Call", [1]);
    await endpoint.arrived(1);
    worker.kill("SIGKILL");
    await bench.until(() => endpoint.requests[0]!.isClosed, "the endpoint sees the end");
    endpoint.answer = answering(200, '{"sent":true}');
    await using _other = await serve(bench, [{ url: endpoint.url }], [], MORTAL);
    assertEquals((await bench.client.result(jid))?.result, { sent: true });
    assertEquals(endpoint.requests.map(({ headers }) => headers["webhook-id"]), [jid, jid]);
  });

  Deno.test(`a cancel and a timeout close the request, and TERM puts its job back, on ${kind}`, async () => {
    await using bench = await open();
    await using endpoint = await HttpEndpoint.open(() => {});
    await using worker = await serve(bench, [{ url: endpoint.url }], ["-t", "100ms"]);
    const closed = (count: number) =>
      bench.until(() => endpoint.requests.filter(({ isClosed }) => isClosed).length === count, "the endpoint sees it");
    const cancelled = await bench.push("Call", ["cancelled"]);
    await endpoint.arrived(1);
    await jobs(["cancel", cancelled, "--store", bench.url]);
    await closed(1);
    assertEquals((await bench.client.result(cancelled))?.state, "cancelled");
    const late = await bench.push("Call", ["late"], { timeout: 0.1, retry: 0 });
    await closed(2);
    assertEquals((await bench.client.result(late))?.error?.class, "Timeout");
    const stopped = await bench.push("Call", ["stopped"]);
    await endpoint.arrived(3);
    worker.kill("SIGTERM");
    await closed(3);
    assertEquals((await worker.status()).code, 0);
    const [entry] = await bench.store.jobs.find([stopped]);
    assertEquals([entry?.place.in, JSON.parse(entry!.payload).retry_count], ["queue", undefined]);
    assertEquals(endpoint.requests.length, 3);
  });

  Deno.test(`a host that is down holds neither other jobs nor attempts, on ${kind}`, async () => {
    await using bench = await open();
    await using down = await HttpEndpoint.open((_, { close }) => close());
    await using up = await HttpEndpoint.open(answering(200, "1"));
    await using worker = await serve(bench, [{ url: down.url }, { class: "Other", url: up.url }], ["-c", "2"]);
    const jids = await Promise.all(Array.from({ length: 20 }, () => bench.push("Call", [])));
    const other = await bench.push("Other", []);
    assertEquals((await bench.client.result(other))?.result, 1);
    await worker.logged("Circuit opened: requests to a host keep failing, and its jobs wait", { failures: 5 });
    let places = new Map<string, Entry[]>();
    await bench.until(async () => {
      places = Map.groupBy(await bench.store.jobs.find(jids), ({ place }) => place.in);
      return places.get("retry")?.length === 5 && places.get("scheduled")?.length === 15;
    }, "five have failed, and the others wait");
    const counted = places.get("scheduled")!.filter(({ payload }) => JSON.parse(payload).retry_count !== undefined);
    assertEquals(counted, []);
    const host = new URL(down.url).host;
    await bench.until(
      async () => (await bench.store.workers.list())[0]?.circuits?.[0]?.host === host,
      "it is reported",
    );
    const doctor = await jobs(["doctor", "--store", bench.url]);
    assertStringIncludes(doctor.stdout, `warning  jobs       The circuit of ${host} is open`);
  });

  Deno.test(`an endpoint reports progress and log lines until its attempt has ended, on ${kind}`, async () => {
    await using bench = await open();
    const answer = Promise.withResolvers<void>();
    await using endpoint = await HttpEndpoint.open(async (_, { write }) => {
      await answer.promise;
      await write(answerText(200, "1"));
    });
    const port = freePort();
    const env = { JOBS_REPORT_URL: `http://127.0.0.1:${port}/` };
    await using worker = await serve(bench, [{ url: endpoint.url }], ["--web", `${port}`], env);
    const jid = await bench.push("Call", []);
    await endpoint.arrived(1);
    const { url, token } = JSON.parse(endpoint.requests[0]!.body).report;
    const report = async (body: unknown, bearer = token) => {
      const headers = { "authorization": `Bearer ${bearer}`, "content-type": "application/json" };
      const answer = await fetch(url, { method: "POST", headers, body: JSON.stringify(body) });
      return [answer.status, (await answer.json()).error?.message];
    };
    const log = [{ level: "warn", message: "row 3 skipped" }];
    assertEquals(await report({ progress: { done: 40, note: "percent" }, log }), [200, undefined]);
    assertEquals((await worker.logged("row 3 skipped", { jid })).level, "warn");
    await bench.until(
      async () => (await bench.store.workers.list())[0]!.work[0]?.progress === "40 percent",
      "it is shown",
    );
    for (const bad of ["", "x", `${token}x`, `${token.split(".")[0]}.`, `e30.${token.split(".")[1]}`]) {
      assertEquals((await report({ progress: { done: 1 } }, bad))[0], 401, bad);
    }
    assertEquals((await report({ progress: { done: "half" } }))[0], 422);
    assertEquals((await report({ log: [{ level: "loud", message: "" }] }))[0], 422);
    assertEquals((await report({ progres: {} }))[0], 422);
    assertEquals((await report({ log: [{ level: "info", message: "y".repeat(70_000) }] }))[0], 413);
    answer.resolve();
    const ended = await bench.client.result(jid);
    assertEquals([ended?.progress, ended?.log], ["40 percent", ["WARN row 3 skipped"]]);
    const over = "The attempt has ended: stop, its reports and its answer don't count";
    assertEquals(await report({ progress: { done: 100 } }), [409, over]);
  });

  Deno.test(`a cron entry and jobs push call an endpoint by its name, on ${kind}`, async () => {
    await using bench = await open();
    await using pushed = await HttpEndpoint.open(answering(429, "", { "retry-after": "0" }));
    await using hourly = await HttpEndpoint.open(answering(200));
    const named = (name: string, { url }: HttpEndpoint) => ({ name, class: undefined, url, result_ttl: "1h" });
    const cron = JSON.stringify([{ name: "often", every: "1s", class: "http:hourly" }]);
    await using worker = await serve(bench, [named("ping", pushed), named("hourly", hourly)], [], { JOBS_CRON: cron });
    const pushing = jobs(["push", "http:ping", "now", "--wait", "--store", bench.url]);
    await pushed.arrived(1);
    pushed.answer = answering(200, "pong");
    const { code, stdout } = await pushing;
    assertEquals([code, stdout], [0, '"pong"\n']);
    assertEquals(pushed.requests.map(({ body }) => JSON.parse(body).attempt), [1, 1], "a snooze uses no attempt");
    await hourly.arrived(2);
    const times = hourly.requests.map(({ body }) => JSON.parse(body).job.occurrence.scheduledAt);
    assertEquals(new Set(times).size, times.length, "once per occurrence");
    assertEquals(worker.complaints, []);
  });
}

Deno.test("a worker with more concurrency after HUP sends more requests at once to a host that it has called before", async () => {
  await using bench = await Bench.open();
  await using endpoint = await HttpEndpoint.open(answering(200, "1"));
  const file = `${bench.folder}/jobs.json`;
  const write = (concurrency: number) => Deno.writeTextFile(file, JSON.stringify({ concurrency }));
  await write(2);
  await using worker = await serve(bench, [{ url: endpoint.url }], ["-C", file]);
  assertEquals((await bench.client.result(await bench.push("Call", [])))?.result, 1);
  await write(6);
  worker.kill("SIGHUP");
  await worker.logged("Configuration applied", { concurrency: 6 });
  const all = Promise.withResolvers<void>();
  endpoint.answer = async (_, { write }) => {
    await all.promise;
    await write(answerText(200, "2"));
  };
  const jids = await Promise.all([1, 2, 3].map(() => bench.push("Call", [])));
  await endpoint.arrived(1 + jids.length);
  all.resolve();
  for (const jid of jids) assertEquals((await bench.client.result(jid))?.result, 2);
});

Deno.test("a wrong entry ends jobs run with one line and exit 2", async () => {
  await using bench = await Bench.open();
  const entry = { class: "Call", url: "https://app.example.com/" };
  for (
    const [entries, line] of [
      [[{ ...entry, url: "app/jobs" }], `Invalid JOBS_HTTP: "url" of entry "Call" is invalid; expected an address`],
      [
        [{ ...entry, secret: "whsec_dG9v" }],
        `Invalid JOBS_HTTP: "secret" of entry "Call" is invalid; expected 24 to 64`,
      ],
      [[{ ...entry, tries: 3 }], `Invalid JOBS_HTTP: unknown key "tries" in entry "Call"; `],
      [[entry, entry], `Invalid JOBS_HTTP: two entries have the class "Call"; expected one URL for a class`],
      [[{ ...entry, retry: "often" }], `Options of class "Call" in http https://app.example.com/: `],
      [[{ ...entry, caFile: "/nowhere" }], `"caFile" of endpoint "Call" can't be read: `],
      [[{ ...entry, class: "Noop" }], `Class "Noop" has two handlers: in `],
    ] as const
  ) {
    const env = { JOBS_HTTP: JSON.stringify(entries) };
    const { code, stderr } = await jobs(["run", bench.handlers, "--store", bench.url], { env });
    assertEquals([code, stderr.trim().split("\n").length], [2, 1], stderr);
    assertStringIncludes(stderr, line);
  }
});
