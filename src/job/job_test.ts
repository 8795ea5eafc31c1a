import { assertEquals } from "@std/assert";
import { parsePayload, releasesOf } from "./job.ts";

Deno.test("parsePayload keeps the text of the payload", () => {
  const raw = `{"class":"HardJob","args":["bob",1.0,12345678901234567890],"jid":"abc","retry_count":0,"x":{"y":1}}`;
  const job = parsePayload(raw)!;
  assertEquals([job.class, job.jid, job.args, job.raw], ["HardJob", "abc", ["bob", 1, 12345678901234567890n], raw]);
  assertEquals(job.payload.x, { y: 1 });
});

Deno.test("The attempt counts from 1, also with an invalid retry_count", () => {
  const attempts = [[undefined, 1], [0, 2], [24, 26], [null, 1], ["3", 1], [-1, 1], [1.5, 1]];
  for (const [count, attempt] of attempts) {
    const raw = JSON.stringify({ class: "A", args: [], retry_count: count });
    assertEquals(parsePayload(raw)?.attempt, attempt, raw);
  }
});

Deno.test("The attempt is one more than all failures, also after a retry by hand, which takes one off retry_count", () => {
  const error = { at: 1.5, error_class: "E", error_message: "" };
  const attempt = (count: number, errors: unknown) =>
    parsePayload(JSON.stringify({ class: "A", args: [], retry_count: count, errors }))?.attempt;
  assertEquals(attempt(-1, [{ ...error, try: 1 }]), 2, "its only failure");
  assertEquals(attempt(1, [{ ...error, try: 1 }, { ...error, try: 2 }, { ...error, try: 3 }]), 4);
  assertEquals(attempt(5, Array.from({ length: 10 }, (_, i) => ({ ...error, try: i + 8 }))), 18, "10 of 17 are kept");
  assertEquals(attempt(-1, [error, error]), 3, "of an older version, without numbers");
  assertEquals(attempt(4, [{ ...error, try: 2 }]), 6, "Sidekiq has counted since, and keeps no such list");
  for (const foreign of ["mine", [7, null], [{ ...error, try: "many" }].slice(1)]) assertEquals(attempt(0, foreign), 2);
});

Deno.test("The class of a wrapped job is the wrapped class", () => {
  const wrapper = "ActiveJob::QueueAdapters::SidekiqAdapter::JobWrapper";
  const classes: [Record<string, unknown>, string][] = [
    [{ class: wrapper, wrapped: "Billing::InvoiceJob", args: [{ job_class: "Other" }] }, "Billing::InvoiceJob"],
    [{ class: "Sidekiq::ActiveJob::Wrapper", args: [{ job_class: "InvoiceJob" }] }, "InvoiceJob"],
    [{ class: wrapper, args: [null] }, wrapper],
    [{ class: wrapper, args: [] }, wrapper],
    [{ class: "Plain", args: [{ job_class: "NotMe" }] }, "Plain"],
    [{ class: "Plain", wrapped: 5, args: [] }, "Plain"],
  ];
  for (const [payload, name] of classes) assertEquals(parsePayload(JSON.stringify(payload))?.class, name);
});

Deno.test("parsePayload returns undefined for anything but a job", () => {
  const unreadable = [
    "",
    "{",
    "null",
    "[]",
    "5",
    `"x"`,
    "{}",
    `{"class":"A"}`,
    `{"class":"","args":[]}`,
    `{"class":5,"args":[]}`,
    `{"class":"A","args":{}}`,
    `{"class":"A","args":"x"}`,
    `{"args":[]}`,
  ];
  for (const raw of unreadable) assertEquals(parsePayload(raw), undefined, raw);
});

Deno.test("A jid of any type becomes text", () => {
  const jid = (text: string) => parsePayload(`{"class":"A","args":[]${text}}`)?.jid;
  assertEquals([jid(""), jid(`,"jid":null`), jid(`,"jid":7`), jid(`,"jid":{"toString":1}`)], ["", "", "7", ""]);
});

Deno.test("Deep nesting and __proto__ do no harm", () => {
  const bomb = `{"class":"A","args":${"[".repeat(100_000)}${"]".repeat(100_000)}}`;
  assertEquals(parsePayload(bomb)?.class, "A");
  assertEquals(parsePayload(`{"__proto__":{"class":"A","args":[]}}`), undefined);
});

Deno.test("releasesOf returns the unique lock with the jid", () => {
  assertEquals(releasesOf(parsePayload(`{"class":"A","args":[],"jid":"j","unique_key":"k"}`)!), {
    unlock: "k",
    jid: "j",
  });
  assertEquals(releasesOf(parsePayload(`{"class":"A","args":[],"jid":"j"}`)!), {});
});
