import { assertEquals, assertMatch, assertRejects, assertThrows } from "@std/assert";
import { randomBytes, scryptSync } from "node:crypto";
import { Accounts, equal, newToken, passwordSecret } from "./accounts.ts";

/** The secret of a password with another cost, as earlier versions made them. */
function secretOf(password: string, cost = 10): string {
  const salt = randomBytes(16);
  const hash = scryptSync(password, salt, 32, { N: 2 ** cost, r: 8, p: 1, maxmem: 2 ** 27 });
  return `scrypt$${cost}$${salt.toString("base64url")}$${hash.toString("base64url")}`;
}

Deno.test("hashes a new password with N = 2^15 and p = 3, and accepts the hashes of earlier versions", async () => {
  const secret = await passwordSecret("correct horse");
  assertMatch(secret, /^scrypt\$15p3\$/);
  const accounts = new Accounts([`ann:reader:${secret}`, `bob:reader:${secretOf("battery staple", 15)}`]);
  assertEquals((await accounts.withPassword("ann", "correct horse"))?.name, "ann");
  assertEquals((await accounts.withPassword("bob", "battery staple"))?.name, "bob");
  assertEquals(await accounts.withPassword("bob", "correct horse"), undefined);
});

Deno.test("authenticates a user only by the right name and password", async () => {
  const accounts = new Accounts([`ann:operator:${secretOf("correct horse")}`, "bob:reader"]);
  assertEquals(await accounts.withPassword("ann", "correct horse"), { name: "ann", role: "operator" });
  for (const [name, password] of [["ann", "wrong"], ["bob", ""], ["eve", "correct horse"], ["", ""]] as const) {
    assertEquals(await accounts.withPassword(name, password), undefined, name);
  }
});

Deno.test("accepts a password in each Unicode composition of its letters", async () => {
  const accounts = new Accounts([`ann:reader:${secretOf("caf\u00e9 au lait")}`]);
  assertEquals((await accounts.withPassword("ann", "cafe\u0301 au lait"))?.name, "ann");
});

Deno.test("rejects a password of over 1,024 characters without hashing it", async () => {
  const longest = "x".repeat(1_024);
  const accounts = new Accounts([`ann:reader:${secretOf(longest)}`]);
  assertEquals((await accounts.withPassword("ann", longest))?.name, "ann");
  assertEquals(await accounts.withPassword("ann", `${longest}x`), undefined);
  await assertRejects(() => passwordSecret(`${longest}x`), RangeError, "expected at most 1024");
});

Deno.test("authenticates a user by token, not by the token's hash", () => {
  const { token, secret } = newToken();
  const accounts = new Accounts([`ci:operator:${secret}`]);
  assertEquals(accounts.withToken(token), { name: "ci", role: "operator" });
  for (const wrong of [secret, "", `${token} `]) assertEquals(accounts.withToken(wrong), undefined);
});

Deno.test("refuses a ninth password check at the same time", async () => {
  const accounts = new Accounts([`ann:reader:${secretOf("correct horse")}`]);
  const eight = Array.from({ length: 8 }, () => accounts.withPassword("a", "b"));
  await assertRejects(() => accounts.withPassword("a", "b"), RangeError, "Too many logins at once");
  await Promise.all(eight);
});

Deno.test("refuses an invalid line without repeating its secret, and a duplicate name", () => {
  for (
    const line of ["ann", "ann:admin:x", "ann:operator:hunter2", "a b:reader", ":reader", "ann:reader:sha256$short"]
  ) {
    const error = assertThrows(() => new Accounts([line]), RangeError, "NAME:ROLE:SECRET");
    assertEquals(error.message.includes("hunter2"), false);
  }
  assertThrows(
    () => new Accounts(["ann:reader", `ann:operator:${newToken().secret}`]),
    RangeError,
    'Duplicate user "ann"',
  );
});

Deno.test("compares whole texts", () => {
  assertEquals([equal("a", "a"), equal("a", "b"), equal("a", "ab"), equal("", "")], [true, false, false, true]);
});

Deno.test("a role has the limits that fit it, and the refusal of others names what is expected", () => {
  const scopeOf = (role: string) => new Accounts([`ann:${role}`]).named("ann")?.scope;
  assertEquals(scopeOf("operator(queue=mail|low,key=order:*,delete=no)"), {
    queues: ["mail", "low"],
    keys: ["order:*"],
    deletes: false,
  });
  assertEquals(scopeOf("signal(key=order:*|a=b)"), { keys: ["order:*", "a=b"] });
  assertEquals(scopeOf("signal"), undefined);
  const cases = {
    "signal(queue=mail)": "expected key=order:*|refund:*",
    "operator(delete=yes)": "expected queue=mail|low,key=order:*,delete=no",
    "operator(delete)": "expected queue=mail|low,key=order:*,delete=no",
    "operator(class=Mail)": "expected queue=mail|low,key=order:*,delete=no",
    "operator(queue=a,queue=b)": "expected queue=mail|low,key=order:*,delete=no",
    "push(key=a)": "expected class=Mail|Report,queue=low",
    "reader(queue=mail)": "expected reader, which has no scope",
  };
  for (const [role, expected] of Object.entries(cases)) {
    assertThrows(() => new Accounts([`ann:${role}`]), RangeError, expected);
  }
});
