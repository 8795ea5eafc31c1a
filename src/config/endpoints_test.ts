import { assertEquals, assertThrows } from "@std/assert";
import { endpoints, shownEndpoint } from "./endpoints.ts";
import { InvalidValue } from "./kinds.ts";

const SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
const MAIL = { class: "Mail", url: "https://app.example.com/mail" };

Deno.test("reads endpoints, by class or by name", () => {
  const [mail, ping] = endpoints.parse([
    {
      ...MAIL,
      secret: [SECRET, SECRET],
      headers: { Authorization: "Bearer x" },
      timeout: "30s",
      retry: 3,
      concurrency: 2,
    },
    { name: "ping", url: "http://localhost:80/ping?token=x", allowPrivate: true, caFile: "ca.pem" },
  ], false)!;
  assertEquals([mail!.class, mail!.url, mail!.secrets.length], ["Mail", MAIL.url, 2]);
  assertEquals([mail!.headers, mail!.options, mail!.concurrency], [
    { authorization: "Bearer x" },
    { timeout: "30s", retry: 3 },
    2,
  ]);
  assertEquals([ping!.class, ping!.url, ping!.caFile], ["http:ping", "http://localhost/ping?token=x", "ca.pem"]);
  assertEquals(shownEndpoint(mail!), {
    ...{ class: "Mail", url: MAIL.url, secret: "***", headers: ["authorization"], timeout: "30s", retry: 3 },
  });
  assertEquals(shownEndpoint(ping!).url, "http://localhost/ping?…");
  assertEquals(endpoints.parse(JSON.stringify([MAIL]), true)?.length, 1);
  assertEquals(["{", "[", 5, { Mail: "url" }].map((one) => endpoints.parse(one, typeof one === "string")), [
    ...[undefined, undefined, undefined, undefined],
  ]);
});

Deno.test("names the entry, the field and what was expected, and no secret", () => {
  for (
    const [entry, message] of [
      [5, "entry 1 isn't an object; expected"],
      [{ url: MAIL.url }, 'entry 1 has no "class" and "name"; expected one of them'],
      [{ ...MAIL, name: "x" }, 'entry "Mail" has both "class" and "name"; expected one of them'],
      [{ ...MAIL, class: "" }, '"class" of entry 1 is invalid'],
      [{ name: "a b", url: MAIL.url }, '"name" of entry "a b" is invalid; expected letters'],
      [{ ...MAIL, sekret: "x" }, 'unknown key "sekret" in entry "Mail"; did you mean "secret"?'],
      [{ ...MAIL, xyzzy: 1 }, 'unknown key "xyzzy" in entry "Mail"; known: class, name, url, secret'],
      [{ class: "Mail" }, '"url" of entry "Mail" is invalid; expected an address such as https://'],
      [{ class: "Mail", url: "app.example.com" }, '"url" of entry "Mail" is invalid; expected an address such as'],
      [
        { class: "Mail", url: "ftp://app.example.com" },
        '"url" of entry "Mail" is invalid; expected an address such as',
      ],
      [
        { class: "Mail", url: "https://u:p@app.example.com" },
        '"url" of entry "Mail" is invalid; expected no user and password',
      ],
      [{ class: "Mail", url: "https://app.example.com/#a" }, '"url" of entry "Mail" is invalid; expected no fragment'],
      [
        { class: "Mail", url: "http://127.1/" },
        '"url" of entry "Mail" is invalid; expected a public address, or "allowPrivate": true for 127.0.0.1',
      ],
      [
        { class: "Mail", url: "http://[::ffff:10.0.0.1]:8/" },
        'expected a public address, or "allowPrivate": true for [::ffff:a00:1]:8',
      ],
      [
        { class: "Mail", url: "http://localhost:3000/" },
        'expected a public address, or "allowPrivate": true for localhost:3000',
      ],
      [{ class: "Mail", url: "http://app.localhost./" }, 'expected a public address, or "allowPrivate": true'],
      [
        { ...MAIL, secret: "hunter2" },
        '"secret" of entry "Mail" is invalid; expected whsec_ and base64; make one with: echo whsec_$(',
      ],
      [{ ...MAIL, secret: "whsec_!" }, '"secret" of entry "Mail" is invalid; expected whsec_ and base64'],
      [
        { ...MAIL, secret: "whsec_aHVudGVyMg==" },
        '"secret" of entry "Mail" is invalid; expected 24 to 64 bytes in base64, not 7;',
      ],
      [{ ...MAIL, secret: [SECRET, "x"] }, '"secret" of entry "Mail" is invalid'],
      [{ ...MAIL, secret: [] }, '"secret" of entry "Mail" is invalid; expected at least one'],
      [{ ...MAIL, headers: ["a"] }, '"headers" of entry "Mail" is invalid; expected an object such as'],
      [{ ...MAIL, headers: { "a b": "c" } }, '"headers" of entry "Mail" is invalid; expected names of HTTP headers'],
      [
        { ...MAIL, headers: { "Webhook-Id": "c" } },
        '"headers" of entry "Mail" is invalid; expected no Webhook-Id, which jobs sets',
      ],
      [
        { ...MAIL, headers: { a: "x\r\ny: z" } },
        '"headers" of entry "Mail" is invalid; expected a text of ASCII characters for a',
      ],
      [{ ...MAIL, concurrency: 0 }, '"concurrency" of entry "Mail" is invalid; expected a whole number from 1'],
      [{ ...MAIL, allowPrivate: "yes" }, '"allowPrivate" of entry "Mail" is invalid; expected true or false'],
      [{ ...MAIL, caFile: 5 }, '"caFile" of entry "Mail" is invalid; expected the path of a file'],
    ] as const
  ) {
    const error = assertThrows(() => endpoints.parse([entry], false), InvalidValue);
    assertEquals(error.message.includes(message), true, `${error.message}\nexpected: ${message}`);
    assertEquals(/hunter2|aHVud/.test(error.message), false, error.message);
  }
  const twice = assertThrows(() => endpoints.parse([MAIL, { ...MAIL, url: "https://b.example.com" }], false));
  assertEquals((twice as Error).message, 'two entries have the class "Mail"; expected one URL for a class');
});
