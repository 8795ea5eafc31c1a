import { assertEquals, assertStringIncludes } from "@std/assert";
import { type CronEntryInput, defineCron, occurrenceRequest } from "./entry.ts";
import { checkEntries, type EntryContext } from "./entry_check.ts";

const PRODUCTION: EntryContext = { environment: "production" };
const GOOD = { name: "nightly", rule: "30 3 * * *", class: "Report" };

function problems(crontab: unknown, context = PRODUCTION): string[] {
  return checkEntries(crontab, context).problems.map(({ message }) => message);
}

Deno.test("checkEntries fills in the defaults", () => {
  const { active, inactive, problems } = checkEntries([GOOD], PRODUCTION);
  assertEquals(problems, []);
  assertEquals(inactive, []);
  assertEquals(active, [{
    name: "nightly",
    schedule: { rule: "0 30 3 * * *", timezone: "UTC" },
    class: "Report",
    args: [],
    options: {},
    overlap: "allow",
    catchUp: { policy: "last", windowMs: 3_600_000 },
    everyProcess: false,
  }]);
});

Deno.test("checkEntries takes every field", () => {
  const full: CronEntryInput = {
    name: "Nightly report, all tenants",
    rule: "@daily",
    timezone: "europe/london",
    class: "Report",
    args: ["all", { deep: [1, null] }],
    queue: "low",
    retry: 3,
    retry_for: 600,
    retry_queue: "slow",
    dead: false,
    backtrace: 10,
    tags: ["cron"],
    timeout: "5m",
    expires_in: "1h",
    log_level: "debug",
    display_class: "The report",
    options: { tenant: "all", locale: "de" },
    memo: "asked for by Ada",
    enable: true,
    environments: ["staging", "production"],
    overlap: "queue-one",
    catchUp: "all",
    catchUpWindow: "2d",
    everyProcess: false,
    onOneServer: true,
  };
  const { active, problems } = checkEntries([full], PRODUCTION);
  assertEquals(problems, []);
  assertEquals(active, [{
    name: "Nightly report, all tenants",
    schedule: { rule: "0 0 0 * * *", timezone: "Europe/London" },
    class: "Report",
    args: ["all", { deep: [1, null] }],
    options: {
      queue: "low",
      retry: 3,
      retry_for: 600,
      retry_queue: "slow",
      dead: false,
      backtrace: 10,
      tags: ["cron"],
      timeout: "5m",
      expires_in: "1h",
      log_level: "debug",
      display_class: "The report",
      tenant: "all",
      locale: "de",
    },
    memo: "asked for by Ada",
    overlap: "queue-one",
    catchUp: { policy: "all", windowMs: 172_800_000 },
    everyProcess: false,
  }]);
});

Deno.test("checkEntries reads intervals, counted from the epoch or from their anchor", () => {
  const schedules = [
    { every: 90 },
    { every: "1h30m" },
    { every: "1d", anchor: "2026-03-01T06:00:00+01:00" },
    { every: "1d", anchor: "1969-12-31T23:00:00Z" },
  ].map((when) => checkEntries([{ name: "x", class: "C", ...when }], PRODUCTION).active[0]?.schedule);
  assertEquals(schedules, [
    { everyMs: 90_000, anchor: 0 },
    { everyMs: 5_400_000, anchor: 0 },
    { everyMs: 86_400_000, anchor: 5 * 3_600_000 },
    { everyMs: 86_400_000, anchor: 23 * 3_600_000 },
  ]);
});

Deno.test("checkEntries takes the zone for rules without one from its context", () => {
  const [entry] = checkEntries([GOOD], { ...PRODUCTION, timezone: "Asia/Tokyo" }).active;
  assertEquals(entry?.schedule, { rule: "0 30 3 * * *", timezone: "Asia/Tokyo" });
});

Deno.test("checkEntries reads Hyperf's singleton and onOneServer", () => {
  const overlaps = [{ singleton: true }, { singleton: false }, { singleton: true, overlap: "skip" }]
    .map((more) => checkEntries([{ ...GOOD, ...more }], PRODUCTION).active[0]?.overlap);
  assertEquals(overlaps, ["skip", "allow", "skip"]);
  const everywhere = [{ onOneServer: true }, { onOneServer: false }, { everyProcess: true, onOneServer: false }]
    .map((more) => checkEntries([{ ...GOOD, ...more }], PRODUCTION).active[0]?.everyProcess);
  assertEquals(everywhere, [false, true, true]);
});

Deno.test("checkEntries: on every process there is nothing to catch up", () => {
  const [entry] = checkEntries([{ ...GOOD, everyProcess: true }], PRODUCTION).active;
  assertEquals(entry?.catchUp.policy, "none");
});

Deno.test("checkEntries takes a class from what defineJob returned", () => {
  const job = Object.assign(() => undefined, { class: "Greet", options: {} });
  const { active } = checkEntries([defineCron({ name: "x", rule: "@hourly", class: job })], PRODUCTION);
  assertEquals(active[0]?.class, "Greet");
});

Deno.test("checkEntries tells which entries are switched off, and checks them all the same", () => {
  const { active, inactive, problems } = checkEntries([
    { ...GOOD, name: "off", enable: false },
    { ...GOOD, name: "off by code", enable: () => false },
    { ...GOOD, name: "on by code", enable: () => true },
    { ...GOOD, name: "elsewhere", environments: ["staging"] },
    { ...GOOD, name: "here", environments: "production" },
    { ...GOOD, name: "off and wrong", enable: false, rule: "* * *" },
  ], PRODUCTION);
  assertEquals(active.map(({ name }) => name), ["on by code", "here"]);
  assertEquals(inactive.map(({ entry, by }) => [entry.name, by]), [
    ["off", "enable"],
    ["off by code", "enable"],
    ["elsewhere", "environments"],
  ]);
  assertEquals(problems.map(({ entry }) => entry), ["off and wrong"]);
});

const WRONG: [what: string, fields: Record<string, unknown>, message: string][] = [
  ["a bad rule", { rule: "61 * * * *" }, `Rule "61 * * * *", column 1: minute "61" is out of range; wanted: 0-59`],
  [
    "a rule that never occurs",
    { rule: "0 0 31 2 *" },
    `Rule "0 0 31 2 *", column 5: month "2" never has a day "31": ` +
    `the rule never occurs`,
  ],
  ["a rule that is no text", { rule: 5 }, `"rule" is 5; wanted: a text such as "30 3 * * *" or "@daily"`],
  ["no rule", { rule: undefined }, `neither "rule" nor "every"; wanted: one of them`],
  ["rule and every", { every: "5m" }, `both "rule" and "every"; wanted: one of them`],
  [
    "an unknown zone",
    { timezone: "Mars/Base" },
    `No time zone "Mars/Base"; wanted: a name of the IANA database such as ` +
    `"Europe/London", or "UTC"`,
  ],
  ["a zone that is no text", { timezone: 1 }, `"timezone" is 1; wanted: a name such as "Europe/London"`],
  [
    "an interval too short",
    { rule: undefined, every: "500ms" },
    `"every" is "500ms"; wanted: seconds, or a duration such ` +
    `as 30s, 5m, 2h or 1d, at least 1s`,
  ],
  [
    "an interval that is none",
    { rule: undefined, every: "often" },
    `"every" is "often"; wanted: seconds, or a duration ` +
    `such as 30s, 5m, 2h or 1d, at least 1s`,
  ],
  [
    "an interval in a zone",
    { rule: undefined, every: 60, timezone: "UTC" },
    `"timezone" is for "rule", as "every" counts ` +
    `elapsed time; wanted: "every" without it`,
  ],
  [
    "an anchor without zone",
    { rule: undefined, every: 60, anchor: "2026-01-01T06:00" },
    `"anchor" is ` +
    `"2026-01-01T06:00"; wanted: a time with its zone, such as "2026-01-01T06:00:00Z"`,
  ],
  ["an anchor for a rule", { anchor: "2026-01-01T06:00:00Z" }, `"anchor" is for "every"; wanted: a rule without it`],
  ["an empty memo", { memo: "" }, `"memo" is ""; wanted: a text`],
  ["a bad enable", { enable: "no" }, `"enable" is "no"; wanted: true or false`],
  ["no environments", { environments: [] }, `"environments" is []; wanted: names of environments, at least one`],
  ["a bad overlap", { overlap: "maybe" }, `"overlap" is "maybe"; wanted: one of allow, skip, queue-one, replace`],
  [
    "overlap against singleton",
    { overlap: "replace", singleton: true },
    `"overlap" is "replace" and "singleton" true; ` +
    `wanted: one of them`,
  ],
  ["a bad catchUp", { catchUp: "some" }, `"catchUp" is "some"; wanted: one of none, last, all`],
  [
    "a bad window",
    { catchUpWindow: -1 },
    `"catchUpWindow" is -1; wanted: seconds, or a duration such as 30s, 5m, 2h ` +
    `or 1d`,
  ],
  [
    "a window for nothing",
    { catchUp: "none", catchUpWindow: 5 },
    `"catchUpWindow" is for "catchUp" last or all; wanted: ` +
    `none without it`,
  ],
  [
    "everyProcess against onOneServer",
    { everyProcess: true, onOneServer: true },
    `"everyProcess" and "onOneServer" are ` +
    `both true; wanted: one of them`,
  ],
  [
    "catching up on every process",
    { everyProcess: true, catchUp: "last" },
    `"catchUp" is "last"; wanted: none, on every ` +
    `process`,
  ],
  [
    "waiting on every process",
    { everyProcess: true, overlap: "replace" },
    `"overlap" is "replace"; wanted: one of allow, ` +
    `skip on every process`,
  ],
  ["Hyperf's callback", { callback: ["A", "b"] }, `"callback" is not known here; wanted: "class" and "args"`],
  [
    "Hyperf's mutexExpires",
    { mutexExpires: 3600 },
    `"mutexExpires" is not known here; wanted: nothing: there is no lock ` +
    `that could expire`,
  ],
  ["a unique lock", { unique_for: 60 }, `"unique_for" is not known here; wanted: "overlap"`],
  [
    "options that are no object",
    { options: [1] },
    `"options" is [1]; wanted: an object of further fields of the payload`,
  ],
  [
    "options with a known field",
    { options: { queue: "low" } },
    `"options.queue" is no further field of the payload: it ` +
    `has a meaning`,
  ],
];

for (const [what, fields, message] of WRONG) {
  Deno.test(`checkEntries refuses ${what}`, () => {
    const { active, problems } = checkEntries([{ ...GOOD, ...fields }], PRODUCTION);
    assertEquals(problems, [{ entry: "nightly", message: `Cron entry "nightly": ${message}` }]);
    assertEquals(active, []);
  });
}

/** What the enqueuer would refuse at each occurrence is refused here, in its words. */
const UNPUSHABLE: [fields: Record<string, unknown>, found: string][] = [
  [{ class: undefined }, `"class" is undefined; expected `],
  [{ class: "" }, `"class" is ""; expected `],
  [{ args: { a: 1 } }, `"args" is {"a":1}; expected `],
  [{ args: [new Date(0)] }, `"args[0]" is `],
  [{ queue: "a b" }, `"queue" is "a b"; expected `],
  [{ retry: -1 }, `"retry" is -1; expected `],
  [{ timeout: "soon" }, `"timeout" is "soon"; expected `],
  [{ tags: "x" }, `"tags" is "x"; expected `],
  [{ options: { born: new Map() } }, `"born" is `],
];

for (const [fields, found] of UNPUSHABLE) {
  Deno.test(`checkEntries refuses what cannot be pushed: ${found}`, () => {
    const messages = problems([{ ...GOOD, ...fields }]);
    assertEquals(messages.length, 1);
    assertStringIncludes(messages[0]!, `Cron entry "nightly": ${found}`);
  });
}

Deno.test("checkEntries refuses an unknown field and names the known ones", () => {
  const [message] = problems([{ ...GOOD, rules: "* * * * *" }]);
  assertEquals(
    message?.startsWith(`Cron entry "nightly": unknown field "rules"; known: name, rule, every, anchor, `),
    true,
  );
  assertEquals(problems([{ ...GOOD, ["constructor"]: 1 }])[0]?.includes(`unknown field "constructor"`), true);
});

Deno.test("checkEntries refuses a class without a handler, where the handlers are known", () => {
  const classes = new Set(["Mail", "Clean"]);
  assertEquals(problems([GOOD], { ...PRODUCTION, classes }), [
    `Cron entry "nightly": no handler for class "Report"; known: Clean, Mail`,
  ]);
  assertEquals(problems([{ ...GOOD, class: "Mail" }], { ...PRODUCTION, classes }), []);
});

Deno.test("checkEntries refuses a name that is taken, and says by which entry", () => {
  const { active, problems } = checkEntries([GOOD, { ...GOOD, name: "other" }, { ...GOOD, class: "B" }], PRODUCTION);
  assertEquals(problems, [{
    entry: "nightly",
    message: `Cron entry "nightly": entry 3 of the list has the name of entry 1`,
  }]);
  assertEquals(active.map((entry) => [entry.name, entry.class]), [["nightly", "Report"], ["other", "Report"]]);
});

Deno.test("checkEntries finds an entry without a name by its place", () => {
  const { name: _, ...nameless } = GOOD;
  const wanted = "wanted: a text of at most 200 characters, without control characters or blanks around it";
  assertEquals(problems([GOOD, nameless]), [`Cron entry 2 of the list: "name" is undefined; ${wanted}`]);
  assertEquals(problems([{ ...GOOD, name: " x" }]), [`Cron entry " x": "name" is " x"; ${wanted}`]);
  assertEquals(problems([{ ...GOOD, name: "a\nb" }]), [`Cron entry "a\\nb": "name" is "a\\nb"; ${wanted}`]);
  assertEquals(problems(["* * * * *"]), [
    `Cron entry 1 of the list: it is "* * * * *"; wanted: an object with name, class, and rule or every`,
  ]);
});

Deno.test("checkEntries reports everything that is wrong, not the first thing alone", () => {
  assertEquals(
    problems([{ name: "a", rule: "x", overlap: "y", class: "" }, { ...GOOD, memo: 1 }]).map((message) =>
      message.slice(0, 32)
    ),
    [
      `Cron entry "a": Rule "x", column`,
      `Cron entry "a": "class" is ""; e`,
      `Cron entry "a": "overlap" is "y"`,
      `Cron entry "nightly": "memo" is `,
    ],
  );
});

Deno.test("checkEntries refuses a crontab that is no list", () => {
  assertEquals(problems({ nightly: GOOD }), [
    `"cron" is ${JSON.stringify({ nightly: GOOD })}; wanted: a list of entries`,
  ]);
  assertEquals(problems([]), []);
});

Deno.test("checkEntries: a field named __proto__ among the further ones changes nothing but the payload", () => {
  const options = JSON.parse(`{"__proto__": {"queue": "evil"}, "tenant": 1}`);
  const [entry] = checkEntries([{ ...GOOD, options }], PRODUCTION).active;
  assertEquals(entry?.options.queue, undefined);
  assertEquals(Object.keys(entry?.options ?? {}), ["__proto__", "tenant"]);
});

Deno.test("an entry is plain JSON: what is stored is read back as it was", () => {
  const [entry] = checkEntries([{ ...GOOD, args: [1, "a"], tags: ["x"], memo: "m" }], PRODUCTION).active;
  assertEquals(JSON.parse(JSON.stringify(entry)), entry);
});

Deno.test("occurrenceRequest is a job like any other, told of its occurrence", () => {
  const [entry] = checkEntries([{ ...GOOD, args: [1], queue: "low", options: { tenant: 7 } }], PRODUCTION).active;
  const occurrence = { name: "nightly", scheduledAt: "2026-06-15T03:30:00.000Z", lateMs: 4 };
  assertEquals(occurrenceRequest(entry!, "a1", occurrence), {
    queue: "low",
    tenant: 7,
    class: "Report",
    args: [1],
    jid: "a1",
    occurrence,
  });
});
