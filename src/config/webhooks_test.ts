import { assertEquals, assertThrows } from "@std/assert";
import { InvalidValue } from "./kinds.ts";
import { shownWebhook, webhooks } from "./webhooks.ts";

const SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
const URL_OF = "https://app.example.com:8443/events?token=hunter2";

Deno.test("reads webhooks: their subscriptions, and the endpoints that they send to", () => {
  const [full, least, named] = webhooks.parse([
    {
      ...{ name: "orders", url: URL_OF, secret: [SECRET, SECRET], on: ["succeeded", "alert"], class: "Import*" },
      ...{ queue: ["a", "b*"], format: "slack", timeout: "5s", retry: 3, headers: { Authorization: "hunter2" } },
    },
    { url: URL_OF, on: ["dead"] },
    { name: "named", url: URL_OF },
  ], false)!;
  assertEquals([full, least, named].map((one) => one!.subscription), [
    { name: "orders", on: ["succeeded", "alert"], class: ["Import*"], queue: ["a", "b*"] },
    { name: "app.example.com", on: ["dead"] },
    { name: "named" },
  ]);
  const { class: name, url, secrets, options, format } = full!.endpoint;
  assertEquals([name, url, secrets.length, format], ["webhook:orders", URL_OF, 2, "slack"]);
  assertEquals(options, { queue: "webhooks", timeout: "5s", retry: 3 });
  assertEquals([least!.endpoint.options, least!.endpoint.format], [{ queue: "webhooks" }, "standard"]);
  const shown = JSON.stringify([full, least, named].map((one) => shownWebhook(one!)));
  assertEquals(/hunter2|MfKQ/.test(shown), false, shown);
  assertEquals(shownWebhook(full!), {
    ...{ name: "orders", on: ["succeeded", "alert"], class: ["Import*"], queue: ["a", "b*"], format: "slack" },
    ...{ url: "https://app.example.com:8443", secret: "***", headers: ["authorization"] },
    ...{ timeout: "5s", retry: 3 },
  });
  assertEquals([webhooks.parse("[]", true), webhooks.parse("{", true), webhooks.parse({}, false)], [
    ...[[], undefined, undefined],
  ]);
});

Deno.test("filters without events are refused, and no message has a secret", () => {
  const entry = { name: "a", url: URL_OF };
  for (
    const [more, message] of [
      [{ class: "A" }, '"class" of webhook "a" is invalid; expected "on" with it'],
      [{ queue: "q" }, '"queue" of webhook "a" is invalid; expected "on" with it'],
      [{ on: "dead" }, '"on" of webhook "a" is invalid; expected a list of events: succeeded, dead, failed,'],
      [{ on: ["dead"], class: [""] }, '"class" of webhook "a" is invalid; expected a name, a pattern'],
      [{ on: ["dead"], secret: "hunter2" }, '"secret" of webhook "a" is invalid; expected whsec_ and base64'],
      [{ on: ["dead"], headers: [] }, '"headers" of webhook "a" is invalid'],
    ] as const
  ) {
    const { message: found } = assertThrows(() => webhooks.parse([{ ...entry, ...more }], false), InvalidValue);
    assertEquals([found.includes(message), found.includes("hunter2")], [true, false], found);
  }
});
