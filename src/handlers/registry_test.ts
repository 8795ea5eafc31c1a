import { assertEquals, assertThrows } from "@std/assert";
import { defineJob, type HandlerExport, type HandlerOptions } from "./handler.ts";
import { HandlerError, Registry } from "./registry.ts";

Deno.test("a registry knows its handlers by class", () => {
  const perform = () => {};
  const registry = new Registry().add("B", perform, { queue: "low" }, "b.js").add("A", perform);
  assertEquals(registry.classes(), ["A", "B"]);
  assertEquals(registry.list().map((handler) => handler.class), ["A", "B"]);
  const handler = registry.get("B");
  assertEquals([handler?.perform, handler?.options, handler?.source], [perform, { queue: "low" }, "b.js"]);
  assertEquals(registry.get("A")?.source, "program");
});

Deno.test("a registry knows nothing that was not registered", () => {
  const registry = new Registry();
  for (const name of ["A", "constructor", "__proto__", "toString"]) assertEquals(registry.get(name), undefined);
  registry.add("__proto__", () => {});
  assertEquals(registry.classes(), ["__proto__"]);
});

Deno.test("a handler's options are those on the function, unless others are given", () => {
  const perform: HandlerExport = () => {};
  perform.options = { queue: "low" };
  const registry = new Registry().add("A", perform).add("B", perform, { queue: "high" });
  assertEquals(registry.get("A")?.options, { queue: "low" });
  assertEquals(registry.get("B")?.options, { queue: "high" });
});

Deno.test("the queues are those that handlers name, each once, and default for those that name none", () => {
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

Deno.test("what is no function, or has no name, is refused", () => {
  // deno-lint-ignore no-explicit-any -- as from JavaScript
  const add = (...args: any[]) => new Registry().add(...(args as [string, () => void]));
  for (const perform of [undefined, null, "A", {}]) {
    assertEquals(
      assertThrows(() => add("A", perform), HandlerError).message,
      'Class "A" in program has no function to perform it; wanted: (ctx, …args) => …',
    );
  }
  for (const name of ["", undefined, 5]) {
    assertEquals(
      assertThrows(() => add(name, () => {}), HandlerError).message,
      `A handler in program has no name: ${JSON.stringify(name)}; wanted: the class it performs`,
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

Deno.test("Options that no push could go through with are refused when the class is registered", () => {
  const refused = (options: HandlerOptions, message: string) => {
    assertThrows(() => new Registry().add("A", () => {}, options, "a.js"), HandlerError, message);
  };
  refused({ queue: "b@d" }, 'Options of class "A" in a.js: queue is "b@d"; expected a name of letters');
  refused({ retry: "lots" } as unknown as HandlerOptions, 'retry is "lots"');
  refused({ jid: "x" }, 'jid is "x"; expected no such option on a class: each push sets it');
  refused({ at: "2030-01-01" }, "at is");
  refused({ result_ttl: "x" }, 'result_ttl is "x"; expected seconds');
  refused({ failure_ttl: -7 }, "failure_ttl is -7");
  refused({ log_level: "loud" } as unknown as HandlerOptions, 'log_level is "loud"');
  refused({ isolate: "maybe" } as unknown as HandlerOptions, 'isolate is "maybe"; expected true or false');
  refused({ meta: { call: () => {} } }, "meta.call");
  const cyclic: Record<string, unknown> = {};
  cyclic["self"] = cyclic;
  refused(cyclic, "self");
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
