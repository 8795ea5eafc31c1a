import { assertThrows } from "@std/assert";
import { Zone } from "./zone.ts";

Deno.test("distinguishes an unknown zone from a runtime without zones", () => {
  assertThrows(() => new Zone("Europe/Nowhere"), RangeError, 'Unknown time zone "Europe/Nowhere"');
  const kept = globalThis.Temporal;
  try {
    Reflect.deleteProperty(globalThis, "Temporal");
    assertThrows(() => new Zone("Europe/London"), RangeError, "this runtime has no Temporal");
  } finally {
    Reflect.defineProperty(globalThis, "Temporal", { value: kept, configurable: true, writable: true });
  }
});
