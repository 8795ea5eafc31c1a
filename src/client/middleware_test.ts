import { assertEquals, assertRejects, assertStrictEquals } from "@std/assert";
import { compose, type Middleware } from "./middleware.ts";

type Layer = Middleware<string[], string>;

/** Returns a layer that records when it is entered and left. */
function noting(name: string): Layer {
  return async (seen, next) => {
    seen.push(`${name} in`);
    const result = await next();
    seen.push(`${name} out`);
    return `${name}(${result})`;
  };
}

Deno.test("Layers are entered in order and left in reverse, each with the result of the inner ones", async () => {
  const seen: string[] = [];
  const result = await compose([noting("a"), noting("b")])(seen, () => {
    seen.push("core");
    return Promise.resolve("x");
  });
  assertEquals(result, "a(b(x))");
  assertEquals(seen, ["a in", "b in", "core", "b out", "a out"]);
});

Deno.test("A layer that does not call next stops the call", async () => {
  const seen: string[] = [];
  const stop: Layer = () => Promise.resolve("stopped");
  const result = await compose([noting("a"), stop, noting("b")])(seen, () => Promise.reject(new Error("reached")));
  assertEquals([result, seen], ["a(stopped)", ["a in", "a out"]]);
});

Deno.test("Calling next twice is an error, and the inner part does not run again", async () => {
  let done = 0;
  const twice: Layer = async (_seen, next) => await next() + await next();
  const core = () => Promise.resolve(String(++done));
  await assertRejects(() => compose([twice])([], core), Error, "next() twice");
  assertEquals(done, 1);
  await assertRejects(() => compose([twice, noting("b")])([], core), Error, "next() twice");
  assertEquals(done, 2);
});

Deno.test("One chain serves concurrent calls", async () => {
  const chain = compose([noting("a"), noting("b")]);
  const results = await Promise.all(["x", "y", "z"].map((name) => chain([], () => Promise.resolve(name))));
  assertEquals(results, ["a(b(x))", "a(b(y))", "a(b(z))"]);
});

Deno.test("An error of any layer, also a synchronous one, becomes a rejection that outer layers can catch", async () => {
  const broken = () => {
    throw new TypeError("broken on purpose");
  };
  await assertRejects(() => compose([noting("a"), broken])([], () => Promise.resolve("")), TypeError);
  await assertRejects(() => compose([noting("a")])([], broken), TypeError);
  const catching: Layer = async (_seen, next) => {
    try {
      return await next();
    } catch (error) {
      return (error as Error).message;
    }
  };
  assertEquals(await compose([catching])([], broken), "broken on purpose");
});

Deno.test("Without layers the innermost function is called directly, without a promise", () => {
  const promise = Promise.resolve("x");
  assertStrictEquals(compose<string[], string>([])([], () => promise), promise);
});
