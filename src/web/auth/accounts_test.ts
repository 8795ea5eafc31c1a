import { assertEquals, assertRejects, assertThrows } from "@std/assert";
import { Accounts, equal, newToken, passwordSecret } from "./accounts.ts";

Deno.test("A password opens its own account, and nothing else does", async () => {
  const accounts = new Accounts([`ann:operator:${await passwordSecret("correct horse")}`, "bob:reader"]);
  assertEquals(await accounts.withPassword("ann", "correct horse"), { name: "ann", role: "operator" });
  for (const [name, password] of [["ann", "wrong"], ["bob", ""], ["nobody", "correct horse"], ["", ""]] as const) {
    assertEquals(await accounts.withPassword(name, password), undefined, name);
  }
});

Deno.test("A password is the same however its letters are composed", async () => {
  const accounts = new Accounts([`ann:reader:${await passwordSecret("caf\u00e9 au lait")}`]);
  assertEquals((await accounts.withPassword("ann", "cafe\u0301 au lait"))?.name, "ann");
});

Deno.test("A password has at most 1,024 characters: a longer one is wrong, and is never hashed", async () => {
  const longest = "x".repeat(1_024);
  const accounts = new Accounts([`ann:reader:${await passwordSecret(longest)}`]);
  assertEquals((await accounts.withPassword("ann", longest))?.name, "ann");
  assertEquals(await accounts.withPassword("ann", `${longest}x`), undefined);
  await assertRejects(() => passwordSecret(`${longest}x`), RangeError, "expected at most 1024");
});

Deno.test("A token opens its account; its line does not", () => {
  const { token, secret } = newToken();
  const accounts = new Accounts([`ci:operator:${secret}`]);
  assertEquals(accounts.withToken(token), { name: "ci", role: "operator" });
  for (const wrong of [secret, "", `${token} `]) assertEquals(accounts.withToken(wrong), undefined);
});

Deno.test("Only so many passwords are checked at once", async () => {
  const accounts = new Accounts([]);
  const eight = Array.from({ length: 8 }, () => accounts.withPassword("a", "b"));
  await assertRejects(() => accounts.withPassword("a", "b"), RangeError, "Too many are logging in");
  await Promise.all(eight);
});

Deno.test("A line that is none is refused without repeating its secret; a name stands once", () => {
  for (
    const line of ["ann", "ann:admin:x", "ann:operator:hunter2", "a b:reader", ":reader", "ann:reader:sha256$short"]
  ) {
    const error = assertThrows(() => new Accounts([line]), RangeError, "NAME:ROLE:SECRET");
    assertEquals(error.message.includes("hunter2"), false);
  }
  assertThrows(() => new Accounts(["ann:reader", `ann:operator:${newToken().secret}`]), RangeError, "named twice");
});

Deno.test("Texts are compared whole", () => {
  assertEquals([equal("a", "a"), equal("a", "b"), equal("a", "ab"), equal("", "")], [true, false, false, true]);
});
