import { assertEquals } from "@std/assert";
import { FakeClock } from "../../../tests/support/clock.ts";
import { type HttpError, readBody } from "./body.ts";

Deno.test("a body that does not arrive within 10 seconds is refused with 408", async () => {
  const clock = new FakeClock();
  const request = new Request("http://localhost/", { method: "POST", body: new ReadableStream({ start() {} }) });
  const reading = readBody(request, 1_000, clock).then(() => undefined, (error: HttpError) => error.status);
  await clock.untilSleeping();
  await clock.advance(10_000);
  assertEquals(await reading, 408);
});
