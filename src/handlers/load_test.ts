import { assert, assertEquals, assertMatch, assertRejects, assertStringIncludes } from "@std/assert";
import { loadHandlers } from "./load.ts";
import { HandlerError, Registry } from "./registry.ts";

/** A folder with these modules, which is deleted on disposal. */
async function folderWith(
  files: Readonly<Record<string, string>>,
): Promise<AsyncDisposable & { readonly path: string }> {
  const path = await Deno.realPath(await Deno.makeTempDir({ prefix: "jobs-test-" }));
  for (const [name, source] of Object.entries(files)) {
    if (name.includes("/")) await Deno.mkdir(`${path}/${name.slice(0, name.indexOf("/"))}`, { recursive: true });
    await Deno.writeTextFile(`${path}/${name}`, source);
  }
  return { path, [Symbol.asyncDispose]: () => Deno.remove(path, { recursive: true }) };
}

/** Loads the named paths of the folder. Default: the folder itself. */
async function load(files: Readonly<Record<string, string>>, paths: readonly string[] = [""]): Promise<Registry> {
  await using folder = await folderWith(files);
  const registry = new Registry();
  await loadHandlers(paths.map((path) => path === "" ? folder.path : `${folder.path}/${path}`), registry);
  return registry;
}

/** Returns the message of the error, without the path of the folder. */
async function refusal(files: Readonly<Record<string, string>>, paths?: readonly string[]): Promise<string> {
  const { message } = await assertRejects(() => load(files, paths), HandlerError);
  assertEquals(message.includes("\n"), false, "one line");
  return message.replace(/\/[^" ]*\/jobs-test-[^/" ]+\/?/g, "");
}

Deno.test("exported functions are handlers, under the name of their export", async () => {
  const registry = await load({
    "handlers.js": `
      export function Plain(ctx) { return "plain"; }
      export async function Async() {}
      export const Arrow = async () => {};
      export { Plain as Other_Name };
      Plain.options = { queue: "low", retry: 5 };`,
  });
  assertEquals(registry.classes(), ["Arrow", "Async", "Other_Name", "Plain"]);
  assertEquals(registry.get("Plain")?.options, { queue: "low", retry: 5 });
  assertEquals(registry.get("Async")?.options, {});
  // deno-lint-ignore no-explicit-any -- this handler ignores its context
  assertEquals(registry.get("Plain")?.perform(undefined as any), "plain");
  assertMatch(registry.get("Plain")!.source, /\/handlers\.js$/);
});

Deno.test("classes, constants and the default export are ignored", async () => {
  const registry = await load({
    "handlers.js": `
      export default function () {}
      export class Model {}
      export class Special extends Map {}
      export const Builtin = Map;
      export const LIMIT = 5, table = { f() {} }, nothing = undefined;
      export const { class: odd } = { class() {} };
      export function HardJob() {}`,
  });
  assertEquals(registry.classes(), ["HardJob", "odd"]);
});

Deno.test("the export `handlers` has the names that are not identifiers", async () => {
  const registry = await load({
    "handlers.js": `
      function invoice() {}
      invoice.options = { queue: "billing" };
      export function HardJob() {}
      export const handlers = { "Billing::InvoiceJob": invoice, HardJob };`,
  });
  assertEquals(registry.classes(), ["Billing::InvoiceJob", "HardJob"]);
  assertEquals(registry.queues(), ["billing", "default"]);
});

Deno.test("a definition keeps its name and options", async () => {
  const library = import.meta.resolve("./handler.ts");
  const registry = await load({
    "handlers.ts": `
      import { defineJob } from "${library}";
      export const greet = defineJob("Greet", (_ctx, name: string) => "hello " + name, { queue: "low" });`,
  });
  assertEquals(registry.classes(), ["Greet"]);
  assertEquals(registry.get("Greet")?.options, { queue: "low" });
  // deno-lint-ignore no-explicit-any -- this handler ignores its context
  assertEquals(registry.get("Greet")?.perform(undefined as any, "bob"), "hello bob");
});

Deno.test("a folder loads the modules directly in it, except tests and hidden files", async () => {
  const registry = await load({
    "b.js": "export function B() {}",
    "a.mjs": "export function A() {}",
    "c.ts": "export function C(_ctx: unknown) {}",
    "a_test.js": "throw new Error('a test')",
    "a.test.ts": "throw new Error('a test')",
    "_private.js": "throw new Error('private')",
    ".hidden.js": "throw new Error('hidden')",
    "types.d.ts": "export function D(): void;",
    "notes.txt": "not a module",
    "sub/d.js": "throw new Error('in a subfolder')",
  }, ["/"]);
  assertEquals(registry.classes(), ["A", "B", "C"]);
});

Deno.test("a module that is named twice is loaded once", async () => {
  const registry = await load({ "a.js": "export function A() {}" }, ["a.js", "", "./a.js"]);
  assertEquals(registry.classes(), ["A"]);
});

Deno.test("a handler that two modules export is loaded once", async () => {
  const registry = await load({
    "a.js": "export function A() {}",
    "index.js": 'export * from "./a.js"; export function B() {}',
  });
  assertEquals(registry.classes(), ["A", "B"]);
});

Deno.test("two handlers for one class are an error that names both files", async () => {
  assertEquals(
    await refusal({ "a.js": "export function A() {}", "b.js": "export const handlers = { A: () => {} };" }),
    'Class "A" has two handlers: in a.js and in b.js; rename one of them',
  );
});

Deno.test("a path that does not exist is an error with its name", async () => {
  assertEquals(await refusal({}, ["a.js"]), 'Handlers "a.js" cannot be loaded: no such file or folder');
  assertEquals(
    await refusal({ "notes.txt": "" }),
    'Handlers "" cannot be loaded: the folder has no module (.js, .mjs, .ts)',
  );
});

Deno.test("a module without valid handlers is an error with an example", async () => {
  assertEquals(
    await refusal({ "a.js": "export const a = 1; export default function A() {}" }),
    'Handlers "a.js" cannot be loaded: it exports no function; expected export function HardJob(ctx, …args) { … }',
  );
  for (const value of ["[() => {}]", "null", "() => {}", "5"]) {
    assertEquals(
      await refusal({ "a.js": `export const handlers = ${value};` }),
      `Handlers "a.js": its export "handlers" isn't an object; expected { "ClassName": function }`,
    );
  }
  for (const value of ["class {}", "5", "undefined"]) {
    assertEquals(
      await refusal({ "a.js": `export const handlers = { A: ${value} };` }),
      `Handlers "a.js": handlers["A"] isn't a function; expected (ctx, …args) => …`,
    );
  }
  for (const value of ['"low"', "[]", "5", "() => {}"]) {
    assertEquals(
      await refusal({ "a.js": `export function A() {}\nA.options = ${value};` }),
      `Handlers "a.js": A.options isn't an object; expected { queue: "low", retry: 5 }`,
    );
  }
});

Deno.test("a generator is rejected, because its call runs nothing", async () => {
  const remedy = "use an async function, or don't export it";
  for (const declared of ["function*", "async function*"]) {
    assertEquals(
      await refusal({ "handlers.js": `export ${declared} Steps() { yield 1; }` }),
      `Class "Steps" in handlers.js is a generator (function*), whose call doesn't run its body; ${remedy}`,
    );
  }
  assertMatch(
    await refusal({ "handlers.js": `export const handlers = { "A::B": function* () {} };` }),
    /is a generator/,
  );
  const defined = new URL("./handler.ts", import.meta.url).href;
  assertMatch(
    await refusal({
      "handlers.js": `import { defineJob } from "${defined}"; export const job = defineJob("Steps", function* () {});`,
    }),
    /is a generator/,
  );
});

Deno.test("a module that cannot be imported is an error with reason and place, in one line", async () => {
  assertEquals(
    await refusal({ "a.js": "export function A(ctx) {\n  return 1 +;\n}\n" }),
    'Handlers "a.js" cannot be loaded: SyntaxError: Expression expected at a.js:2:13',
  );
  assertMatch(
    await refusal({ "a.ts": "export function A(ctx): void {\n  const x: = 1;\n}\n" }),
    /^Handlers "a\.ts" cannot be loaded: SyntaxError: Unexpected token .* at a\.ts:2:12$/,
  );
  assertEquals(
    await refusal({ "a.js": 'import "./b.js";\nexport function A() {}' }),
    'Handlers "a.js" cannot be loaded: TypeError: Module not found "b.js". at a.js:1:8',
  );
  assertEquals(
    await refusal({ "a.js": "export function A() {}\nconst config = undefined;\nconfig.queue;" }),
    'Handlers "a.js" cannot be loaded: TypeError: ' +
      "Cannot read properties of undefined (reading 'queue') at a.js:3:8",
  );
  assertMatch(
    await refusal({ "a.js": "throw new Error('two\\nlines \\x1b[2J and more');" }),
    /^Handlers "a\.js" cannot be loaded: Error: two lines (\\u001b\[2J )?and more at a\.js:1:7$/,
  );
});

Deno.test("a module may throw any value while it is imported", async () => {
  for (
    const [value, shown] of [["null", "null"], ["'gone'", "gone"], ["Object.create(null)", "{}"], [
      "{ a: 1 }",
      '{"a":1}',
    ]]
  ) {
    assertEquals(await refusal({ "a.js": `throw ${value};` }), `Handlers "a.js" cannot be loaded: it throws ${shown}`);
  }
  const { cause } = await assertRejects(() => load({ "a.js": "throw new RangeError('x')" }), HandlerError);
  assert(cause instanceof RangeError);
});

Deno.test("loads CommonJS from .cjs, and names the remedy for CommonJS in .js and for packages", async () => {
  const folder = await Deno.makeTempDir({ prefix: "jobs-test-" });
  try {
    const source = "exports.Greet = (ctx, name) => name;\n";
    await Deno.writeTextFile(`${folder}/a.cjs`, source);
    await Deno.writeTextFile(`${folder}/a.js`, source);
    await Deno.writeTextFile(`${folder}/p.js`, 'import _ from "lodash"; export const A = () => _;\n');
    const registry = new Registry();
    await loadHandlers([`${folder}/a.cjs`], registry);
    assertEquals(registry.classes(), ["Greet"]);
    const why = async (name: string) =>
      (await assertRejects(() => loadHandlers([`${folder}/${name}`], new Registry()), HandlerError)).message;
    assertStringIncludes(await why("a.js"), "this is CommonJS: rename the file to ");
    assertStringIncludes(await why("p.js"), "import packages as npm:NAME@VERSION, or bundle them");
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("middleware and hooks of several modules are collected in the order of the modules, each once", async () => {
  await using folder = await folderWith({
    "a.js": `export const performMiddleware = (_ctx, next) => next();
      export const hooks = { death: (payload) => { payload.push("a"); throw new Error("a"); } };`,
    "b.js": `export { performMiddleware } from "./a.js";
      export const pushMiddleware = [(_context, next) => next(), (_context, next) => next()];
      export const hooks = { death: (payload) => void payload.push("b"), quiet() {} };
      export const handlers = { middleware: () => {}, hooks: () => {} };`,
  });
  const registry = new Registry();
  const { performMiddleware, pushMiddleware, hooks } = await loadHandlers(
    [folder.path, `${folder.path}/a.js`],
    registry,
  );
  assertEquals([performMiddleware.length, pushMiddleware.length, Object.keys(hooks)], [1, 2, ["death", "quiet"]]);
  assertEquals(registry.classes(), ["hooks", "middleware"]);
  const called: string[] = [];
  // deno-lint-ignore no-explicit-any -- the hook takes any payload
  await assertRejects(async () => await hooks.death?.(called as any, undefined), Error, "a");
  assertEquals(called, ["a", "b"]);
});

for (
  const [source, message] of [
    ["export function middleware() {}", 'unknown export "middleware"; expected performMiddleware or pushMiddleware'],
    ["export const serverMiddlewares = []", 'unknown export "serverMiddlewares"; expected performMiddleware'],
    ["export const hook = {}", 'unknown export "hook"; expected hooks'],
    ["export function hooks() {}", 'its export "hooks" isn\'t an object'],
    ["export const hooks = [() => {}]", 'its export "hooks" isn\'t an object'],
    ["export const hooks = { deth: () => {} }", 'unknown hook "deth"; expected startup, quiet'],
    ["export const hooks = { death: 5 }", 'hook "death" isn\'t a function'],
    ["export const performMiddleware = {}", 'its export "performMiddleware" isn\'t middleware'],
    ["export const pushMiddleware = [() => {}, null]", 'its export "pushMiddleware" isn\'t middleware'],
    [
      'export const performMiddleware = Object.assign(() => {}, { class: "Job" })',
      'its export "performMiddleware" isn\'t middleware',
    ],
  ] as const
) {
  Deno.test(`a module with ${source} is refused`, async () => {
    assertStringIncludes(await refusal({ "a.js": `${source}; export function Noop() {}` }), message);
  });
}
