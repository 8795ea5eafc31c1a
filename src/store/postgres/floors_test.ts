import { assertEquals } from "@std/assert";
import { Floors, NO_FLOOR } from "./floors.ts";

Deno.test("floors: follow the first job late and lower, and are left out once a second", () => {
  let now = 0;
  const floors = new Floors(() => now);
  assertEquals(floors.of("a", "take"), NO_FLOOR);
  floors.noteFirst("a", 10_000);
  now = 99;
  floors.noteFirst("a", 20_000);
  assertEquals(floors.of("a", "take"), NO_FLOOR);
  now = 100;
  floors.noteFirst("a", 30_000);
  assertEquals(floors.of("a", "take"), 9_000);
  now = 999;
  assertEquals(floors.of("a", "take"), 9_000);
  now = 1_000;
  assertEquals(floors.of("a", "take"), NO_FLOOR);
  assertEquals(floors.of("a", "take"), 9_000);
  // A job below: the others that returned or committed with it follow.
  floors.noteFirst("a", 5);
  assertEquals(floors.of("a", "take"), 4);
});

Deno.test("floors: a take reads the whole queue after a look that did", () => {
  let now = 0;
  const floors = new Floors(() => now);
  floors.of("a", "take");
  floors.noteFirst("a", 10_000);
  now = 100;
  floors.noteFirst("a", 20_000);
  assertEquals(floors.of("a", "take"), 9_000);
  assertEquals(floors.of("a", "look"), NO_FLOOR);
  assertEquals(floors.of("a", "look"), 9_000);
  assertEquals(floors.of("a", "take"), NO_FLOOR);
  assertEquals(floors.of("a", "take"), 9_000);
  floors.forget(7);
  assertEquals([floors.of("a", "take"), floors.returned], [NO_FLOOR, 7]);
});
