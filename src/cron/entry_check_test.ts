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

Deno.test("checkEntries accepts every field", () => {
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
    memo: "requested by Ada",
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
    memo: "requested by Ada",
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

Deno.test("checkEntries uses the default time zone for an expression without one", () => {
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

Deno.test("checkEntries turns catch-up off with everyProcess", () => {
  const [entry] = checkEntries([{ ...GOOD, everyProcess: true }], PRODUCTION).active;
  assertEquals(entry?.catchUp.policy, "none");
});

Deno.test("checkEntries accepts a class that defineJob returned", () => {
  const job = Object.assign(() => undefined, { class: "Greet", options: {} });
  const { active } = checkEntries([defineCron({ name: "x", rule: "@hourly", class: job })], PRODUCTION);
  assertEquals(active[0]?.class, "Greet");
});

Deno.test("checkEntries lists the entries that are switched off, and checks them, too", () => {
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

const INVALID: [input: string, fields: Record<string, unknown>, message: string][] = [
  [
    "an invalid expression",
    { rule: "61 * * * *" },
    `Invalid cron expression "61 * * * *", column 1: minute "61" is out of range; expected 0-59`,
  ],
  [
    "an expression that matches no time",
    { rule: "0 0 31 2 *" },
    `Invalid cron expression "0 0 31 2 *", column 5: month "2" never has a day "31", ` +
    `so it never runs`,
  ],
  ["an expression that isn't a text", { rule: 5 }, `"rule" is 5; expected a text such as "30 3 * * *" or "@daily"`],
  ["an entry without a schedule", { rule: undefined }, `neither "rule" nor "every"; expected one of them`],
  ["both rule and every", { every: "5m" }, `both "rule" and "every"; expected one of them`],
  [
    "an unknown zone",
    { timezone: "Mars/Base" },
    `Unknown time zone "Mars/Base"; expected a name of the IANA database such as ` +
    `"Europe/London", or "UTC"`,
  ],
  ["a zone that isn't a text", { timezone: 1 }, `"timezone" is 1; expected a name such as "Europe/London"`],
  [
    "an interval that is too short",
    { rule: undefined, every: "500ms" },
    `"every" is "500ms"; expected seconds, or a duration such ` +
    `as 30s, 5m, 2h or 1d, at least 1s`,
  ],
  [
    "an invalid interval",
    { rule: undefined, every: "often" },
    `"every" is "often"; expected seconds, or a duration ` +
    `such as 30s, 5m, 2h or 1d, at least 1s`,
  ],
  [
    "an interval in a zone",
    { rule: undefined, every: 60, timezone: "UTC" },
    `"timezone" is for "rule", as "every" counts ` +
    `elapsed time; remove it`,
  ],
  [
    "an anchor without a zone",
    { rule: undefined, every: 60, anchor: "2026-01-01T06:00" },
    `"anchor" is ` +
    `"2026-01-01T06:00"; expected a time with its zone, such as "2026-01-01T06:00:00Z"`,
  ],
  [
    "an anchor for an expression",
    { anchor: "2026-01-01T06:00:00Z" },
    `"anchor" is for "every"; remove it, or write "every" instead of "rule"`,
  ],
  [
    "an end before the start",
    { start: "2026-01-02T00:00:00Z", end: "2026-01-01T00:00:00Z" },
    `"end" is before "start"; expected a later time`,
  ],
  [
    "a start without a zone",
    { start: "2026-01-02 00:00" },
    `"start" is "2026-01-02 00:00"; expected a time with its zone, such as "2026-01-01T06:00:00Z"`,
  ],
  ["a count of nothing", { count: 0 }, `"count" is 0; expected a whole number from 1 to 1000`],
  ["a count without a start", { count: 3 }, `"count" without "start"; expected the time from which runs are counted`],
  [
    "a count and an end",
    { start: "2026-01-01T00:00:00Z", end: "2027-01-01T00:00:00Z", count: 3 },
    `both "count" and "end"; expected one of them`,
  ],
  ["a long spread", { spread: "2d" }, `"spread" is "2d"; expected at most 1d`],
  ["an empty memo", { memo: "" }, `"memo" is ""; expected a text`],
  ["an invalid enable", { enable: "no" }, `"enable" is "no"; expected true or false`],
  [
    "an empty list of environments",
    { environments: [] },
    `"environments" is []; expected names of environments, at least one`,
  ],
  ["an invalid overlap", { overlap: "maybe" }, `"overlap" is "maybe"; expected one of allow, skip, queue-one, replace`],
  [
    "overlap against singleton",
    { overlap: "replace", singleton: true },
    `"overlap" is "replace" and "singleton" true; ` +
    `expected one of them`,
  ],
  ["an invalid catchUp", { catchUp: "some" }, `"catchUp" is "some"; expected one of none, last, all`],
  [
    "an invalid window",
    { catchUpWindow: -1 },
    `"catchUpWindow" is -1; expected seconds, or a duration such as 30s, 5m, 2h ` +
    `or 1d`,
  ],
  [
    "a window without catch-up",
    { catchUp: "none", catchUpWindow: 5 },
    `"catchUpWindow" is for "catchUp" last or all; ` +
    `remove it`,
  ],
  [
    "everyProcess against onOneServer",
    { everyProcess: true, onOneServer: true },
    `"everyProcess" and "onOneServer" are ` +
    `both true; expected one of them`,
  ],
  [
    "catch-up with everyProcess",
    { everyProcess: true, catchUp: "last" },
    `"catchUp" is "last"; expected none, on every ` +
    `process`,
  ],
  [
    "waiting with everyProcess",
    { everyProcess: true, overlap: "replace" },
    `"overlap" is "replace"; expected one of allow, ` +
    `skip on every process`,
  ],
  [
    "Hyperf's callback",
    { callback: ["A", "b"] },
    `"callback" is not a field of a cron entry; write "class" and "args"`,
  ],
  [
    "Hyperf's mutexExpires",
    { mutexExpires: 3600 },
    `"mutexExpires" is not a field of a cron entry; write nothing: ` +
    `cron entries take no lock`,
  ],
  ["a unique lock", { unique_for: 60 }, `"unique_for" is not a field of a cron entry; write "overlap"`],
  [
    "options that aren't an object",
    { options: [1] },
    `"options" is [1]; expected an object of further fields of the payload`,
  ],
  [
    "options with a known field",
    { options: { queue: "low" } },
    `"options.queue" is reserved; "options" is for ` +
    `further fields of the payload`,
  ],
];

for (const [input, fields, message] of INVALID) {
  Deno.test(`checkEntries rejects ${input}`, () => {
    const { active, problems } = checkEntries([{ ...GOOD, ...fields }], PRODUCTION);
    assertEquals(problems.map(({ entry, message }) => [entry, message]), [[
      "nightly",
      `Cron entry "nightly": ${message}`,
    ]]);
    assertEquals(active, []);
  });
}

/** An entry whose jobs a push would reject is rejected at the start, with the message of the push. */
const UNPUSHABLE: [fields: Record<string, unknown>, found: string][] = [
  [{ class: undefined }, `"class" is undefined; expected `],
  [{ class: "" }, `"class" is ""; expected `],
  [{ class: "webhook:ops" }, `"class" is "webhook:ops"; expected a class that doesn't begin with "webhook:"`],
  [{ display_class: "webhook:ops" }, `"display_class" is "webhook:ops"; expected a class that doesn't begin`],
  [{ args: { a: 1 } }, `"args" is {"a":1}; expected `],
  [{ args: [new Date(0)] }, `"args[0]" is `],
  [{ queue: "a b" }, `"queue" is "a b"; expected `],
  [{ retry: -1 }, `"retry" is -1; expected `],
  [{ timeout: "soon" }, `"timeout" is "soon"; expected `],
  [{ tags: "x" }, `"tags" is "x"; expected `],
  [{ group: "args[9].shop" }, `"group (args[9].shop)" is undefined; expected `],
  [{ options: { born: new Map() } }, `"born" is `],
];

for (const [fields, found] of UNPUSHABLE) {
  Deno.test(`checkEntries rejects a job that a push rejects: ${found}`, () => {
    const messages = problems([{ ...GOOD, ...fields }]);
    assertEquals(messages.length, 1);
    assertStringIncludes(messages[0]!, `Cron entry "nightly": ${found}`);
  });
}

Deno.test("checkEntries rejects a job that a push rejects because of an option of its class", () => {
  const optionsOf = (name: string) => name === GOOD.class ? { group: "args[9].shop" } : undefined;
  const context = { ...PRODUCTION, optionsOf };
  assertEquals(checkEntries([{ ...GOOD, group: "acme" }], context).problems, [], "the entry's option applies");
  const [problem] = checkEntries([GOOD], context).problems;
  assertStringIncludes(problem!.message, `Cron entry "nightly": "group (args[9].shop)" is undefined; expected `);
});

Deno.test("checkEntries shortens a name that is far too long in each message", () => {
  const [message] = problems([{ ...GOOD, name: "n".repeat(100_000) }]);
  assertEquals(message!.length < 400, true, message!.slice(0, 400));
});

Deno.test("checkEntries rejects an unknown field and lists the known ones", () => {
  const [message] = problems([{ ...GOOD, rules: "* * * * *" }]);
  assertEquals(
    message?.startsWith(`Cron entry "nightly": unknown field "rules"; known: name, rule, every, anchor, `),
    true,
  );
  assertEquals(problems([{ ...GOOD, ["constructor"]: 1 }])[0]?.includes(`unknown field "constructor"`), true);
});

Deno.test("checkEntries rejects a class without a handler if the handlers are known", () => {
  const classes = new Set(["Mail", "Clean"]);
  assertEquals(problems([GOOD], { ...PRODUCTION, classes }), [
    `Cron entry "nightly": no handler for class "Report"; known: Clean, Mail`,
  ]);
  assertEquals(problems([{ ...GOOD, class: "Mail" }], { ...PRODUCTION, classes }), []);
});

Deno.test("checkEntries rejects a duplicate name and names both entries", () => {
  const { active, problems } = checkEntries([GOOD, { ...GOOD, name: "other" }, { ...GOOD, class: "B" }], PRODUCTION);
  assertEquals(problems, [{
    entry: "nightly",
    message: `Cron entry "nightly": entry 3 of the list has the name of entry 1`,
  }]);
  assertEquals(active.map((entry) => [entry.name, entry.class]), [["nightly", "Report"], ["other", "Report"]]);
});

Deno.test("checkEntries names an entry without a name by its position", () => {
  const { name: _, ...nameless } = GOOD;
  const expected = "expected a text of at most 200 characters, without control characters or surrounding blanks";
  assertEquals(problems([GOOD, nameless]), [`Cron entry 2 of the list: "name" is undefined; ${expected}`]);
  assertEquals(problems([{ ...GOOD, name: " x" }]), [`Cron entry " x": "name" is " x"; ${expected}`]);
  assertEquals(problems([{ ...GOOD, name: "a\nb" }]), [`Cron entry "a\\nb": "name" is "a\\nb"; ${expected}`]);
  assertEquals(problems(["* * * * *"]), [
    `Cron entry 1 of the list: it is "* * * * *"; expected an object with name, class, and rule or every`,
  ]);
});

Deno.test("checkEntries names no position of an entry that isn't in a list", () => {
  const { name: _, ...nameless } = GOOD;
  const expected = "expected a text of at most 200 characters, without control characters or surrounding blanks";
  const single = { ...PRODUCTION, isSingle: true };
  assertEquals(problems([nameless], single), [`Cron entry: "name" is undefined; ${expected}`]);
  assertEquals(problems([{ ...GOOD, memo: 1 }], single), [`Cron entry "nightly": "memo" is 1; expected a text`]);
  assertEquals(problems(["* * * * *"], single), [
    `Cron entry: it is "* * * * *"; expected an object with name, class, and rule or every`,
  ]);
});

Deno.test("checkEntries reports all problems, not only the first", () => {
  assertEquals(
    problems([{ name: "a", rule: "x", overlap: "y", class: "" }, { ...GOOD, memo: 1 }]).map((message) =>
      message.slice(0, 32)
    ),
    [
      `Cron entry "a": Invalid cron exp`,
      `Cron entry "a": "class" is ""; e`,
      `Cron entry "a": "overlap" is "y"`,
      `Cron entry "nightly": "memo" is `,
    ],
  );
});

Deno.test("checkEntries rejects a crontab that isn't a list", () => {
  assertEquals(problems({ nightly: GOOD }), [
    `"cron" is ${JSON.stringify({ nightly: GOOD })}; expected a list of entries`,
  ]);
  assertEquals(problems([]), []);
});

Deno.test("checkEntries treats a further field named __proto__ as part of the payload only", () => {
  const options = JSON.parse(`{"__proto__": {"queue": "evil"}, "tenant": 1}`);
  const [entry] = checkEntries([{ ...GOOD, options }], PRODUCTION).active;
  assertEquals(entry?.options.queue, undefined);
  assertEquals(Object.keys(entry?.options ?? {}), ["__proto__", "tenant"]);
});

Deno.test("an entry is plain JSON and survives storing and reading", () => {
  const [entry] = checkEntries([{ ...GOOD, args: [1, "a"], tags: ["x"], memo: "m" }], PRODUCTION).active;
  assertEquals(JSON.parse(JSON.stringify(entry)), entry);
});

Deno.test("occurrenceRequest returns a job request with the run in it", () => {
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

Deno.test("names the field of each problem", () => {
  const found = (fields: Record<string, unknown>) =>
    checkEntries([{ ...GOOD, ...fields }], PRODUCTION).problems.map(({ field }) => field);
  assertEquals(found({ rule: "61 3 * * *" }), ["rule"]);
  assertEquals(found({ every: "5m" }), ["rule"]);
  assertEquals(found({ timezone: "Mars/Base" }), ["timezone"]);
  assertEquals(found({ queue: "a b" }), ["queue"]);
  assertEquals(found({ memo: 7, catchUp: "some" }), ["memo", "catchUp"]);
  assertEquals(found({ quue: "low" }), [undefined]);
});

Deno.test("checkEntries rejects a name that no address can contain", () => {
  for (const name of [".", ".."]) {
    const [problem] = checkEntries([{ ...GOOD, name }], PRODUCTION).problems;
    assertEquals(problem?.message.includes(`"name" is "${name}"; expected a text`), true, problem?.message);
    assertEquals(problem?.message.includes("and not . or .."), true);
  }
  assertEquals(checkEntries([{ ...GOOD, name: "..." }], PRODUCTION).problems, []);
});
