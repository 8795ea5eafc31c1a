import { assertEquals } from "@std/assert";
import { misspelledOptions } from "./option_typos.ts";
import { Registry } from "./registry.ts";

const said = (options: Record<string, unknown>) =>
  misspelledOptions(new Registry().add("Mail", () => {}, options).list());

Deno.test("an option that is near a known one is named, with what becomes of it", () => {
  assertEquals(said({ retrys: 3 }), [
    'Option "retrys" of class Mail: did you mean "retry"? it is written into each payload as it is',
  ]);
  assertEquals(said({ retry_in: () => 5 }), [
    'Option "retry_in" of class Mail: did you mean "retryIn"? it is never called',
  ]);
});

Deno.test("what others call it, and the other way to join words, is meant too", () => {
  const meant = (option: string) => said({ [option]: 1 }).map((message) => /did you mean "(\w+)"/.exec(message)?.[1]);
  const pairs = [["retries", "retry"], ["maxRetries", "retry"], ["uniqueFor", "unique_for"], ["timeoutMs", "timeout"]];
  for (const [given, known] of pairs) assertEquals(meant(given!), [known]);
});

Deno.test("options that are known, that are near none, or that say nothing are left alone", () => {
  const known = {
    queue: "low",
    retry: 5,
    retryIn: () => 1,
    unique_for: "5m",
    timeout: "30s",
    tags: ["a"],
    dead: false,
  };
  assertEquals(said({ ...known, tenant: "acme", cattr: {}, priority: 5, retrys: undefined }), []);
});
