import { assertEquals } from "@std/assert";
import { systemClock } from "../../clock.ts";
import { openStore } from "../../store/open.ts";
import { KnownQueues } from "./known_queues.ts";

Deno.test("a queue that has just been made is known, and the store isn't read again for known ones", async () => {
  await using store = await openStore("sqlite::memory:");
  let reads = 0;
  const stats = () => {
    reads++;
    return store.admin.stats();
  };
  const known = new KnownQueues({ classes: store.classes, admin: { ...store.admin, stats } }, systemClock);
  assertEquals([...await known.of([], [])], ["default"]);
  await store.jobs.enqueue([{ queue: "mail", payload: `{"class":"Mail","jid":"1"}`, jid: "1" }]);
  assertEquals((await known.of([], ["mail"])).has("mail"), true);
  assertEquals((await known.of([], ["mail", "default"])).has("mail"), true);
  assertEquals(reads, 2);
});
