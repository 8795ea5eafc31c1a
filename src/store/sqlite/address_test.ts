import { assertEquals, assertThrows } from "@std/assert";
import { StoreError } from "../port/errors.ts";
import { parseAddress } from "./address.ts";

Deno.test("An address of each form", () => {
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

Deno.test("An address may set the durability", () => {
  assertEquals(parseAddress("sqlite:a.db?durability=normal", undefined), { path: "a.db", durability: "normal" });
  assertEquals(parseAddress("sqlite:///a.db?durability=full", undefined), { path: "/a.db", durability: "full" });
});

Deno.test("What is wrong with an address is said", () => {
  for (
    const [url, words] of [
      ["sqlite:", "names no file"],
      ["sqlite://", "names no file"],
      ["sqlite:a.db?sync=off", `unknown parameter "sync"`],
      ["sqlite:a.db?durability=none", `durability is "none"`],
      ["sqlite:~/a.db", "HOME is not set"],
    ] as const
  ) assertThrows(() => parseAddress(url, undefined), StoreError, words);
});
