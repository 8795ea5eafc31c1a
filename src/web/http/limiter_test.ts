import { assert, assertEquals } from "@std/assert";
import { systemClock } from "../../clock.ts";
import { Limiter } from "./limiter.ts";

/** Asks for places, and tells who has one. */
function entrance(limits: ConstructorParameters<typeof Limiter>[0]) {
  const limiter = new Limiter(limits);
  const inside: string[] = [];
  const refused: string[] = [];
  const places = new Map<string, Disposable>();
  return {
    inside,
    refused,
    /** `who` is a name at an address: `a1` at `a`. */
    async ask(who: string, signal?: AbortSignal): Promise<void> {
      void limiter.enter(who[0]!, signal).then((place) => {
        if (place === undefined) return void refused.push(who);
        inside.push(who);
        places.set(who, place);
      });
      await systemClock.turn();
    },
    async leave(who: string): Promise<void> {
      places.get(who)![Symbol.dispose]();
      inside.splice(inside.indexOf(who), 1);
      await systemClock.turn();
    },
  };
}

Deno.test("limiter: one address takes its share, and the others find a place", async () => {
  const { ask, inside } = entrance({ atOnce: 3, perAddress: 2 });
  for (const who of ["a1", "a2", "a3", "b1", "c1"]) await ask(who);
  assertEquals(inside, ["a1", "a2", "b1"]);
});

Deno.test("limiter: those who wait take turns by address, within one in the order in which they came", async () => {
  const { ask, leave, inside } = entrance({ atOnce: 1, perAddress: 1 });
  for (const who of ["a1", "a2", "a3", "a4", "b1", "b2", "c1"]) await ask(who);
  const order: string[] = [];
  while (inside.length > 0) {
    order.push(inside[0]!);
    await leave(inside[0]!);
  }
  assertEquals(order, ["a1", "a2", "b1", "c1", "a3", "b2", "a4"]);
});

Deno.test("limiter: a place that one address may not have goes to the next", async () => {
  const { ask, leave, inside } = entrance({ atOnce: 3, perAddress: 2 });
  for (const who of ["a1", "a2", "b1", "a3", "b2"]) await ask(who);
  assertEquals(inside, ["a1", "a2", "b1"]);
  await leave("b1");
  assertEquals(inside, ["a1", "a2", "b2"]);
  await leave("a2");
  assertEquals(inside, ["a1", "b2", "a3"]);
});

Deno.test("limiter: so many of one address wait, the next are refused; others still wait", async () => {
  const { ask, refused, leave, inside } = entrance({ atOnce: 1, perAddress: 1, waiting: 2 });
  for (const who of ["a1", "a2", "a3", "a4", "b1"]) await ask(who);
  assertEquals(refused, ["a4"]);
  await leave("a1");
  assertEquals(inside, ["a2"]);
  await ask("a5");
  assertEquals(refused, ["a4"]);
});

Deno.test("limiter: who goes away gives up its place in the line", async () => {
  const { ask, leave, inside, refused } = entrance({ atOnce: 1, perAddress: 1, waiting: 1 });
  const gone = new AbortController();
  await ask("a1");
  await ask("a2", gone.signal);
  gone.abort();
  await ask("a3", gone.signal);
  assertEquals(refused, ["a2", "a3"]);
  await ask("a4");
  await leave("a1");
  assertEquals(inside, ["a4"]);
  await leave("a4");
  await ask("b1");
  assert(inside.includes("b1"));
});
