import { assertEquals, assertThrows } from "@std/assert";
import { StoreError } from "../port/errors.ts";
import { parseAddress } from "./address.ts";

Deno.test("parseAddress reads each form of an address", () => {
  for (
    const [url, path] of [
      ["sqlite:jobs.db", "jobs.db"],
      ["sqlite:./a/jobs.db", "./a/jobs.db"],
      ["sqlite:/var/lib/jobs.db", "/var/lib/jobs.db"],
      ["sqlite:///var/lib/my%20jobs.db", "/var/lib/my jobs.db"],
      ["sqlite:///var/lib/100%.db", "/var/lib/100%.db"],
      ["sqlite:~/jobs.db", "/home/me/jobs.db"],
      ["sqlite::memory:", ":memory:"],
    ] as const
  ) assertEquals(parseAddress(url, "/home/me"), { path }, url);
});

Deno.test("parseAddress reads the name of a store in memory", () => {
  assertEquals(parseAddress("sqlite::memory:orders", undefined), { path: ":memory:", memory: "orders" });
});

Deno.test("parseAddress reads the durability", () => {
  assertEquals(parseAddress("sqlite:a.db?durability=normal", undefined), { path: "a.db", durability: "normal" });
  assertEquals(parseAddress("sqlite:///a.db?durability=full", undefined), { path: "/a.db", durability: "full" });
});

Deno.test("parseAddress names the invalid part of an address", () => {
  for (
    const [url, words] of [
      ["sqlite:", "expected sqlite:PATH"],
      ["sqlite://", "expected sqlite:PATH"],
      ["sqlite:a.db?sync=off", `unknown parameter "sync"`],
      ["sqlite:a.db?durability=none", `durability "none", expected full or normal`],
      ["sqlite:~/a.db", "HOME is not set"],
    ] as const
  ) assertThrows(() => parseAddress(url, undefined), StoreError, words);
});
