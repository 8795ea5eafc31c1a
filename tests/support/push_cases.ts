/**
 * Pushes with which `jobs.push` is compared to the client: each option with each value, and arguments.
 *
 * @module
 */
import { optionNames } from "../../src/job/option_names.ts";
import { LINK_FIELDS } from "../../src/job/payload.ts";

/** Values that each option gets, whether or not they are valid. */
const VALUES: readonly unknown[] = [
  ...[
    null,
    true,
    false,
    0,
    1,
    -1,
    7,
    1.5,
    0.001,
    1e9,
    1_000_000_001,
    3_155_760_001,
    1e11 + 1,
    1e18,
    253_402_300_800_000,
  ],
  ...[
    "",
    " ",
    "x",
    "a b",
    "1",
    "-1",
    "90",
    "1.5s",
    "30s",
    "5m",
    "250ms",
    "1h30m",
    " 2h ",
    "1d",
    "36526d",
    "m5",
    "5 m",
    "1/1m",
    "3/s",
    "0/1m",
  ],
  ...[
    "10001/1m",
    "1/31d",
    " 2 / 5s ",
    "args[0]",
    "args[1].customer",
    "args[7]",
    "args.x",
    "args [0]",
    "arg[0]",
    "args[0",
    "|high",
    "é",
    "😀",
  ],
  ...[
    "high",
    "normal",
    "low",
    "end",
    "start",
    "keep",
    "replace",
    "debug",
    "info",
    "trace",
    "a".repeat(201),
    "a".repeat(257),
    "b".repeat(129),
    "billing",
    ["deploys", "billing"],
    ["billing", "elsewhere"],
  ],
  ...[
    "2030-12-31T23:59:00Z",
    "2030-12-31 23:59:00.5+01:00",
    "2030-12-31",
    "2030-12-31T23:59",
    "2030-02-30T00:00:00Z",
    "2030-13-01T00:00Z",
  ],
  ...["tomorrow", "tab\there", 'quo"te', "back\\slash", [], ["a"], ["a", "b"], [""], [1], {}, { a: 1 }, [[1, 2], {
    b: [null, "x"],
  }]],
  ...[{ type: "fixed", base: "2s" }, { type: "linear", base: 3, max: "1h", jitter: 0.5 }, { type: "fixed" }, {
    type: "x",
    base: 1,
  }],
  ...[
    { type: "fixed", base: 5, max: 2 },
    { type: "fixed", base: 1, jitter: 2 },
    { type: "fixed", base: 1, other: 1 },
    "A".repeat(43),
  ],
];
const WITH: Readonly<Record<string, readonly Record<string, unknown>[]>> = {
  unique_for: [{ on_duplicate: "replace", batch: "b1" }, { unique_key: "args[0]" }, { in: "1m" }, { debounce: "5s" }],
  unique_key: [{ unique_for: "1h" }],
  unique_until: [{ unique_for: "1h" }],
  on_duplicate: [{ unique_for: "1h" }],
  debounce: [{ in: 5 }, { at: 5 }, { id: "x" }, { batch: "b" }, { debounce_max: "10m" }],
  debounce_key: [{ debounce: "5s" }],
  debounce_max: [{ debounce: "5s" }],
  throttle: [{ throttle_key: "k" }],
  throttle_key: [{ throttle: "2/1m" }],
  within: [{ id: "x" }],
  priority: [{ group: "g" }],
  id: [{ in: "1h" }, { jid: "j1" }],
  in: [{ at: 5 }],
  batch: [{ id: "x" }],
};
const ARGS: readonly unknown[] = [
  ...[[], [1, "x", null, true, 1.5], [{ a: { b: [1] } }], [
    "é",
    "😀",
    "\u2028",
    "tab\t",
    "\u0001",
    "\u007f",
    "\0",
    "\\\0\0u0000",
    '"',
    "\\",
    "/",
  ], [1e21, 1e-7, -0.5]],
  ...[[2n ** 63n], [2n ** 64n - 1n], [2n ** 64n], [-(2n ** 63n)], [-(2n ** 63n) - 1n], [2 ** 53], [{
    "a b": 2n ** 70n,
  }], [{ a$: [2n ** 70n] }]],
  ...[null, "x", {}, 5, Array.from({ length: 10_001 }, () => 0), nested(98), nested(99), nested(120), [
    "y".repeat(1_048_400),
  ], ["y".repeat(1_048_600)]],
];
/** Pushes, valid and invalid. */
export const REQUESTS: readonly Record<string, unknown>[] = [
  ...optionNames("push").flatMap((option) =>
    [{}, ...WITH[option] ?? []].flatMap((others) =>
      VALUES.map((value) => ({ class: "Mail", args: ["ada", { customer: 42 }], ...others, [option]: value }))
    )
  ),
  ...VALUES.map((value) => ({ class: "Mail", args: [], custom: value })),
  ...VALUES.map((value) => ({ class: value, args: [] })),
  ...VALUES.map((value) => ({ class: "Classy", args: ["ada"], group: value })),
  ...ARGS.map((args) => ({ class: "Mail", args })),
  ...[5, 2n ** 60n, "g", 1.5, null, true].map((first) => ({ class: "Mail", args: [first], group: "args[0]" })),
  ...Array.from(LINK_FIELDS, (field) => ({ class: "Mail", args: [], [field]: "x" })),
  ...["webhook:ops", "webhook:", "webhooks", "Webhook:ops"].flatMap((name) => [
    { class: name, args: [] },
    { class: "Mail", args: [], wrapped: name },
    { class: "Mail", args: [], display_class: name },
    { class: "Mail", args: [{ job_class: name }] },
    { class: "Sidekiq::ActiveJob::Wrapper", args: [{ job_class: name }] },
    { class: "Sidekiq::ActiveJob::Wrapper", args: [{ job_class: name }], wrapped: "Mail" },
  ]),
  ...[{ args: [] }, { class: "Classy", args: [1] }, {
    class: "Classy",
    args: [1],
    queue: "other",
    tags: ["z"],
    unique_for: false,
  }],
];
/** The options of the class `Classy`. */
export const CLASSY = {
  queue: "classy",
  retry: 3,
  unique_for: "1h",
  tags: ["a", "b"],
  custom: { x: 1 },
  isolate: false,
  timeout: "5m",
};

function nested(levels: number): unknown[] {
  let value: unknown[] = [];
  for (let i = 0; i < levels; i++) value = [value];
  return value;
}
