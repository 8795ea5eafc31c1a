import { assertThrows } from "@std/assert";
import { Zone } from "./zone.ts";

Deno.test("an unknown zone, and a runtime without zones, are told apart", () => {
  assertThrows(() => new Zone("Europe/Nowhere"), RangeError, 'Unknown time zone "Europe/Nowhere"');
  const kept = globalThis.Temporal;
  try {
    Reflect.deleteProperty(globalThis, "Temporal");
    assertThrows(() => new Zone("Europe/London"), RangeError, "this runtime has no Temporal");
  } finally {
    Reflect.defineProperty(globalThis, "Temporal", { value: kept, configurable: true, writable: true });
  }
});
