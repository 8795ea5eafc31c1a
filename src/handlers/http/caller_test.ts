/** Endpoints that answer well, badly, slowly, twice, or not at all. */
import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { until } from "../../../tests/support/eventually.ts";
import { requireTool } from "../../../tests/support/tools.ts";
import { type AnswerRequest, answerText, HttpEndpoint } from "../../../tests/support/http_endpoint.ts";
import { runningJob } from "../../../tests/support/job.ts";
import { KeptLog } from "../../../tests/support/log.ts";
import { type Clock, systemClock } from "../../clock.ts";
import { describeError } from "../../job/describe_error.ts";
import { Cancelled, Discard, Snooze, Timeout } from "../../job/errors.ts";
import { CutOutput } from "../../job/returned.ts";
import type { RunningJob } from "../running_job.ts";
import { Caller, HttpFailed } from "./caller.ts";
import type { OpenEndpoint } from "./endpoints.ts";
import { STALE_WITHIN_MS } from "./post.ts";
import { signedHeaders } from "./signature.ts";

const SECRETS = [new Uint8Array(24).fill(1), new Uint8Array(32).fill(2)];

function openCaller(url: string, more: Partial<OpenEndpoint> = {}, clock: Clock = systemClock) {
  const caller = new Caller({ clock, log: new KeptLog(), maxResultBytes: 1_000, limitOf: () => 10 });
  const endpoint: OpenEndpoint = {
    ...{ class: "Mail", url, secrets: [], headers: {}, caFile: undefined, ca: undefined, concurrency: undefined },
    ...{ allowPrivate: true, options: {}, ...more },
  };
  return { caller, call: (job: RunningJob = runningJob()) => caller.perform(endpoint, job.context) };
}

async function withEndpoint(
  answer: AnswerRequest,
  test: (endpoint: HttpEndpoint, opened: ReturnType<typeof openCaller>) => Promise<void>,
): Promise<void> {
  await using endpoint = await HttpEndpoint.open(answer);
  await test(endpoint, openCaller(endpoint.url));
}

/** A slow machine would take an end at once for a late one. */
const STANDING: Clock = { ...systemClock, monotonic: () => 0 };

const answering = (text: string): AnswerRequest => (_, { write }) => write(text);

Deno.test("sends the payload byte for byte, with the attempt and its deadline, signed with each secret", async () => {
  await using endpoint = await HttpEndpoint.open(answering(answerText(200, '{"sent":12345678901234567890}')));
  const { call } = openCaller(endpoint.url, { secrets: SECRETS, headers: { authorization: "Bearer x" } });
  const job = runningJob({ jid: "a.b", attempt: 3, queue: "mails", payload: { timeout: 90, args: [1.5] } });
  job.trace = { traceId: "", spanId: "", carrier: { traceparent: "00-1-2-01", tracestate: "a=b" } };
  assertEquals(await call(job), { sent: 12345678901234567890n });
  const { path, headers, body } = endpoint.requests[0]!;
  const { job: payload, attempt, queue, deadline } = JSON.parse(body);
  assertStringIncludes(body, `,"job":${job.job.raw}}`);
  assertEquals([path, payload.jid, attempt, queue], ["/jobs", "a.b", 3, "mails"]);
  const leftMs = Date.parse(deadline) - Date.now();
  assert(0 < leftMs && leftMs <= 90_000, deadline);
  assertEquals([headers["authorization"], headers["content-type"]], ["Bearer x", "application/json"]);
  assertEquals([headers["traceparent"], headers["tracestate"]], ["00-1-2-01", "a=b"]);
  const id = headers["webhook-id"]!;
  assertEquals(id, "a%2Eb");
  const expected = signedHeaders({ id, timestamp: Number(headers["webhook-timestamp"]), body }, SECRETS);
  assertEquals(headers["webhook-signature"], expected["webhook-signature"]);
});

Deno.test("makes the result from the body: JSON, text, nothing, or the ends of a large one", async () => {
  const large = "x".repeat(5_000);
  for (
    const [answer, result] of [
      [answerText(200, '[1,{"a":null}]'), [1, { a: null }]],
      [answerText(201, " plain \n"), "plain"],
      [answerText(200, "{broken"), "{broken"],
      [answerText(202), undefined],
      ["HTTP/1.1 204 No Content\r\n\r\n", undefined],
      ["HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1\r\n4\r\n1\r\n2\r\n0\r\n\r\n", 42],
      ["HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\n\r\n" + answerText(200, "5"), 5],
    ] as const
  ) await withEndpoint(answering(answer), async (_, { call }) => assertEquals(await call(), result, answer));
  await withEndpoint(answering(answerText(200, large)), async (_, { call }) => {
    const result = await call();
    assert(result instanceof CutOutput);
    assertStringIncludes(result.text, "(5 KB in total)");
  });
});

Deno.test("fails the attempt if the answer is compressed in spite of the request", async () => {
  const answer = answering(answerText(200, "x", { "content-encoding": "gzip" }));
  await withEndpoint(answer, async ({ url }, { call }) => {
    const { message } = await assertRejects(() => call(), HttpFailed);
    assertEquals(
      message,
      `POST ${url}: the answer is compressed (gzip), although the request has Accept-Encoding: identity`,
    );
  });
  await withEndpoint(answering(answerText(200, "1", { "content-encoding": "identity" })), async (_, { call }) => {
    assertEquals(await call(), 1);
  });
});

Deno.test("discards at 410, snoozes at 429 and 503 with Retry-After, and fails at any other status", async () => {
  const fails = async (answer: string, type: new (...given: never[]) => Error, message: string) => {
    await withEndpoint(answering(answer), async ({ url }, { call, caller }) => {
      const error = await assertRejects(() => call(), type as typeof Error);
      assertEquals(error.message, message.replace("URL", url));
      if (!(error instanceof Snooze)) assertEquals(describeError(error).stack, []);
      assertEquals(caller.openCircuits, []);
    });
  };
  await fails(answerText(410, "no such user"), Discard, "POST URL: 410 Words: no such user");
  await fails(answerText(429, "", { "retry-after": "7" }), Snooze, "Again in 7s: 429 with Retry-After");
  await fails(answerText(503, "busy", { "retry-after": "0" }), Snooze, "Again in 1s: 503 with Retry-After");
  await fails(answerText(429, "busy"), HttpFailed, "POST URL: 429 Words: busy");
  await fails(answerText(503, "", { "retry-after": "soon" }), HttpFailed, "POST URL: 503 Words");
  await fails(answerText(500, "y".repeat(70_000)), HttpFailed, `POST URL: 500 Words: ${"y".repeat(2_048)}`);
  await fails(answerText(500, "", { "retry-after": "7" }), HttpFailed, "POST URL: 500 Words");
  await fails(answerText(404, "<h1>Not found</h1>"), HttpFailed, "POST URL: 404 Words: <h1>Not found</h1>");
  await fails(
    answerText(307, "", { location: "http://169.254.169.254/secrets" }),
    HttpFailed,
    `POST URL: 307 Words to http://169.254.169.254/secrets; redirects aren't followed: set "url" to that address`,
  );
  // The verdict counts, although the body never ends.
  await fails("HTTP/1.1 410 Gone\r\ncontent-length: 900\r\n\r\nthe rest", Discard, "POST URL: 410 Gone: the rest");
});

for (
  const [what, answer, message] of [
    ["drops the connection", (_, { close }) => close(), "socket hang up"],
    ["breaks off in the body", async (_, { write, close }) => {
      await write("HTTP/1.1 200 OK\r\ncontent-length: 900\r\n\r\n{}");
      close();
    }, "aborted"],
    ["breaks off in a chunk", async (_, { write, close }) => {
      await write("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n900\r\n{}");
      close();
    }, "aborted"],
    [
      "has two lengths",
      answering("HTTP/1.1 200 OK\r\ncontent-length: 2\r\ncontent-length: 4\r\n\r\n{}{}"),
      "Parse Error",
    ],
    ["speaks no HTTP", answering("SSH-2.0-OpenSSH_9\r\n"), "Parse Error"],
    ["sends endless headers", async (_, { write }) => {
      await write(`HTTP/1.1 200 OK\r\n`);
      for (;;) await write(`x-header: ${"y".repeat(10_000)}\r\n`);
    }, "Header overflow"],
    ["sends an endless body", async (_, { write }) => {
      await write("HTTP/1.1 200 OK\r\n\r\n");
      for (;;) await write("z".repeat(1_000_000));
    }, "the answer is longer than 16 MiB"],
  ] as readonly (readonly [string, AnswerRequest, string])[]
) {
  Deno.test(`fails the attempt if the endpoint ${what}`, async () => {
    await withEndpoint(answer, async ({ requests }, { call }) => {
      const error = await assertRejects(() => call(), HttpFailed);
      assertStringIncludes(error.message, message);
      await until(() => requests.every(({ isClosed }) => isClosed), "the connection is closed");
      assertEquals(requests.length, 1);
    });
  });
}

Deno.test("keeps a connection, and takes no answer for that of another request", async () => {
  const answer: AnswerRequest = async ({ body, connection }, { write }) => {
    const [number] = JSON.parse(body).job.args;
    await write(answerText(200, JSON.stringify([number, connection])) + (number === 3 ? answerText(200, "lies") : ""));
  };
  await withEndpoint(answer, async (_, { call }) => {
    const send = (number: number) => call(runningJob({ payload: { args: [number] } }));
    assertEquals([await send(1), await send(2)], [[1, 1], [2, 1]]);
    assertEquals(await send(3), [3, 1], "bytes after its length don't count");
    assertEquals(await send(4), [4, 2]);
  });
});

for (
  const [isResent, afterMs] of [[true, STALE_WITHIN_MS], [false, STALE_WITHIN_MS + 1], [false, 60_000]] as const
) {
  const what = isResent ? "sends again" : "doesn't send again";
  Deno.test(`${what} if a kept connection ends without an answer ${afterMs} ms after its reuse`, async () => {
    let now = 0;
    const answer: AnswerRequest = async ({ connection }, { write, close }) => {
      if (endpoint.requests.length !== 2) return await write(answerText(200, String(connection)));
      now += afterMs;
      close();
    };
    await using endpoint = await HttpEndpoint.open(answer);
    const { call } = openCaller(endpoint.url, {}, { ...systemClock, monotonic: () => now });
    await call();
    if (isResent) assertEquals(await call(), 2);
    else await assertRejects(() => call(), HttpFailed, "socket hang up");
    assertEquals(endpoint.requests.length, isResent ? 3 : 2);
  });
}

Deno.test("sends again once if a kept connection is closed before the answer, and fails if a new one is", async () => {
  const answer: AnswerRequest = async ({ connection }, { write, close }) => {
    if (endpoint.requests.length === 2 || endpoint.requests.length > 3) return close();
    await write(answerText(200, String(connection)));
  };
  await using endpoint = await HttpEndpoint.open(answer);
  const { call } = openCaller(endpoint.url, {}, STANDING);
  assertEquals([await call(), await call()], [1, 2]);
  await assertRejects(() => call(), HttpFailed, "socket hang up");
  assertEquals(endpoint.requests.map(({ connection }) => connection), [1, 1, 2, 2, 3]);
});

Deno.test("sends again on a new connection if all that were kept have ended", async () => {
  const kept = 6;
  const answer: AnswerRequest = async ({ connection }, { write, close }) => {
    if (endpoint.requests.length <= kept) await endpoint.arrived(kept);
    else if (connection <= kept) return close();
    await write(answerText(200, String(connection)));
  };
  await using endpoint = await HttpEndpoint.open(answer);
  const { call } = openCaller(endpoint.url, {}, STANDING);
  await Promise.all(Array.from({ length: kept }, () => call()));
  assertEquals([await call(), await call()], [7, 7]);
  assertEquals(endpoint.requests.length, kept + 3);
});

Deno.test("fails the attempt if a kept connection is closed within the answer", async () => {
  const answer: AnswerRequest = async (_, { write, close }) => {
    if (endpoint.requests.length === 1) return await write(answerText(200));
    await write("HTTP/1.1 200 OK\r\nconte");
    close();
  };
  await using endpoint = await HttpEndpoint.open(answer);
  const { call } = openCaller(endpoint.url);
  await call();
  await assertRejects(() => call(), HttpFailed, "socket hang up");
  assertEquals(endpoint.requests.length, 2);
});

for (
  const [what, begin] of [
    ["an answer", () => {}],
    ["the rest of an answer", (_, { write }) => write("HTTP/1.1 200 OK\r\ncontent-length: 9999999\r\n\r\n{")],
  ] as readonly (readonly [string, AnswerRequest])[]
) {
  Deno.test(`closes the connection when the job's signal aborts while it waits for ${what}`, async () => {
    await withEndpoint(begin, async (endpoint, { call, caller }) => {
      for (const [reason, failures] of [[new Cancelled(), 0], [new Timeout(5), 5]] as const) {
        for (let i = 0; i < 5; i++) {
          const job = runningJob();
          const calling = assertRejects(() => call(job));
          await endpoint.arrived(endpoint.requests.length + (endpoint.requests.at(-1)?.isClosed === false ? 0 : 1));
          job.abort(reason);
          assertEquals(await calling, reason);
          await until(() => endpoint.requests.every(({ isClosed }) => isClosed), "the endpoint sees the end");
        }
        assertEquals(caller.openCircuits.map((one) => one.failures), failures === 0 ? [] : [failures]);
      }
      await assertRejects(() => call(), Snooze, "the circuit of 127.0.0.1:");
      assertEquals(endpoint.requests.length, 10);
    });
  });
}

for (const part of ["", "HTTP/1.1 200 OK\r\nconte", "HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n{"]) {
  Deno.test(`closes a kept connection when the job's signal aborts after ${part.length} bytes of the answer`, async () => {
    const answer: AnswerRequest = async (_, { write }) => {
      const isFirst = endpoint.requests.length === 1;
      await write(isFirst ? answerText(200, "") : part);
    };
    await using endpoint = await HttpEndpoint.open(answer);
    const { call } = openCaller(endpoint.url);
    await call();
    const job = runningJob();
    const calling = assertRejects(() => call(job));
    await endpoint.arrived(2);
    const reason = new Timeout(5);
    job.abort(reason);
    assertEquals(await calling, reason);
    await until(() => endpoint.requests[1]!.isClosed, "the endpoint sees the end");
    assertEquals(endpoint.requests.map(({ connection }) => connection), [1, 1]);
  });
}

Deno.test("opens the circuit of a host that refuses connections, or whose gateway answers for it", async () => {
  await using gateway = await HttpEndpoint.open(answering(answerText(502, "bad gateway")));
  const closed = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const { port } = closed.addr as Deno.NetAddr;
  closed.close();
  for (const url of [gateway.url, `http://127.0.0.1:${port}/`]) {
    const { call, caller } = openCaller(url);
    for (let i = 0; i < 5; i++) await assertRejects(() => call(), HttpFailed);
    await assertRejects(() => call(), Snooze);
    assertEquals(caller.openCircuits.map(({ host, failures }) => [host, failures]), [[new URL(url).host, 5]]);
  }
});

Deno.test("refuses private addresses after the lookup, and says how to allow them", async () => {
  await withEndpoint(answering(answerText(200)), async (endpoint) => {
    for (const host of ["localhost", "127.0.0.1", "[::ffff:127.0.0.1]"]) {
      const url = `http://${host}:${endpoint.port}/jobs`;
      const { call, caller } = openCaller(url, { allowPrivate: false });
      for (let i = 0; i < 6; i++) {
        const { message } = await assertRejects(() => call(), HttpFailed);
        assertStringIncludes(message, `isn't a public address; "allowPrivate": true in the endpoint's entry allows it`);
      }
      assertEquals(caller.openCircuits, [], "the host isn't to blame");
      if (!host.startsWith("[")) assertEquals(await openCaller(url).call(), undefined);
    }
    assertEquals(endpoint.requests.length, 2);
  });
});

Deno.test("verifies the certificate and the name of an https endpoint, also with the authority of caFile", async () => {
  requireTool("openssl");
  const dir = await Deno.makeTempDir();
  const openssl = async (line: string) => {
    const { success, stderr } = await new Deno.Command("openssl", { args: line.split(" "), cwd: dir }).output();
    assert(success, new TextDecoder().decode(stderr));
  };
  const key = "-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes";
  await openssl(`req -x509 ${key} -days 1 -subj /CN=ca -keyout ca.key -out ca.pem`);
  await openssl(`req ${key} -subj /CN=localhost -keyout app.key -out app.csr`);
  await Deno.writeTextFile(`${dir}/ext`, "subjectAltName=DNS:localhost\n");
  await openssl("x509 -req -in app.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 1 -extfile ext -out app.pem");
  const [cert, appKey, ca] = await Promise.all(
    ["app.pem", "app.key", "ca.pem"].map((name) => Deno.readTextFile(`${dir}/${name}`)),
  );
  await Deno.remove(dir, { recursive: true });
  await using endpoint = await HttpEndpoint.open(answering(answerText(200, "1")), { cert: cert!, key: appKey! });
  const at = (host: string, given = {}) => openCaller(`https://${host}:${endpoint.port}/`, given);
  assertEquals(await at("localhost", { ca }).call(), 1);
  for (const [host, given, message] of [["localhost", {}, "certificate"], ["127.0.0.1", { ca }, "altnames"]] as const) {
    assertStringIncludes((await assertRejects(() => at(host, given).call(), HttpFailed)).message, message);
  }
  assertEquals(endpoint.requests.length, 1);
});

Deno.test("a failure shows neither the secrets in the path of a URL, nor those in the target of a redirect", async () => {
  const redirect = (to: string): AnswerRequest => (_, { write }) =>
    write(`HTTP/1.1 302 Found\r\nLocation: ${to}\r\nContent-Length: 0\r\n\r\n`);
  const messageOf = async (to: string, more: Partial<OpenEndpoint> = {}) => {
    await using endpoint = await HttpEndpoint.open(redirect(to));
    const { origin } = new URL(endpoint.url);
    const { call } = openCaller(`${origin}/hooks/a8f3k2j4h5g6d7s8?token=t0`, more);
    const notice = {
      id: "j1-dead-1",
      type: "dead",
      at: 1,
      data: { jid: "j1", class: "Mail", queue: "mails", attempt: 1 },
    };
    const job = runningJob({ payload: { args: [notice] } });
    const { message } = await assertRejects(() => call(job), HttpFailed);
    return message.replaceAll(origin, "ORIGIN");
  };
  const cure = `redirects aren't followed: set "url" to that address`;
  assertEquals(
    await messageOf("https://b.example/login?next=/hooks&session=s3cr3t"),
    `POST ORIGIN/hooks/…?…: 302 Found to https://b.example/login?…; ${cure}`,
  );
  assertEquals(await messageOf("/other?session=s3cr3t"), `POST ORIGIN/hooks/…?…: 302 Found to ORIGIN/other?…; ${cure}`);
  assertEquals(
    await messageOf("https://b.example/services/T0/x", { format: "slack" }),
    `POST ORIGIN: 302 Found to https://b.example; ${cure}`,
  );
  assertEquals(await messageOf("mailto:s3cr3t"), `POST ORIGIN/hooks/…?…: 302 Found to an invalid address; ${cure}`);
});
