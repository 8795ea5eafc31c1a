import { assert, assertEquals } from "@std/assert";
import { Buffer } from "node:buffer";
import { MAX_BATCH_BYTES } from "../port/batch_bytes.ts";
import { inWindows, type Reader } from "./scan_windows.ts";

Deno.test("inWindows yields everything once, for any length", async () => {
  for (const length of [0, 1, 49, 50, 51, 999, 1_000, 1_001, 1_050, 3_000, 10_010]) {
    assertEquals(await readAll(numbered(length)), numbered(length));
  }
});

Deno.test("inWindows yields each of several byte-identical jobs", async () => {
  const alike = new Array(3_210).fill("same");
  assertEquals(await readAll(alike), alike);
});

Deno.test("inWindows skips no job when others are added before the first", async () => {
  const place = numbered(5_000);
  const read = await readAll(place, (step) => place.unshift(...numbered(30, `new ${step} `)));
  assertEquals(read.filter((one) => !one.startsWith("new")), numbered(5_000));
});

Deno.test("inWindows yields all remaining jobs when jobs leave that it has read", async () => {
  // A few; exactly those that the next window repeats; more than those.
  for (
    const [from, count] of [[0, 7], [960, 40], [950, 50], [1_000, 1], [900, 110], [0, 1_000], [10, 2_500]] as const
  ) {
    const place = numbered(6_000);
    const read = await readAll(place, (step) => {
      if (step === 1) place.splice(from, count);
    });
    const stays = new Set(place);
    assertEquals(new Set(read.filter((one) => stays.has(one))), stays, `${count} from ${from}`);
    assert(read.length < 9_000);
  }
});

Deno.test("inWindows ends although all jobs leave", async () => {
  const place = numbered(20_000);
  await readAll(place, () => place.splice(0, 700));
});

Deno.test("inWindows ends although the jobs change their order", async () => {
  const place = numbered(3_000);
  const read = await readAll(place, () => place.reverse());
  assert(read.length < 5 * 3_000);
});

Deno.test("inWindows reads a few large payloads at a time, or a thousand small ones", async () => {
  for (const [bytes, most] of [[500_000, 32], [40_000, 105 + 27], [300, 1_050]] as const) {
    const place = Array.from({ length: 4_000 }, (_, i) => Buffer.alloc(bytes < 1_000 ? bytes : 1_000, `${i}`));
    const counts: number[] = [];
    const read: Reader = (from, count) => {
      counts.push(count);
      const payloads = place.slice(from, from + count);
      // They report this length without having the bytes.
      for (const one of payloads) Object.defineProperty(one, "length", { value: bytes });
      return Promise.resolve({ payloads, last: payloads.length < count });
    };
    let count = 0;
    for await (const { payloads } of inWindows(() => read)) count += payloads.length;
    assertEquals(count, 4_000);
    assert(Math.max(...counts.slice(1)) <= most, `${bytes} bytes: ${Math.max(...counts)} at once`);
    assert(counts.slice(4).every((one) => one * bytes <= 1.5 * MAX_BATCH_BYTES));
  }
});

/** @param change called with the number of each read, before it */
async function readAll(place: string[], change: (step: number) => void = () => {}): Promise<string[]> {
  let step = 0;
  const read: Reader = (from, count) => {
    change(step++);
    const payloads = place.slice(from, from + count).map((text) => Buffer.from(text));
    return Promise.resolve({ payloads, last: payloads.length < count });
  };
  const all: string[] = [];
  for await (const { payloads } of inWindows(() => read)) all.push(...payloads.map((one) => one.toString()));
  return all;
}

function numbered(length: number, prefix = ""): string[] {
  return Array.from({ length }, (_, i) => `${prefix}${i}`);
}
