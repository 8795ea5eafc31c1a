import { assertEquals } from "@std/assert";
import { retryAfterMs } from "./retry_after.ts";

Deno.test("reads Retry-After as seconds or a date, within a second and a day", () => {
  const now = Date.UTC(2026, 0, 1);
  for (
    const [text, ms] of [
      ["30", 30_000],
      [" 2 ", 2_000],
      ["0", 1_000],
      ["99999999999999999999", 86_400_000],
      ["Thu, 01 Jan 2026 00:01:00 GMT", 60_000],
      ["Wed, 31 Dec 2025 00:00:00 GMT", 1_000],
      ["Thu, 01 Jan 2099 00:00:00 GMT", 86_400_000],
      ["", undefined],
      [undefined, undefined],
      ["soon", undefined],
      ["-5", undefined],
      ["1.5", undefined],
      ["Soon, or never", undefined],
    ] as const
  ) assertEquals(retryAfterMs(text, now), ms, text);
});
