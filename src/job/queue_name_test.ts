import { assertEquals } from "@std/assert";
import { isTargetQueue } from "./queue_name.ts";

Deno.test("an address isn't the name of a queue that jobs are moved to", () => {
  const addresses = [
    "postgres://db/app",
    "postgresql://u:p@db/app",
    "sqlite:b.db",
    "sqlite::memory:",
    "redis://h/0",
    "https://a",
  ];
  assertEquals(addresses.filter(isTargetQueue), []);
  const queues = ["low", "mail:eu", "redis:cache", "postgres", "a/b", "x sqlite:y"];
  assertEquals(queues.filter(isTargetQueue), queues);
  assertEquals(["", "a|b"].filter(isTargetQueue), []);
});
