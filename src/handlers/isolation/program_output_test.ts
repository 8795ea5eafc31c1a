import { assert, assertEquals } from "@std/assert";
import type { CutOutput } from "../../job/returned.ts";
import { OutputTail, ProgramOutput } from "./program_output.ts";

/** Returns pieces of these lengths, with digits that tell one position from the next. */
function pieces(lengths: readonly number[]): Uint8Array[] {
  let at = 0;
  return lengths.map((length) => Uint8Array.from({ length }, () => 48 + (at++ * 7 + Math.floor(at / 10)) % 10));
}

function textOf(parts: readonly Uint8Array[]): string {
  return parts.map((part) => new TextDecoder().decode(part)).join("");
}

const LENGTHS = [1, 3, 16_383, 16_384, 1, 16_385, 2, 2, 65_536, 9_000, 9_000, 1];

Deno.test("keeps an output of pieces of any length, up to its limit, and the end of a longer one", () => {
  const given = pieces(LENGTHS);
  const whole = textOf(given);
  const output = new ProgramOutput(whole.length);
  for (const piece of given) output.add(piece);
  assertEquals(new TextDecoder().decode(output.end() as Uint8Array), whole);
  for (const limit of [whole.length - 1, 20_000, 100]) {
    const [cut, tail] = [new ProgramOutput(limit), new OutputTail(limit)];
    for (const piece of given) {
      cut.add(piece);
      tail.add(piece);
    }
    const [head, end] = (cut.end() as CutOutput).text.split(/\n… \(.*\) …\n/);
    assert(head!.length > limit / 3 && whole.startsWith(head!), `the beginning of ${limit}`);
    assert(end!.length > limit / 3 && whole.endsWith(end!), `the end of ${limit}`);
    assertEquals(tail.text(), whole.slice(-limit));
  }
});

Deno.test("keeps no buffer that a piece of the output was read into", () => {
  const output = new ProgramOutput(100_000);
  const tail = new OutputTail(100_000);
  const given = pieces([2, 40_000]);
  const whole = textOf(given);
  for (const piece of given) {
    output.add(piece);
    tail.add(piece);
    piece.fill(0);
  }
  assertEquals(new TextDecoder().decode(output.end() as Uint8Array), whole);
  assertEquals(tail.text(), whole);
});

Deno.test("keeps nothing of an output whose limit is 0 or 1, whatever its length", () => {
  for (const limit of [0, 1]) {
    const output = new ProgramOutput(limit);
    assertEquals(output.end(), new Uint8Array(0));
    for (const piece of pieces(LENGTHS)) output.add(piece);
    assertEquals((output.end() as CutOutput).text, "\n… (130 KB in total) …\n");
  }
});
