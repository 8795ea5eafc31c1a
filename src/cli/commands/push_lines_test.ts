import { assertEquals, assertRejects } from "@std/assert";
import { UsageError } from "../terminal/errors.ts";
import { readLines } from "./push_lines.ts";

const encoder = new TextEncoder();

async function linesOf(...parts: (string | number[])[]): Promise<(string | undefined)[]> {
  const file = await Deno.makeTempFile();
  try {
    const bytes = parts.flatMap((part) => typeof part === "string" ? [...encoder.encode(part)] : part);
    await Deno.writeFile(file, Uint8Array.from(bytes));
    const lines: (string | undefined)[] = [];
    for await (const { texts } of readLines(file, new AbortController().signal)) lines.push(...texts);
    return lines;
  } finally {
    await Deno.remove(file);
  }
}

Deno.test("reads the lines of a file, with any line ends, and without the mark at its beginning", async () => {
  assertEquals(await linesOf(""), []);
  assertEquals(await linesOf("a\n\nb\r\nö"), ["a", "", "b", "ö"]);
  assertEquals(await linesOf("\n"), [""]);
  assertEquals(await linesOf("\ufeffa\n\ufeffb\n"), ["a", "\ufeffb"]);
  assertEquals(await linesOf("\ufeff"), []);
});

Deno.test("a line that isn't UTF-8 is left out at its place, and the others are read", async () => {
  assertEquals(await linesOf("a\n", [0xe9], "\r\nö\n", [0xc3], "\n", [0xb6]), [
    "a",
    undefined,
    "ö",
    undefined,
    undefined,
  ]);
  await assertRejects(() => linesOf([0xff, 0xfe], "a\0"), UsageError, "it is UTF-16, expected UTF-8");
});

Deno.test("a character and a line may be longer than what is read at once", async () => {
  const long = "ö".repeat(400_000);
  for (const before of ["", "x"]) {
    assertEquals(await linesOf(`${before}${long}\nb\n${long}`), [before + long, "b", long]);
  }
  const [first, , third] = await linesOf(`${long}\n`, [0xff], "\nc");
  assertEquals([first === long, third], [true, "c"]);
});
