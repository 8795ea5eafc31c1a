import { assertEquals } from "@std/assert";
import { shownUrl } from "./endpoint.ts";

Deno.test("a URL is shown without its query, its login, and the secrets in its path", () => {
  const shown = (url: string) => shownUrl(url);
  assertEquals(shown("https://app.example.com/jobs/mail"), "https://app.example.com/jobs/mail");
  assertEquals(shown("https://ann:pw@app.example.com:8443/jobs?token=x#y"), "https://app.example.com:8443/jobs?…");
  assertEquals(
    shown("https://hooks.example.com/catch/1234/a8f3k2j4h5g6d7s8/"),
    "https://hooks.example.com/catch/1234/…/",
  );
  assertEquals(shown(`https://a.example/${"x".repeat(40)}`), "https://a.example/…");
  assertEquals(shown("https://a.example/import-invoices-nightly"), "https://a.example/import-invoices-nightly");
});

Deno.test("of the URL of a webhook only the origin is shown", () => {
  for (const format of ["standard", "slack"] as const) {
    assertEquals(shownUrl("https://hooks.slack.com/services/T0/B0/x?y", format), "https://hooks.slack.com");
  }
  assertEquals(shownUrl("http://127.0.0.1:8080/", "standard"), "http://127.0.0.1:8080");
});
