import { assertEquals, assertThrows } from "@std/assert";
import { defineJob, type HandlerExport, type HandlerOptions } from "./handler.ts";
import { chooseExecutionModes, ModeError } from "./execution_modes.ts";
import { HandlerError, Registry } from "./registry.ts";

Deno.test("a registry returns its handlers by class", () => {
  const perform = () => {};
  const registry = new Registry().add("B", perform, { queue: "low" }, "b.js").add("A", perform);
  assertEquals(registry.classes(), ["A", "B"]);
  assertEquals(registry.list().map((handler) => handler.class), ["A", "B"]);
  const handler = registry.get("B");
  assertEquals([handler?.perform, handler?.options, handler?.source], [perform, { queue: "low" }, "b.js"]);
  assertEquals(registry.get("A")?.source, "program");
});

Deno.test("a registry has only registered classes", () => {
  const registry = new Registry();
  for (const name of ["A", "constructor", "__proto__", "toString"]) assertEquals(registry.get(name), undefined);
  registry.add("__proto__", () => {});
  assertEquals(registry.classes(), ["__proto__"]);
});

Deno.test("the options of a handler are those of the function, unless others are given", () => {
  const perform: HandlerExport = () => {};
  perform.options = { queue: "low" };
  const registry = new Registry().add("A", perform).add("B", perform, { queue: "high" });
  assertEquals(registry.get("A")?.options, { queue: "low" });
  assertEquals(registry.get("B")?.options, { queue: "high" });
});

Deno.test("the queues are those of all handlers, each once, and default for a handler without one", () => {
  const registry = new Registry().add("A", () => {}, { queue: "low" }).add("B", () => {}).add("C", () => {}, {
    queue: "low",
  });
  assertEquals(registry.queues(), ["low", "default"]);
  assertEquals(new Registry().queues(), []);
});

Deno.test("a class has one handler", () => {
  const registry = new Registry().add("A", () => {}, {}, "a.js");
  assertEquals(
    assertThrows(() => registry.add("A", () => {}, {}, "b.js"), HandlerError).message,
    'Class "A" has two handlers: in a.js and in b.js; rename one of them',
  );
});

Deno.test("a handler that is not a function, or has no name, is rejected", () => {
  // deno-lint-ignore no-explicit-any -- as in JavaScript
  const add = (...args: any[]) => new Registry().add(...(args as [string, () => void]));
  for (const perform of [undefined, null, "A", {}]) {
    assertEquals(
      assertThrows(() => add("A", perform), HandlerError).message,
      'Class "A" in program has no function to perform it; expected (ctx, …args) => …',
    );
  }
  for (const name of ["", undefined, 5]) {
    assertEquals(
      assertThrows(() => add(name, () => {}), HandlerError).message,
      `A handler in program has no name: ${JSON.stringify(name)}; expected the class that it performs`,
    );
  }
});

Deno.test("jobs from defineJob are registered with their names and options", () => {
  const greet = defineJob("Greet", (_ctx, name: string) => `hello ${name}`, { queue: "low" });
  const registry = new Registry().define(greet, defineJob("Other", () => {}));
  assertEquals(registry.classes(), ["Greet", "Other"]);
  assertEquals(registry.get("Greet")?.options, { queue: "low" });
  assertThrows(() => registry.define(greet), HandlerError, "two handlers");
});

Deno.test("options that would fail each push are rejected when the class is registered", () => {
  const rejected = (options: HandlerOptions, message: string) => {
    assertThrows(() => new Registry().add("A", () => {}, options, "a.js"), HandlerError, message);
  };
  rejected({ queue: "b@d" }, 'Options of class "A" in a.js: queue is "b@d"; expected a name of letters');
  rejected({ retry: "lots" } as unknown as HandlerOptions, 'retry is "lots"');
  rejected({ jid: "x" }, 'jid is "x"; expected no such option on a class: each push sets it');
  rejected({ at: "2030-01-01" }, "at is");
  rejected({ result_ttl: "x" }, 'result_ttl is "x"; expected seconds');
  rejected({ failure_ttl: -7 }, "failure_ttl is -7");
  rejected({ log_level: "loud" } as unknown as HandlerOptions, 'log_level is "loud"');
  rejected({ isolate: "maybe" } as unknown as HandlerOptions, 'isolate is "maybe"; expected true or false');
  for (
    const field of ["queue", "group", "priority", "retry", "tags", "unique_for", "unique_key", "throttle", "debounce"]
  ) {
    rejected({ [field]: () => "x" }, `${field} is the function`);
  }
  rejected({ meta: { call: () => {} } }, "meta.call");
  const cyclic: Record<string, unknown> = {};
  cyclic["self"] = cyclic;
  rejected(cyclic, "self");
  assertEquals(
    new Registry().add("A", () => {}, {
      retryIn: () => 5,
      isolate: true,
      queue: "low",
      result_ttl: -1,
      failure_ttl: "0",
    }).queues(),
    ["low"],
  );
});

Deno.test("a class that delivers to a webhook has no other handler, and the configuration defines it as a webhook alone", () => {
  const perform = () => {};
  for (const name of ["webhook:ops", "webhook:"]) {
    assertEquals(
      assertThrows(() => new Registry().add(name, perform, {}, "a.js"), HandlerError).message,
      `Class "${name}" in a.js is internal; expected a class that doesn't begin with "webhook:": jobs makes the jobs of webhooks itself`,
    );
  }
  const outside = { class: "webhook:ops", perform, options: {}, source: "http https://a.example" };
  const choose = (more: object) =>
    chooseExecutionModes(new Registry(), { isolate: [], outside: [{ ...outside, ...more }] }).registry.classes();
  assertThrows(() => choose({}), ModeError, 'Class "webhook:ops" in http https://a.example is internal');
  assertEquals(choose({ isInternal: true }), ["webhook:ops"]);
});
