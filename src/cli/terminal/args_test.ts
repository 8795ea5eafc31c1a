import { assertEquals, assertThrows } from "@std/assert";
import { COMMON_FLAGS, hasFlag, parseCommand, parseLimit, splitCommand } from "./args.ts";
import { UsageError } from "./errors.ts";

const FLAGS = {
  queue: { takes: "list", short: "q" },
  limit: { takes: "text", short: "n" },
  in: { takes: "text" },
  bulk: { takes: "text" },
  reverse: { takes: "switch", short: "r" },
  json: { takes: "switch" },
} as const;

function parse(...argv: string[]) {
  return parseCommand("push", argv, FLAGS, "[ARG …]");
}

function refusal(...argv: string[]): string {
  return assertThrows(() => parse(...argv), UsageError).message;
}

Deno.test("returns a value for every option, given or not", () => {
  assertEquals(parse().flags, {
    queue: [],
    limit: undefined,
    in: undefined,
    bulk: undefined,
    reverse: false,
    json: false,
  });
  assertEquals(parse().args, []);
});

Deno.test("reads every form of an option", () => {
  for (const argv of [["--limit", "5"], ["--limit=5"], ["-n", "5"], ["-n5"], ["-n=5"], ["-rn", "5"], ["-rn5"]]) {
    assertEquals(parse(...argv).flags.limit, "5", argv.join(" "));
    assertEquals(parse(...argv).flags.reverse, argv[0]!.startsWith("-r"), argv.join(" "));
  }
});

Deno.test("collects a list in order", () => {
  assertEquals(parse("-q", "critical,2", "--queue=default", "-qlow").flags.queue, ["critical,2", "default", "low"]);
});

Deno.test("keeps texts unchanged", () => {
  const { flags, args } = parse("HardJob", "007", "1e3", "0x10", "true", "", " ", "--limit", "007");
  assertEquals(args, ["HardJob", "007", "1e3", "0x10", "true", "", " "]);
  assertEquals(flags.limit, "007");
});

Deno.test("keeps an equals sign and a line break in a value", () => {
  assertEquals(parse("--in=a=b").flags.in, "a=b");
  assertEquals(parse("--in", '{"a=":\n"b"}').flags.in, '{"a=":\n"b"}');
});

Deno.test("doesn't take the argument after a switch for its value", () => {
  assertEquals(parse("--json", "true").args, ["true"]);
  assertEquals(parse("-r", "false", "x").args, ["false", "x"]);
});

Deno.test("reads a single dash, for stdin, as a value and as an argument", () => {
  assertEquals(parse("--bulk", "-").flags.bulk, "-");
  assertEquals(parse("-").args, ["-"]);
});

Deno.test("takes everything after -- as arguments", () => {
  assertEquals(parse("Add", "--", "-1", "--json", "--", "-q").args, ["Add", "-1", "--json", "--", "-q"]);
  assertEquals(parse("--", "--json").flags.json, false);
});

Deno.test("rejects an unknown option, and suggests the nearest", () => {
  assertEquals(refusal("--quue", "low"), 'Unknown option "--quue"; did you mean --queue?');
  assertEquals(refusal("-z"), 'Unknown option "-z"; see jobs push --help');
  assertEquals(
    refusal("Add", "-1"),
    'Unknown option "-1". Put arguments that begin with a dash after --: jobs push … -- -1',
  );
  for (const arg of ["--quue=low", "-z", "-rz", "--no-json", "--queue.x=1", "--constructor", "--__proto__=1", "---"]) {
    assertEquals(refusal(arg).startsWith(`Unknown option "${arg}"`), true, arg);
  }
});

Deno.test("rejects an option without its value", () => {
  for (const argv of [["--queue"], ["--queue", "--in", "5m"], ["--queue="], ["-q", ""], ["-q", "--", "x"], ["-q="]]) {
    assertEquals(
      refusal(...argv),
      "Missing value of --queue; write --queue=VALUE if it begins with a dash",
      argv.join(" "),
    );
  }
  assertEquals(parse("--in=-1").flags.in, "-1");
});

Deno.test("rejects an option given twice, and a value for a switch", () => {
  assertEquals(refusal("--in", "5m", "--in=1h"), "Option --in given 2 times: expected once");
  assertEquals(refusal("--json=false"), 'Invalid --json="false": this option has no value');
  assertEquals(parse("--json", "--json").flags.json, true);
});

Deno.test("rejects missing and unexpected arguments with the usage", () => {
  const of = (usage: string, ...argv: string[]) => () => parseCommand("x y", argv, FLAGS, usage);
  const cases: [usage: string, argv: string[], message: string][] = [
    ["", ["a"], 'Unexpected argument "a". Usage: jobs x y'],
    ["NAME", [], "Missing argument: NAME. Usage: jobs x y NAME"],
    ["NAME", ["a", "b"], 'Unexpected argument "b". Usage: jobs x y NAME'],
    ["NAME [ARG …]", [], "Missing argument: NAME. Usage: jobs x y NAME [ARG …]"],
    ["--from URL", ["a"], 'Unexpected argument "a". Usage: jobs x y --from URL'],
    ["[[HOST:]PORT]", ["1", "2"], 'Unexpected argument "2". Usage: jobs x y [[HOST:]PORT]'],
  ];
  for (const [usage, argv, message] of cases) {
    assertEquals(assertThrows(of(usage, ...argv), UsageError).message, message);
  }
  for (const argv of [[], ["a"], ["a", "b"]]) of("[ARG …]", ...argv)();
  of("NAME [ARG …]", "a", "b", "c")();
});

Deno.test("reads the short forms of common options", () => {
  const { flags } = parseCommand(
    "stats",
    ["-C", "a.json", "-e", "production", "--store", "sqlite:x", "-h"],
    COMMON_FLAGS,
    "",
  );
  const switches = { json: false, "no-color": false, help: true };
  assertEquals(flags, { config: "a.json", environment: "production", store: "sqlite:x", ...switches });
});

Deno.test("reads --no-color before and after arguments", () => {
  for (const argv of [["a", "--no-color"], ["--no-color", "a"], ["--no-color", "--", "a"]]) {
    const { flags, args } = parseCommand("show", argv, COMMON_FLAGS, "JID");
    assertEquals([flags["no-color"], args], [true, ["a"]], argv.join(" "));
  }
});

Deno.test("splits off the command; common options may precede it", () => {
  const cases: [argv: string[], name: string | undefined, rest: string[]][] = [
    [["stats", "--json"], "stats", ["--json"]],
    [["--store", "X", "stats"], "stats", ["--store", "X"]],
    [["--store=X", "--json", "stats", "a"], "stats", ["--store=X", "--json", "a"]],
    [["-C", "f", "-eprod", "run", "h.js"], "run", ["-C", "f", "-eprod", "h.js"]],
    [["--json"], undefined, ["--json"]],
    [[], undefined, []],
    [["-q", "low", "run"], "-q", ["low", "run"]],
    [["--", "x"], "--", ["x"]],
  ];
  for (const [argv, name, rest] of cases) assertEquals(splitCommand(argv), { name, rest }, argv.join(" "));
  assertEquals([hasFlag(["a", "--json"], "--json"), hasFlag(["a", "--", "--json"], "--json")], [true, false]);
});

Deno.test("reads --limit as a number without an upper bound, or all", () => {
  assertEquals([parseLimit(undefined), parseLimit("20000"), parseLimit("all")], [25, 20_000, Infinity]);
  for (const wrong of ["0", "-1", "x", "1.5"]) assertThrows(() => parseLimit(wrong), UsageError);
});
