/** The page of settings, with the API tokens. */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { newToken } from "../../src/web/auth/accounts.ts";
import { onBothStores } from "./site.ts";

const ci = newToken();
const eye = newToken();

onBothStores("settings list the API tokens by name, scope and last use, without secrets", async ({ visitor }) => {
  const headers = { authorization: `Bearer ${eye.token}` };
  const { status, text } = await visitor().send("/settings", { headers });
  assertEquals(status, 200);
  const rows = [...text.matchAll(/<tr><td class="name" data-label="Name">.*?<\/tr>/gs)].map(([row]) =>
    row.replace(/<time[^>]*>[^<]*/, "used").replace(/<[^>]+>/g, "|").replace(/\|+/g, "|")
  );
  assertEquals(rows.map((row) => row.trim()), [
    "|ci|push|classes Mail; queues low|not since this process started|",
    "|eye|reader|none|used|",
  ]);
  assertMatch(text, /remove its line from <code>web.users<\/code>/);
  for (const secret of [ci.secret, ci.token, eye.secret, eye.token, "sha256$"]) assert(!text.includes(secret));
}, { users: [`ci:push(class=Mail,queue=low):${ci.secret}`, `eye:reader:${eye.secret}`] });

onBothStores(
  "without API tokens and a configuration, settings say how to generate a token, and show no list",
  async ({ visitor }) => {
    const { text } = await visitor().visit("/settings");
    assertStringIncludes(text, "jobs web --new-token NAME");
    assert(!text.includes("Effective settings"));
  },
);

onBothStores("settings have durations and lists as people write them", async ({ visitor }) => {
  const { text } = await visitor().visit("/settings");
  assertMatch(text, />retention.deadAge<.*?<code>180d<\/code>/);
  assertMatch(text, />web.mask<.*?<code>iban, vat<\/code>/);
}, {
  settings: [
    {
      key: "retention.deadAge",
      value: 180 * 86_400_000,
      shown: "180d",
      origin: "default",
      about: "keep a dead job this long",
    },
    { key: "web.mask", value: ["iban", "vat"], origin: "flag", about: "hide" },
  ],
});
