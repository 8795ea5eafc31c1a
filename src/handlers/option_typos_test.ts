import { assertEquals } from "@std/assert";
import { misspelledOptions } from "./option_typos.ts";
import { Registry } from "./registry.ts";

const said = (options: Record<string, unknown>) =>
  misspelledOptions(new Registry().add("Mail", () => {}, options).list());

Deno.test("a misspelled option is reported, with its effect", () => {
  assertEquals(said({ retrys: 3 }), [
    'Option "retrys" of class Mail: did you mean "retry"? it is written unchanged into each payload',
  ]);
  assertEquals(said({ retry_in: () => 5 }), [
    'Option "retry_in" of class Mail: did you mean "retryIn"? it is never called',
  ]);
});

Deno.test("names of other systems and other ways to join words are recognized", () => {
  const meant = (option: string) => said({ [option]: 1 }).map((message) => /did you mean "(\w+)"/.exec(message)?.[1]);
  const pairs = [["retries", "retry"], ["maxRetries", "retry"], ["uniqueFor", "unique_for"], ["timeoutMs", "timeout"]];
  for (const [given, known] of pairs) assertEquals(meant(given!), [known]);
});

Deno.test("known options, unrelated ones and undefined ones are not reported", () => {
  const known = {
    queue: "low",
    retry: 5,
    retryIn: () => 1,
    unique_for: "5m",
    timeout: "30s",
    tags: ["a"],
    dead: false,
  };
  assertEquals(said({ ...known, tenant: "acme", cattr: {}, importance: 5, retrys: undefined }), []);
});
