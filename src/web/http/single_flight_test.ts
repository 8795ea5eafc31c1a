import { assertEquals, assertRejects } from "@std/assert";
import { singleFlight } from "./single_flight.ts";

Deno.test("concurrent callers share one call; the next caller starts another, also after a failure", async () => {
  const made: PromiseWithResolvers<string>[] = [];
  const ask = singleFlight(() => {
    made.push(Promise.withResolvers());
    return made.at(-1)!.promise;
  });
  const both = [ask(), ask()];
  made[0]!.resolve("one");
  assertEquals(await Promise.all(both), ["one", "one"]);
  const third = ask();
  made[1]!.reject(new Error("gone"));
  await assertRejects(() => third, Error, "gone");
  const fourth = ask();
  made[2]!.resolve("three");
  assertEquals([await fourth, made.length], ["three", 3]);
});
