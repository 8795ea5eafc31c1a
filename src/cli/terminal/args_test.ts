import { assertEquals, assertThrows } from "@std/assert";
import { COMMON_FLAGS, parseCommand, UsageError } from "./args.ts";

const FLAGS = {
  queue: { takes: "list", short: "q" },
  limit: { takes: "text", short: "n" },
  in: { takes: "text" },
  bulk: { takes: "text" },
  reverse: { takes: "switch", short: "r" },
  json: { takes: "switch" },
} as const;

function parse(...argv: string[]) {
  return parseCommand("push", argv, FLAGS);
}

function refusal(...argv: string[]): string {
  return assertThrows(() => parse(...argv), UsageError).message;
}

Deno.test("parseCommand gives every flag a value, given or not", () => {
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

Deno.test("parseCommand reads every form of a flag", () => {
  for (const argv of [["--limit", "5"], ["--limit=5"], ["-n", "5"], ["-n5"], ["-n=5"], ["-rn", "5"], ["-rn5"]]) {
    assertEquals(parse(...argv).flags.limit, "5", argv.join(" "));
    assertEquals(parse(...argv).flags.reverse, argv[0]!.startsWith("-r"), argv.join(" "));
  }
});

Deno.test("parseCommand collects a list in order", () => {
  assertEquals(parse("-q", "critical,2", "--queue=default", "-qlow").flags.queue, ["critical,2", "default", "low"]);
});

Deno.test("parseCommand keeps text as text", () => {
  const { flags, args } = parse("HardJob", "007", "1e3", "0x10", "true", "", " ", "--limit", "007");
  assertEquals(args, ["HardJob", "007", "1e3", "0x10", "true", "", " "]);
  assertEquals(flags.limit, "007");
});

Deno.test("parseCommand keeps what stands in a value, even an equals sign or a line break", () => {
  assertEquals(parse("--in=a=b").flags.in, "a=b");
  assertEquals(parse("--in", '{"a=":\n"b"}').flags.in, '{"a=":\n"b"}');
});

Deno.test("parseCommand leaves the argument after a switch alone", () => {
  assertEquals(parse("--json", "true").args, ["true"]);
  assertEquals(parse("-r", "false", "x").args, ["false", "x"]);
});

Deno.test("parseCommand takes a single dash, for stdin, as a value and as an argument", () => {
  assertEquals(parse("--bulk", "-").flags.bulk, "-");
  assertEquals(parse("-").args, ["-"]);
});

Deno.test("parseCommand takes everything after -- as it is", () => {
  assertEquals(parse("Add", "--", "-1", "--json", "--", "-q").args, ["Add", "-1", "--json", "--", "-q"]);
  assertEquals(parse("--", "--json").flags.json, false);
});

Deno.test("parseCommand refuses an unknown flag and names the nearest", () => {
  assertEquals(
    refusal("--quue", "low"),
    'Unknown option "--quue" of jobs push; did you mean --queue? (an argument that begins with a dash stands after --)',
  );
  assertEquals(
    refusal("Add", "-1"),
    'Unknown option "-1" of jobs push; see jobs push --help (an argument that begins with a dash stands after --)',
  );
  for (const arg of ["--quue=low", "-z", "-rz", "--no-json", "--queue.x=1", "--constructor", "--__proto__=1", "---"]) {
    assertEquals(refusal(arg).startsWith(`Unknown option "${arg}"`), true, arg);
  }
});

Deno.test("parseCommand refuses a flag without its value", () => {
  for (const argv of [["--queue"], ["--queue", "--in", "5m"], ["--queue="], ["-q", ""], ["-q", "--", "x"], ["-q="]]) {
    assertEquals(
      refusal(...argv),
      "Option --queue of jobs push wants a value; one that begins with a dash is given as --queue=VALUE",
      argv.join(" "),
    );
  }
  assertEquals(parse("--in=-1").flags.in, "-1");
});

Deno.test("parseCommand refuses a flag that is given twice and wanted once", () => {
  assertEquals(refusal("--in", "5m", "--in=1h"), "Option --in of jobs push is given 2 times; wanted: once");
});

Deno.test("parseCommand refuses a value for a switch", () => {
  assertEquals(refusal("--json=false"), 'Option --json of jobs push is given "false"; wanted: no value');
  assertEquals(parse("--json", "--json").flags.json, true);
});

Deno.test("the flags of all commands have the documented short forms", () => {
  const { flags } = parseCommand(
    "stats",
    ["-C", "a.json", "-e", "production", "--store", "sqlite:x", "-h"],
    COMMON_FLAGS,
  );
  assertEquals(flags, { config: "a.json", environment: "production", store: "sqlite:x", json: false, help: true });
});
