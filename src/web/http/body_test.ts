import { assertEquals, assertRejects } from "@std/assert";
import { FakeClock } from "../../../tests/support/clock.ts";
import { BodyBudget, HttpError, readBody } from "./body.ts";

Deno.test("answers 408 when a body doesn't arrive within 10 seconds", async () => {
  const clock = new FakeClock();
  const request = new Request("http://localhost/", { method: "POST", body: new ReadableStream({ start() {} }) });
  const reading = readBody(request, 1_000, clock).then(() => undefined, (error: HttpError) => error.status);
  await clock.untilSleeping();
  await clock.advance(10_000);
  assertEquals(await reading, 408);
});

/** Returns a request whose body has these parts. */
function requestOf(...parts: (string | Uint8Array<ArrayBuffer>)[]): Request {
  const body = ReadableStream.from(
    parts.map((part) => typeof part === "string" ? new TextEncoder().encode(part) : part),
  );
  return new Request("http://localhost/", { method: "POST", body });
}

Deno.test("a body of the largest size is read, and a larger one is answered with 413, with and without its length", async () => {
  const clock = new FakeClock();
  assertEquals(await readBody(requestOf("12345", "67890"), 10, clock), "1234567890");
  const declared = (text: string) =>
    new Request("http://localhost/", { method: "POST", body: text, headers: { "content-length": `${text.length}` } });
  assertEquals(await readBody(declared("1234567890"), 10, clock), "1234567890");
  for (const request of [requestOf("12345", "678901"), declared("12345678901")]) {
    assertEquals((await assertRejects(() => readBody(request, 10, clock), HttpError)).status, 413);
  }
  assertEquals(clock.sleeping, [], "no timeout stays");
});

Deno.test("bodies that arrive together are bounded in memory, and give it back however they end", async () => {
  const clock = new FakeClock();
  const budget = new BodyBudget(10);
  const statusOf = (request: Request) =>
    readBody(request, 8, clock, budget).then(() => 200, ({ status }: HttpError) => status);
  /** Throws unless the whole budget is free. */
  const checkFree = () => {
    budget.add(10);
    budget.remove(10);
  };
  assertEquals(await statusOf(requestOf("1234", "5678")), 200);
  checkFree();
  assertEquals(await statusOf(requestOf("12345", "6789")), 413);
  checkFree();
  assertEquals(await statusOf(requestOf("1234", new Uint8Array([0xff]))), 400);
  checkFree();

  const endless = ReadableStream.from((async function* () {
    yield new TextEncoder().encode("12345");
    await new Promise(() => {});
  })());
  const late = statusOf(new Request("http://localhost/", { method: "POST", body: endless }));
  for (let i = 0; i < 10; i++) await clock.turn();
  assertEquals(await statusOf(requestOf("12345")), 200, "both fit");
  assertEquals(await statusOf(requestOf("123", "456")), 503);
  await clock.advance(10_000);
  assertEquals(await late, 408);
  checkFree();
});
