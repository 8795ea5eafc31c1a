/** Values that a client can't use are refused in one line, before a request. */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { requireTool } from "../support/tools.ts";

interface Messages {
  readonly token: string[];
  readonly lists?: string[];
}

async function messagesOf(runtime: string, file: string): Promise<Messages> {
  requireTool(runtime);
  const args = [new URL(file, import.meta.url).pathname];
  const { success, stdout, stderr } = await new Deno.Command(runtime, { args }).output();
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
}

Deno.test("a worker in Python is refused a text in place of a list", async () => {
  assertEquals((await messagesOf("python3", "misuse.py")).lists, [
    "TypeError: Invalid queues 'wq': expected a list, such as queues=['wq']",
    "TypeError: Invalid labels 'gpu': expected a list, such as labels=['gpu']",
  ]);
});
