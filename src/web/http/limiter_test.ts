import { assert, assertEquals } from "@std/assert";
import { countingSignal } from "../../../tests/support/counting_signal.ts";
import { systemClock } from "../../clock.ts";
import { Limiter } from "./limiter.ts";

/** A limiter with the names of the requests that have a place. */
function entrance(limits: ConstructorParameters<typeof Limiter>[0]) {
  const limiter = new Limiter(limits);
  const inside: string[] = [];
  const refused: string[] = [];
  const places = new Map<string, Disposable>();
  return {
    inside,
    refused,
    /** `name` begins with its address: `a1` is a request of `a`. */
    async ask(name: string, signal?: AbortSignal): Promise<void> {
      void limiter.enter(name[0]!, signal).then((place) => {
        if (place === undefined) return void refused.push(name);
        inside.push(name);
        places.set(name, place);
      });
      await systemClock.turn();
    },
    async leave(name: string): Promise<void> {
      places.get(name)![Symbol.dispose]();
      inside.splice(inside.indexOf(name), 1);
      await systemClock.turn();
    },
  };
}

Deno.test("leaves places for other addresses when one address has its share", async () => {
  const { ask, inside } = entrance({ atOnce: 3, perAddress: 2 });
  for (const name of ["a1", "a2", "a3", "b1", "c1"]) await ask(name);
  assertEquals(inside, ["a1", "a2", "b1"]);
});

Deno.test("serves waiting addresses in turns, and each address in arrival order", async () => {
  const { ask, leave, inside } = entrance({ atOnce: 1, perAddress: 1 });
  for (const name of ["a1", "a2", "a3", "a4", "b1", "b2", "c1"]) await ask(name);
  const order: string[] = [];
  while (inside.length > 0) {
    order.push(inside[0]!);
    await leave(inside[0]!);
  }
  assertEquals(order, ["a1", "a2", "b1", "c1", "a3", "b2", "a4"]);
});

Deno.test("skips an address at its limit and serves the next one", async () => {
  const { ask, leave, inside } = entrance({ atOnce: 3, perAddress: 2 });
  for (const name of ["a1", "a2", "b1", "a3", "b2"]) await ask(name);
  assertEquals(inside, ["a1", "a2", "b1"]);
  await leave("b1");
  assertEquals(inside, ["a1", "a2", "b2"]);
  await leave("a2");
  assertEquals(inside, ["a1", "b2", "a3"]);
});

Deno.test("refuses an address with too many waiting requests; other addresses still wait", async () => {
  const { ask, refused, leave, inside } = entrance({ atOnce: 1, perAddress: 1, waiting: 2 });
  for (const name of ["a1", "a2", "a3", "a4", "b1"]) await ask(name);
  assertEquals(refused, ["a4"]);
  await leave("a1");
  assertEquals(inside, ["a2"]);
  await ask("a5");
  assertEquals(refused, ["a4"]);
});

Deno.test("frees the place in the line of a request that is aborted", async () => {
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

Deno.test("an address whose last waiting request is aborted doesn't delay the others", async () => {
  const { ask, leave, inside } = entrance({ atOnce: 1 });
  const gone = new AbortController();
  await ask("a1");
  await ask("b1", gone.signal);
  await ask("c1");
  gone.abort();
  await leave("a1");
  assertEquals(inside, ["c1"]);
});

Deno.test("a request that got its turn leaves no listener on its signal", async () => {
  const { ask, leave, inside } = entrance({ atOnce: 1 });
  const counting = countingSignal();
  await ask("a1");
  await ask("b1", counting.signal);
  assertEquals(counting.listeners, 1);
  await leave("a1");
  assertEquals([inside, counting.listeners], [["b1"], 0]);
});
