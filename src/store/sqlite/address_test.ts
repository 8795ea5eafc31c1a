import { assertEquals, assertThrows } from "@std/assert";
import { StoreError } from "../port/errors.ts";
import { sqliteUrl } from "../open_file.ts";
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

Deno.test("the address of a path is read as that path", () => {
  const paths = [
    "/a/b.db",
    "/with space/ö.db",
    "/q?durability=off/a.db",
    "/100%/%3F#.db",
    "./~/a.db",
    "a?b.db",
    "./:memory:",
  ];
  for (const path of paths) assertEquals(parseAddress(sqliteUrl(path), "/home/me"), { path });
  assertEquals(parseAddress(sqliteUrl("//.local/a.db"), undefined), { path: "/.local/a.db" });
  assertEquals(parseAddress(sqliteUrl("~/a.db"), "/home/me"), { path: "./~/a.db" });
  assertEquals(parseAddress("sqlite:~/a.db", "/"), { path: "/a.db" });
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
  for (const home of ["", "home", "."]) {
    assertThrows(() => parseAddress("sqlite:~/a.db", home), StoreError, "HOME is not set");
  }
});
