/**
 * Compares our next time with the next time of two independent libraries, for 1,500 random expressions, zones and
 * instants (10,000 took 26 s and found no other difference). Every difference must be of a kind in {@linkcode KINDS}. A
 * difference around a clock change is checked by a third calculation, made from the definition alone with Intl's clock.
 */
import { assert, assertEquals } from "@std/assert";
import { Cron } from "croner";
import { CronExpressionParser } from "cron-parser";
import { CronRule } from "./rule.ts";

const KINDS = {
  starStep: `"*/2" as a day, with a restriction on the other kind of day: in Vixie's cron and here, a field that ` +
    `begins with a star does not widen the other field; in both libraries it does`,
  sundayTwice: "a list with Sunday as 0 and as 7: cron-parser rejects it as a duplicate",
  clockChange:
    "a time that is skipped or repeated: both libraries run some of them twice or never, and cron-parser may " +
    "give up; ours is the time that the definition gives",
} as const;

type Kind = keyof typeof KINDS;
type Answer = number | "never" | "refused";

const PAIRS = 1_500;
const HOUR = 3_600_000;
const BLOCK = 900_000;
const ZONES = [
  "America/New_York",
  "Europe/London",
  "Australia/Lord_Howe",
  "America/Havana",
  "Africa/Cairo",
  "Asia/Tokyo",
  "UTC",
];
const FIRST_INSTANT = Date.UTC(2024, 0, 1);
const LAST_INSTANT = Date.UTC(2032, 0, 1);

Deno.test("CronRule returns the times of croner and cron-parser, except for differences of known kinds", () => {
  const random = new Random(20_261_107);
  const seen: Record<Kind, number> = { starStep: 0, sundayTwice: 0, clockChange: 0 };
  const unexplained: string[] = [];
  for (let pair = 0; pair < PAIRS; pair++) {
    const rule = randomRule(random);
    const zone = random.pick(ZONES);
    const from = randomInstant(random, zone);
    const ours = ourNext(rule, zone, from);
    for (const [library, next] of [["croner", cronerNext], ["cron-parser", cronParserNext]] as const) {
      const theirs = next(rule, zone, from);
      if (theirs === ours) continue;
      const kind = explain({ rule, zone, from, ours, theirs });
      if (kind) seen[kind]++;
      else unexplained.push(`${rule} ${zone} from ${show(from)}: ours ${show(ours)}, ${library} ${show(theirs)}`);
    }
  }
  assertEquals(unexplained, []);
  for (const [kind, count] of Object.entries(seen)) assert(count > 0, `no difference of kind ${kind}`);
});

interface Difference {
  readonly rule: string;
  readonly zone: string;
  readonly from: number;
  readonly ours: Answer;
  readonly theirs: Answer;
}

function explain(difference: Difference): Kind | undefined {
  const { rule, zone, from, theirs } = difference;
  const widened = rule.split(" ").with(-3, plainDays(rule, -3, "1-31")).with(-1, plainDays(rule, -1, "0-6")).join(" ");
  if (widened !== rule && ourNext(widened, zone, from) === theirs) return "starStep";
  if (theirs === "refused" && /^0.*7/.test(rule.split(" ").at(-1)!)) return "sundayTwice";
  return isRightByDefinition({ ...difference, rule: widened, ours: ourNext(widened, zone, from) })
    ? "clockChange"
    : undefined;
}

/** Returns a day field with the star of a step spelled out, so that CronRule reads it as the libraries read the star. */
function plainDays(rule: string, index: number, all: string): string {
  return rule.split(" ").at(index)!.replace("*/", `${all}/`);
}

function ourNext(rule: string, zone: string, from: number): Answer {
  try {
    return new CronRule(rule, zone).next(from) ?? "never";
  } catch (error) {
    if ((error as Error).message.includes("never runs")) return "never";
    throw error;
  }
}

function cronerNext(rule: string, zone: string, from: number): Answer {
  return new Cron(rule, { timezone: zone }).nextRun(new Date(from))?.getTime() ?? "never";
}

function cronParserNext(rule: string, zone: string, from: number): Answer {
  try {
    return CronExpressionParser.parse(rule, { tz: zone, currentDate: new Date(from) }).next().getTime();
  } catch (error) {
    return (error as Error).message.includes("Invalid explicit day of month") ? "never" : "refused";
  }
}

// The definition: wall times from croner in UTC, which has no clock changes, and the clock of the zone from Intl.

/** A quarter of an hour. No zone of this test changes its clocks within one. */
interface Block {
  readonly start: number;
  readonly offset: number;
}

const blocksByChange = new Map<string, Block[]>();

function isRightByDefinition({ rule, zone, from, ours, theirs }: Difference): boolean {
  const answers = [ours, theirs].filter((answer) => typeof answer === "number");
  const change = clockChanges(zone).find((change) =>
    [Math.min(...answers), from].some((time) => Math.abs(time - change) < 25 * HOUR)
  );
  if (change === undefined) return false;
  const blocks = blocksAround(zone, change);
  const start = Math.max(from, blocks[0]!.start);
  const end = blocks.at(-1)!.start + BLOCK;
  const right = rule.split(" ").at(-4) === "*" ? whenShown(rule, blocks, start) : whenFirstDue(rule, blocks, start);
  return right === undefined ? typeof ours !== "number" || ours >= end : right === ours;
}

/** For an expression for every hour: returns the first instant at which clocks show a matching time. */
function whenShown(rule: string, blocks: readonly Block[], from: number): number | undefined {
  const walls = new Cron(rule, { timezone: "UTC" });
  for (const { start, offset } of blocks) {
    if (start + BLOCK <= from) continue;
    const wall = walls.nextRun(new Date(Math.max(from, start - 1_000) + offset))?.getTime() ?? Infinity;
    if (wall - offset < start + BLOCK) return wall - offset;
  }
  return undefined;
}

/** For any other expression: returns the first instant later than `from` that shows a matching wall time for the first time, or skips it. */
function whenFirstDue(rule: string, blocks: readonly Block[], from: number): number | undefined {
  const walls = new Cron(rule, { timezone: "UTC" });
  const inBlock = blocks.findLast(({ start }) => start <= from)!;
  let wall = walls.nextRun(new Date(from + inBlock.offset))?.getTime();
  while (wall !== undefined) {
    const now = wall;
    const showing = blocks.find(({ start, offset }) => start + offset <= now && now < start + offset + BLOCK);
    const after = blocks.find(({ start, offset }) => start + offset > now);
    if (showing === undefined && after === undefined) return undefined;
    const instant = showing ? now - showing.offset : after!.start;
    if (instant > from) return instant;
    wall = walls.nextRun(new Date(wall))?.getTime();
  }
  return undefined;
}

function blocksAround(zone: string, change: number): Block[] {
  const key = `${zone} ${change}`;
  const known = blocksByChange.get(key);
  if (known) return known;
  const blocks = Array.from({ length: 72 * 4 }, (_, index) => {
    const start = change - 36 * HOUR + index * BLOCK;
    return { start, offset: intlOffset(zone, start) };
  });
  blocksByChange.set(key, blocks);
  return blocks;
}

const formats = new Map<string, Intl.DateTimeFormat>();

function intlOffset(zone: string, instant: number): number {
  let format = formats.get(zone);
  if (!format) {
    formats.set(
      zone,
      format = new Intl.DateTimeFormat("sv", { timeZone: zone, dateStyle: "short", timeStyle: "medium" }),
    );
  }
  return Date.parse(format.format(instant).replace(" ", "T") + "Z") - instant;
}

const changesByZone = new Map<string, number[]>();

/** Returns the instants of a zone's clock changes within the years of the test, found by search. */
function clockChanges(zone: string): number[] {
  const known = changesByZone.get(zone);
  if (known) return known;
  const changes: number[] = [];
  for (let day = FIRST_INSTANT - 24 * HOUR; day < LAST_INSTANT; day += 24 * HOUR) {
    const after = intlOffset(zone, day + 24 * HOUR);
    if (intlOffset(zone, day) === after) continue;
    let instant = day;
    while (intlOffset(zone, instant) !== after) instant += BLOCK;
    changes.push(instant);
  }
  changesByZone.set(zone, changes);
  return changes;
}

// Random numbers, the same in every run.

/** Generates pseudorandom numbers from a seed (mulberry32). */
class Random {
  #state: number;

  constructor(seed: number) {
    this.#state = seed;
  }

  /** At least 0, less than 1. */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }

  whole(min: number, max: number): number {
    return min + Math.floor(this.next() * (max - min + 1));
  }

  pick<T>(list: readonly T[]): T {
    return list[this.whole(0, list.length - 1)]!;
  }

  chance(probability: number): boolean {
    return this.next() < probability;
  }
}

/** Returns an instant; half of them within three hours of a clock change. */
function randomInstant(random: Random, zone: string): number {
  const changes = clockChanges(zone);
  if (changes.length > 0 && random.chance(0.5)) return random.pick(changes) + random.whole(-10_800, 10_800) * 1_000;
  return random.whole(FIRST_INSTANT / 1_000, LAST_INSTANT / 1_000) * 1_000;
}

function randomRule(random: Random): string {
  const dayOfMonth = random.chance(0.08) ? "L" : randomField(random, { min: 1, max: 31, star: 0.5 });
  const dayOfWeek = random.chance(0.1)
    ? random.pick(["5L", "MON#1", "3#5", "0L"])
    : randomField(random, { min: 0, max: random.chance(0.2) ? 7 : 6, star: 0.5 });
  return [
    ...(random.chance(0.3) ? [randomField(random, { min: 0, max: 59, star: 0.2 })] : []),
    randomField(random, { min: 0, max: 59, star: 0.15 }),
    randomField(random, { min: 0, max: 23, star: 0.3 }),
    dayOfMonth,
    randomField(random, { min: 1, max: 12, star: 0.8 }),
    dayOfWeek,
  ].join(" ");
}

interface FieldShape {
  readonly min: number;
  readonly max: number;
  /** Probability that it is `*`. */
  readonly star: number;
}

/** Returns a field whose parts never overlap: cron-parser rejects duplicates. */
function randomField(random: Random, { min, max, star }: FieldShape): string {
  if (random.chance(star)) return "*";
  if (random.chance(0.1)) return `*/${random.whole(2, Math.max(2, Math.floor((max - min) / 2)))}`;
  const parts: string[] = [];
  const count = random.pick([1, 1, 1, 2, 3]);
  for (let low = min; parts.length < count && low <= max;) {
    const from = random.whole(low, max);
    const to = random.chance(0.6) ? from : random.whole(from, max);
    if (from === to) parts.push(`${from}`);
    else parts.push(random.chance(0.6) ? `${from}-${to}` : `${from}-${to}/${random.whole(1, to - from)}`);
    low = to + 1;
  }
  return parts.join(",");
}

function show(answer: Answer): string {
  return typeof answer === "number" ? new Date(answer).toISOString() : answer;
}
