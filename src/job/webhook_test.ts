import { assertEquals } from "@std/assert";
import { parsePayload } from "./job.ts";
import { deliveriesOf, jobNotice, type Notice, type Subject, type Subscription } from "./webhook.ts";

const NOTICE: Notice = { id: "e1", type: "dead", at: 1_800_000_000_125, data: { jid: "j" } };

const gets = (subscription: Omit<Subscription, "name">, subject: Subject, type = NOTICE.type) =>
  deliveriesOf([{ name: "a", ...subscription }], { ...NOTICE, type }, subject).length === 1;

Deno.test("a webhook gets the events that it asks for, of the classes and queues that match its patterns", () => {
  const on = ["dead", "alert"] as const;
  for (
    const [patterns, name, isMatch] of [
      [["Import"], "Import", true],
      [["Import"], "ImportFile", false],
      [["Import*"], "Import", true],
      [["*File"], "ImportFile", true],
      [["*File"], "ImportFiles", false],
      [["I*r*t*"], "ImportFile", true],
      [["a*ba"], "aba", true],
      [["ab*ba"], "aba", false],
      [["*"], "", true],
      [["A", "B*"], "Bee", true],
      [["import*"], "ImportFile", false],
      [["Im.ort"], "Import", false],
    ] as const
  ) {
    assertEquals(gets({ on, class: patterns }, { class: name }), isMatch, `${patterns} ${name}`);
    assertEquals(gets({ on, queue: patterns }, { queue: name }), isMatch, `${patterns} ${name}`);
  }
  assertEquals(gets({ on, class: ["A"], queue: ["q"] }, { class: "A", queue: "other" }), false);
  assertEquals([gets({ on }, {}), gets({ on }, {}, "succeeded")], [true, false]);
  assertEquals(gets({ on, class: ["A"] }, {}, "alert"), true, "an alert has no class");
});

Deno.test("a webhook that is named gets all ends, or those that it asks for", () => {
  const named = { class: "B", notify: ["b", "a"] };
  assertEquals([gets({}, named), gets({}, { class: "B" })], [true, false]);
  assertEquals([gets({ on: ["dead"], class: ["A"] }, named), gets({ on: ["succeeded"] }, named)], [true, false]);
});

Deno.test("a delivery is a job of the webhook's class, and none is about another delivery", () => {
  const [delivery, ...others] = deliveriesOf([{ name: "a.b", on: ["dead"] }], NOTICE, { class: "A" });
  assertEquals([others, delivery!.jid, delivery!.queue], [[], "e1-a.b", "webhooks"]);
  assertEquals(JSON.parse(delivery!.payload), {
    ...{ class: "webhook:a.b", args: [NOTICE], jid: "e1-a.b", queue: "webhooks", retry: true },
    created_at: 1_800_000_000.125,
  });
  assertEquals(gets({ on: ["dead"] }, { class: "webhook:a", notify: ["a"] }), false);
});

Deno.test("the notice of a job has its result and its error, cut where they are long", () => {
  const job = parsePayload(
    '{"class":"A","args":[],"jid":"j","queue":"q","retry_count":1,"tags":["x"],"notify":[1,"a"]}',
  )!;
  const of = (more: Partial<Parameters<typeof jobNotice>[1]>) =>
    jobNotice(job, { id: "e", type: "dead", at: 5, ...more });
  const [{ data }, subject] = of({ error: { class: "E", message: "m".repeat(2_000) } });
  assertEquals(data, {
    ...{ jid: "j", class: "A", queue: "q", attempt: 3, tags: ["x"] },
    error: { class: "E", message: "m".repeat(1_000) },
  });
  assertEquals(subject, { class: "A", queue: "q", notify: ["a"] });
  const text = JSON.stringify("r".repeat(4_094));
  assertEquals(of({ result: text })[0].data["result"], "r".repeat(4_094));
  assertEquals("result" in of({ result: `${text} ` })[0].data, false);
});
