import { assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { Discard } from "../../job/errors.ts";
import { describeError } from "../../job/describe_error.ts";
import { parsePayload } from "../../job/job.ts";
import { deliveriesOf, jobNotice } from "../../job/webhook.ts";
import { noticeMessage } from "./notice.ts";

const AT = Date.UTC(2026, 10, 26);
const BATCH = {
  ...{ id: "b1", name: "mails", state: "stuck", total: 3, succeeded: 1, failed: 0, dead: 2, cancelled: 0 },
  ...{ expired: 0, deleted: 0 },
};

Deno.test("the standard format has the type, the time and the data", () => {
  const data = { jid: "j", big: 1 };
  assertEquals(noticeMessage("standard", [{ id: "e-1", type: "dead", at: AT, data }]), {
    id: "e-1",
    body: JSON.stringify({ type: "dead", timestamp: "2026-11-26T00:00:00.000Z", data }),
  });
});

Deno.test("the format of Slack has a line for people", () => {
  for (
    const [type, data, text] of [
      ["succeeded", { jid: "j", class: "A::B" }, "A::B j: succeeded"],
      ["dead", { jid: "j", class: "A", error: { class: "E", message: "a < b & c" } }, "A j: dead, E: a &lt; b &amp; c"],
      ["batch.complete", BATCH, 'Batch "mails" (b1): stuck, 1 succeeded, 2 dead of 3'],
      [
        "flow.ended",
        { ...BATCH, name: undefined, dead: 0, succeeded: 3, state: "succeeded" },
        "Flow b1: succeeded, 3 succeeded of 3",
      ],
      ["cron.missed", { entry: "nightly", count: 1 }, 'Cron entry "nightly" missed 1 run'],
      ["cron.missed", { entry: "nightly", count: 2 }, 'Cron entry "nightly" missed 2 runs'],
      [
        "alert",
        { title: "Queue is behind", detail: "All processors are busy." },
        "Queue is behind: All processors are busy.",
      ],
      ["alert", { title: "Queue is behind" }, "Queue is behind"],
    ] as const
  ) assertEquals(JSON.parse(noticeMessage("slack", [{ id: "e", type, at: AT, data }]).body), { text });
});

Deno.test("arguments that a program has made up are discarded", () => {
  const notice = { id: "e", type: "dead", at: AT, data: {} };
  for (
    const args of [
      [],
      [null],
      ["x"],
      [{ ...notice, id: "a.b" }],
      [{ ...notice, id: "" }],
      [{ ...notice, at: "now" }],
      [
        { ...notice, at: 1e300 },
      ],
      [{ ...notice, data: null }],
      [{ ...notice, type: 5 }],
    ]
  ) {
    const error = assertThrows(() => noticeMessage("standard", args), Discard, "Not a job of a webhook");
    assertEquals(describeError(error).stack, []);
  }
});

Deno.test("the notice of a job has the large integers of its result and its tags exactly", () => {
  const job = parsePayload('{"class":"A","args":[],"jid":"j","queue":"q","tags":[12345678901234567890]}')!;
  const result = '{"id":12345678901234567890,"size":1e+20}';
  const [delivery] = deliveriesOf(
    [{ name: "a", on: ["succeeded"] }],
    ...jobNotice(job, { id: "e", type: "succeeded", at: 5, result }),
  );
  assertStringIncludes(delivery!.payload, `"result":${result}`);
  assertStringIncludes(delivery!.payload, '"tags":[12345678901234567890]');
  const { body } = noticeMessage("standard", parsePayload(delivery!.payload)!.args);
  assertStringIncludes(body, `"result":${result}`);
  assertStringIncludes(noticeMessage("slack", parsePayload(delivery!.payload)!.args).body, "succeeded");
});
