import { assertEquals } from "@std/assert";
import { systemClock } from "../../clock.ts";
import { EventStreams } from "./event_streams.ts";

Deno.test("a reader that doesn't read lets at most one event be read ahead", async () => {
  const streams = new EventStreams(systemClock, { follow: () => () => {} });
  let made = 0;
  async function* events() {
    for (;;) {
      await systemClock.turn();
      yield `id: ${++made}\n\n`;
    }
  }
  const { body } = streams.respond(new Request("http://localhost/"), { address: "127.0.0.1" }, events);
  const reader = body!.getReader();
  for (let i = 0; i < 3; i++) await reader.read();
  for (let i = 0; i < 50; i++) await systemClock.turn();
  assertEquals(made, 3);
  streams.close();
  await reader.cancel();
});
