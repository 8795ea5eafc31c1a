import { assertEquals } from "@std/assert";
import { asideIn, asideOf } from "./aside.ts";
import { isGroup } from "./group.ts";

Deno.test("the name of a place aside contains its class and its group, whatever their characters", () => {
  for (const name of ["Mail", "Billing::Invoice", "a|b", "100%", "%7c", "n\0l", "|@x", "größe"]) {
    for (const group of [undefined, "acme", "|high", "a|b", "a%7cb", "n\0l"]) {
      const aside = { class: name, ...(group !== undefined && { group }) };
      assertEquals(asideIn(asideOf(aside)), aside);
      assertEquals(isGroup(asideOf(aside)), false);
    }
  }
  for (const group of ["acme", "|high", "|low", "@Mail"]) assertEquals(asideIn(group), undefined);
});
