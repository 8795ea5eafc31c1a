import { assertEquals } from "@std/assert";
import type { LongWork } from "../terminal/progress.ts";
import { parseBatches } from "./push_batches.ts";
import { BulkReport } from "./push_report.ts";

/** Returns the number of lines of each batch of a file. */
async function sizesOf(lines: readonly string[]): Promise<number[]> {
  const file = await Deno.makeTempFile();
  try {
    await Deno.writeTextFile(file, lines.join("\n"));
    const report = new BulkReport({} as LongWork, "skip");
    const sizes: number[] = [];
    const batches = parseBatches(file, { class: "A" }, report, new AbortController().signal);
    for await (const { lines } of batches) sizes.push(lines.length);
    return sizes;
  } finally {
    await Deno.remove(file);
  }
}

Deno.test("a batch has at most a thousand lines", async () => {
  assertEquals(await sizesOf(Array(1_000).fill("[1]")), [1_000]);
  assertEquals(await sizesOf(Array(2_001).fill("[1]")), [1_000, 1_000, 1]);
});

Deno.test("a batch ends with the line that reaches 4 MiB, and the next one is empty at first", async () => {
  const line = `["${"x".repeat(1024 * 1024 - 4)}"]`;
  assertEquals(await sizesOf(Array(10).fill(line)), [4, 4, 2]);
  assertEquals(await sizesOf([...Array(4).fill(line.replace("x", "")), ...Array(6).fill(line)]), [5, 4, 1]);
});
