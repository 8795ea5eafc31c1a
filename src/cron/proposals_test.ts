/** A correction that an error message proposes is valid, and has the meaning of the text that it corrects. */
import { assert, assertEquals } from "@std/assert";
import { parseRule, RuleError } from "./rule_parser.ts";

const RANGES: readonly (readonly [min: number, max: number])[] = [[0, 59], [0, 59], [0, 23], [1, 31], [1, 12], [0, 7]];
const FIELDS = ["seconds", "minutes", "hours", "daysOfMonth", "months", "daysOfWeek"] as const;

/** Returns the values of a field of a rule. */
function valuesOf(rule: string, field: number): number[] {
  const values = parseRule(rule)[FIELDS[field]!].map((value) => {
    if (typeof value === "number") return value;
    return value.kind === "day" ? value.day : value.kind === "weekday" ? value.weekday : NaN;
  });
  return values.toSorted((a, b) => a - b);
}

/** The values of `from-to/by`, counted up from `from` over the end of the field. */
function counted(field: number, from: number, to: number, by: number): number[] {
  const [min, last] = RANGES[field]!;
  const max = field === 5 ? 6 : last;
  const values = new Set<number>();
  let value = field === 5 ? from % 7 : from;
  const end = field === 5 ? to % 7 : to;
  for (let step = 0;; step++, value = value === max ? min : value + 1) {
    if (step % by === 0) values.add(value);
    if (value === end) return [...values].sort((a, b) => a - b);
  }
}

Deno.test("each correction of a backward range is valid and has the same values", () => {
  let corrected = 0;
  for (const [field, [min, max]] of RANGES.entries()) {
    for (let from = min; from <= max; from++) {
      for (let to = min; to < from; to += field < 3 ? 7 : 1) {
        for (const by of [undefined, 1, 2, 3, 7, 0, 99]) {
          const fields = ["0", "0", "0", "*", "*", "*"];
          const text = `${from}-${to}${by === undefined ? "" : `/${by}`}`;
          fields[field] = text;
          let message = "";
          try {
            assertEquals(valuesOf(fields.join(" "), field), counted(field, from, to, by ?? 1), text);
          } catch (error) {
            assert(error instanceof RuleError, String(error));
            ({ message } = error);
          }
          const [, proposal, highest] = /; write (?:two ranges: )?(\S+)$|expected 1 to (\d+);/.exec(message) ?? [];
          if (proposal !== undefined) {
            fields[field] = proposal;
            assertEquals(valuesOf(fields.join(" "), field), counted(field, from, to, by ?? 1), `${text}: ${proposal}`);
            corrected++;
          } else if (message !== "") {
            assert(by === 0 || Number(highest) < by!, `${text}: ${message}`);
          }
        }
      }
    }
  }
  assert(corrected > 1_000, String(corrected));
});

Deno.test("each correction of a step from Sunday as 7 is valid", () => {
  for (const [text, days] of [["7/2", [0, 2, 4, 6]], ["7/3", [0, 3, 6]], ["7/1", [0, 1, 2, 3, 4, 5, 6]]] as const) {
    try {
      parseRule(`0 0 * * ${text}`);
      throw new Error(`accepts ${text}`);
    } catch (error) {
      const [, proposal] = /; write (\S+)$/.exec((error as Error).message) ?? [];
      assertEquals(valuesOf(`0 0 0 * * ${proposal}`, 5), [...days], (error as Error).message);
    }
  }
});

Deno.test("random texts: every text that an error names as expected is valid in its place", () => {
  let state = 7;
  const random = (count: number) => (state = (state * 48_271) % 2_147_483_647) % count;
  const pick = (list: string) => list.split(" ")[random(list.split(" ").length)]!;
  const value = () =>
    pick(
      "0 1 5 7 12 23 31 59 60 99 L W JAN DEC SUN SAT MON 5L 3# FRI#6 L-3 L-40 15W ? * */2 x -1 7/2 0/0 5-1/2 SAT-MON",
    );
  let seen = 0;
  for (let i = 0; i < 8_000; i++) {
    const fields = Array.from({ length: 5 }, () => random(3) === 0 ? value() : "*");
    let message = "";
    try {
      parseRule(fields.join(" "));
      continue;
    } catch (error) {
      message = (error as Error).message;
    }
    assert(!/undefined|NaN/.test(message), message);
    const { column } = /column (?<column>\d+)/.exec(message)!.groups!;
    const at = fields.join(" ").slice(0, Number(column)).split(" ").length - 1;
    const proposals = [
      ...(/; write (?:two ranges: )?(\S+)$/.exec(message)?.slice(1) ?? []),
      ...(/expected (?:\*, )?([\d-]+)(?: or ([A-Z-]+))?[,]?/.exec(message)?.slice(1) ?? []),
      ...(/expected for example (\S+) or (\S+)$/.exec(message)?.slice(1) ?? []),
    ].filter((text) => text !== undefined && /\D/.test(text));
    for (const proposal of proposals) {
      const corrected = ["*", "*", "*", "*", "*"].with(at, proposal);
      parseRule(corrected.join(" "));
      seen++;
    }
  }
  assert(seen > 500, String(seen));
});
