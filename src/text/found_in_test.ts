import { assertEquals } from "@std/assert";
import { foundIn } from "./found_in.ts";

Deno.test("a row that doesn't show what was searched names the field that has it", () => {
  const fields = { jid: "j1", class: "Mail", id: "Order-7", args: [{ n: "x".repeat(40) + "bob" + "y".repeat(40) }] };
  const find = (...words: string[]) => foundIn(words, ["j1", "Mail(…)", undefined], fields);
  assertEquals(find("mail", "J1"), "");
  assertEquals(find("order"), "id: Order-7");
  assertEquals(find("mail", "order-7", "order"), "id: Order-7");
  assertEquals(find("bob"), `args: …${"x".repeat(20)}bob${"y".repeat(20)}…`);
  assertEquals(find("arg"), "field args");
  assertEquals(find("elsewhere"), "");
});
