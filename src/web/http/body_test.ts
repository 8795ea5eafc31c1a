import { assertEquals } from "@std/assert";
import { FakeClock } from "../../../tests/support/clock.ts";
import { type HttpError, readBody } from "./body.ts";

Deno.test("answers 408 when a body doesn't arrive within 10 seconds", async () => {
  const clock = new FakeClock();
  const request = new Request("http://localhost/", { method: "POST", body: new ReadableStream({ start() {} }) });
  const reading = readBody(request, 1_000, clock).then(() => undefined, (error: HttpError) => error.status);
  await clock.untilSleeping();
  await clock.advance(10_000);
  assertEquals(await reading, 408);
});
