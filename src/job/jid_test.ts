import { assertEquals, assertMatch } from "@std/assert";
import { JidMaker } from "./jid.ts";

const NOW = 1_700_000_000_000;

Deno.test("IDs are 24 hex digits, sorted by time and by order within a millisecond", () => {
  const maker = new JidMaker();
  const ids = [0, 0, 0, 1, 1, 2, 1000, 1e6, 1e12].map((later) => maker.next(NOW + later));
  for (const id of ids) assertMatch(id, /^[0-9a-f]{24}$/);
  assertEquals([...ids].sort(), ids);
  assertEquals(parseInt(ids[0]!.slice(0, 11), 16), NOW);
  assertMatch(maker.next(NOW + 0.5), /^[0-9a-f]{24}$/);
});

Deno.test("IDs differ within one millisecond, and between makers", () => {
  const makers = [new JidMaker(), new JidMaker(), new JidMaker()];
  const ids = makers.flatMap((maker) => Array.from({ length: 50_000 }, () => maker.next(NOW)));
  assertEquals(new Set(ids).size, ids.length);
});
