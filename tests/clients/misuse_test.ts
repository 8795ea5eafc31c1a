/** Values that a client can't use are refused in one line, before a request. */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { requireTool } from "../support/tools.ts";

interface Messages {
  readonly token: string[];
  readonly urls: string[];
  readonly shown: string[];
  readonly pushed: string;
  readonly lists?: string[];
  readonly green?: string[];
}

async function messagesOf(runtime: string, file: string): Promise<Messages> {
  requireTool(runtime);
  const reply = () => Response.json({ jid: "v6" }, { status: 201 });
  await using server = Deno.serve({ hostname: "::1", port: 0, onListen: () => {} }, reply);
  const args = [new URL(file, import.meta.url).pathname, `http://[::1]:${server.addr.port}`];
  // No proxy listens there.
  const proxy = "http://proxy:pw-of-proxy@127.0.0.1:9";
  const env = { http_proxy: proxy, HTTP_PROXY: proxy, https_proxy: proxy, all_proxy: proxy, no_proxy: "" };
  const { success, stdout, stderr } = await new Deno.Command(runtime, { args, env }).output();
  const decoder = new TextDecoder();
  assert(success, decoder.decode(stderr));
  return JSON.parse(decoder.decode(stdout));
}

for (const [runtime, file] of [["node", "misuse.mjs"], ["python3", "misuse.py"], ["ruby", "misuse.rb"]] as const) {
  Deno.test(`${file} is refused a token that no header takes, and doesn't see it in the error`, async () => {
    const [client, worker, stripped] = (await messagesOf(runtime, file)).token;
    for (const message of [client!, worker!]) {
      assertMatch(
        message,
        /^\w+: Invalid token: expected visible ASCII characters, as jobs web --new-token prints them$/,
      );
    }
    assertEquals(stripped, "none", "the end of a line around it is stripped");
  });

  Deno.test(`${file} reaches an IPv6 address, without the proxy of the environment, and shows neither passwords nor tokens`, async () => {
    const { pushed, urls, shown } = await messagesOf(runtime, file);
    assertEquals(pushed, "v6");
    const hint = "expected an address without a user or a password: pass a token";
    assertEquals(urls.map((text) => text.replaceAll("'", '"').replace(/^\w+: /, "")), [
      `Invalid url "http://…@127.0.0.1:1": ${hint}`,
      `Invalid url "http://…@127.0.0.1:1/x": ${hint}`,
      `Invalid url "ftp://…@127.0.0.1:1": ${hint}`,
    ]);
    for (const text of shown) assertEquals([text.length > 0, text.includes("tok-3n")], [true, false], text);
  });
}

Deno.test("a worker in Python refuses to start where threads are greenlets", async () => {
  const [message] = (await messagesOf("python3", "misuse.py")).green!;
  assertMatch(
    message!,
    /^RuntimeError: gevent has patched threads: .* its jobs would run twice\. Run .*thread=False\)$/,
  );
});

Deno.test("a worker in Python is refused a text in place of a list", async () => {
  assertEquals((await messagesOf("python3", "misuse.py")).lists, [
    "TypeError: Invalid queues 'wq': expected a list, such as queues=['wq']",
    "TypeError: Invalid labels 'gpu': expected a list, such as labels=['gpu']",
  ]);
});
