/** Values that JSON can't hold are refused in one line with their path, before a request, in the same words by each client. */
import { assert, assertEquals } from "@std/assert";
import { requireTool } from "../support/tools.ts";

const LIST = `such as ["ada@example.com"]`;
const JSON_VALUE = "expected a JSON value";

/** The messages by case. An absent case is one that the language doesn't have. */
type Messages = Readonly<Record<string, string>>;

const NODE: Messages = {
  "text for a list": `args is "abc"; expected an array of the handler's arguments, ${LIST}`,
  "null for a list": `args is null; expected an array of the handler's arguments, ${LIST}`,
  "not a number": "args[0].amount is NaN; expected a finite number, or null",
  "infinity": "args[1][0] is -Infinity; expected a finite number, or null",
  "set": `args[0] is a Set; ${JSON_VALUE}, such as [...set]`,
  "map": `args[0] is a Map; ${JSON_VALUE}, such as Object.fromEntries(map)`,
  "date": `args[0]["due on"] is a Date "2026-11-28T00:00:00.000Z"; ${JSON_VALUE}, such as date.toISOString()`,
  "bytes": `args[0] is an Uint8Array; ${JSON_VALUE}, such as its bytes in base64`,
  "large integer": "args[0] is 5n; expected a number, or a text such as String(value)",
  "undefined": `args[0].name is undefined; ${JSON_VALUE}; use null for no value`,
  "object": `args[0] is an Account; ${JSON_VALUE}: a plain object with its data, or a key to find it by`,
  "promise": `args[0] is a Promise; ${JSON_VALUE}: await it`,
  "half a character": 'args[0] is "\\ud800"; expected text without half characters',
  "circular": "args[0].self is the object around it; expected a value that does not contain itself",
  "deep": "at most 100 levels of arrays and objects",
  "field": "fields.rate is NaN; expected a finite number, or null",
  "option": "timeout is NaN; expected a finite number, or null",
  "one of many": "jobs[2].args[0] is NaN; expected a finite number, or null",
  "no job": 'jobs[0] is "Mail"; expected a job, such as { class: "Mail", args: [1] }',
  "signal": "data.by is NaN; expected a finite number, or null",
  "batch": "success.args[0] is NaN; expected a finite number, or null",
  "member": "args[0] is NaN; expected a finite number, or null",
  "class option": "Report.timeout is NaN; expected a finite number, or null",
  "chunk": "The chunk is NaN; expected a finite number, or null",
  "snooze": "delay is NaN; expected a finite number, or null",
};

const PYTHON: Messages = {
  "text for a list": `args is 'abc'; expected a list of the handler's arguments, ${LIST}`,
  "null for a list": `args is None; expected a list of the handler's arguments, ${LIST}`,
  "dictionary for a list": `args is {'a': 1}; expected a list of the handler's arguments, ${LIST}`,
  "not a number": "args[0].amount is nan; expected a finite number, or None",
  "infinity": "args[1][0] is -inf; expected a finite number, or None",
  "set": `args[0] is {1}; ${JSON_VALUE}, such as list(value)`,
  "date": `args[0]["due on"] is datetime.date(2026, 11, 28); ${JSON_VALUE}, such as value.isoformat()`,
  "duration": `in is datetime.timedelta(seconds=300); ${JSON_VALUE}, such as value.total_seconds()`,
  "bytes": `args[0] is b'abc'; ${JSON_VALUE}, such as its bytes in base64`,
  "decimal": `args[0] is Decimal('1.5'); ${JSON_VALUE}, such as str(value)`,
  "key": "args[0] has the key 1; expected keys that are texts",
  "half a character": `args[0] is '\\ud800'; expected text without half characters`,
  "object": `args[0] is an account; ${JSON_VALUE}: a dict with its data, or a key to find it by`,
  "circular": "args[0].self is the dict around it; expected a value that does not contain itself",
  "deep": "at most 100 levels of lists and dictionaries",
  "field": "fields.rate is nan; expected a finite number, or None",
  "option": "timeout is nan; expected a finite number, or None",
  "one of many": "jobs[2].args[0] is nan; expected a finite number, or None",
  "no job": `jobs[0] is 'Mail'; expected a job, such as {"class": "Mail", "args": [1]}`,
  "signal": "data.by is nan; expected a finite number, or None",
  "batch": "success.args[0] is nan; expected a finite number, or None",
  "member": "args[0] is nan; expected a finite number, or None",
  "class option": "Report.timeout is nan; expected a finite number, or None",
  "chunk": "The chunk is nan; expected a finite number, or None",
  "snooze": "delay is nan; expected a finite number, or None",
  "batch's camel case": 'Unknown option "closeWithin" of batch: did you mean "close_within"?',
  "signal's camel case": 'Unknown option "keepFor" of signal: did you mean "keep_for"?',
};

const RUBY: Messages = {
  "text for a list": `args is "abc"; expected an array of the handler's arguments, ${LIST}`,
  "null for a list": `args is nil; expected an array of the handler's arguments, ${LIST}`,
  "dictionary for a list": `args is {}; expected an array of the handler's arguments, ${LIST}`,
  "not a number": "args[0].amount is NaN; expected a finite number, or nil",
  "infinity": "args[1][0] is -Infinity; expected a finite number, or nil",
  "set": `args[0] is a Set; ${JSON_VALUE}, such as value.to_a`,
  "date": `args[0]["due on"] is 2026-11-28 00:00:00 UTC; ${JSON_VALUE}, such as value.iso8601`,
  "bytes": 'args[0] is "\\xFF"; expected text in UTF-8, or its bytes in base64',
  "key": "args[0] has the key 1; expected keys that are texts",
  "object": `args[0] is an Account; ${JSON_VALUE}, such as its to_s or to_h`,
  "circular": "args[0].self is the Hash around it; expected a value that does not contain itself",
  "deep": "at most 100 levels of arrays and hashes",
  "field": "fields.rate is NaN; expected a finite number, or nil",
  "option": "timeout is NaN; expected a finite number, or nil",
  "one of many": "jobs[2].args[0] is NaN; expected a finite number, or nil",
  "no job": `jobs[0] is "Mail"; expected a job, such as { class: "Mail", args: [1] }`,
  "signal": "data.by is NaN; expected a finite number, or nil",
  "batch": "success.args[0] is NaN; expected a finite number, or nil",
  "member": "args[0] is NaN; expected a finite number, or nil",
  "class option": "Report.timeout is NaN; expected a finite number, or nil",
  "snooze": "delay is NaN; expected a finite number, or nil",
  "batch's camel case": 'Unknown option "closeWithin" of batch: did you mean "close_within"?',
  "signal's camel case": 'Unknown option "keepFor" of signal: did you mean "keep_for"?',
};

const PROGRAMS = [
  { runtime: "node", file: "values.mjs", kind: "TypeError", expected: NODE },
  { runtime: "python3", file: "values.py", kind: "TypeError", expected: PYTHON },
  { runtime: "ruby", file: "values.rb", kind: "ArgumentError", expected: RUBY },
] as const;

for (const { runtime, file, kind, expected } of PROGRAMS) {
  Deno.test(`${file} is refused what JSON can't hold, with its path and the cure, and pushes what it can`, async () => {
    requireTool(runtime);
    const requests: unknown[] = [];
    await using server = Deno.serve(
      { port: 0, hostname: "127.0.0.1", onListen: () => {} },
      async (request) => {
        requests.push(await request.json());
        return Response.json({ jid: "j1" });
      },
    );
    const args = [new URL(file, import.meta.url).pathname, `http://127.0.0.1:${server.addr.port}`];
    const { success, stdout, stderr } = await new Deno.Command(runtime, { args }).output();
    const decoder = new TextDecoder();
    assert(success, decoder.decode(stderr));
    const { refused, ...rest } = JSON.parse(decoder.decode(stdout));
    for (const message of Object.values(refused as Messages)) assert(!message.includes("\n"), message);
    // The path of a deep value is long.
    refused.deep = refused.deep.replace(/: args\[0\].* (?=at most)/, ": ");
    assertEquals(
      refused,
      Object.fromEntries(Object.entries(expected).map(([name, message]) => [name, `${kind}: ${message}`])),
    );
    assertEquals(rest, {});
    // Only the valid job was sent.
    assertEquals(requests, [{ class: "Valid", args: [[1, 2], { a: [null, true, "ü😀", -1.5] }, "last"] }]);
  });
}
