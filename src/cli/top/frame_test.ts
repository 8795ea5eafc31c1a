import { assertEquals, assertMatch } from "@std/assert";
import {
  NOW,
  somePayload,
  someProcess,
  someQueue,
  someScreen,
  someSnapshot,
  someStats,
} from "../../../tests/support/snapshot.ts";
import { textWidth } from "../terminal/text_width.ts";
import { frame, heightOf, type Shown } from "./frame.ts";
import { COLOURS, NO_COLOURS, NOTHING, paintLine } from "./text.ts";

const HOSTILE = "\x1b[2J\x1b]0;x\x07\n\r\t\u202e漢字🙂e\u0301\u200b" + "A".repeat(500);

const BUSY = someSnapshot({
  stats: someStats({
    processed: 1_234_567,
    dead: 3,
    leased: 40,
    processes: 30,
    queues: Array.from({ length: 40 }, (_, i) => someQueue(`queue-${i}`, { size: i * 1_000_000, paused: i === 1 })),
  }),
  processes: Array.from(
    { length: 30 },
    (_, i) => someProcess(`web${i}:1:abc`, [somePayload(`jid-${i}`), somePayload("x", HOSTILE, [HOSTILE]), HOSTILE]),
  ),
});

function text(shown: Shown): string[] {
  return frame(shown).map((line) => paintLine(line, shown.columns, NOTHING).trimEnd());
}

Deno.test("every size is filled and none is overrun, whatever jobs are called", () => {
  for (const columns of [1, 20, 60, 80, 133, 250]) {
    for (const rows of [1, 3, 7, 8, 12, 15, 24, 60]) {
      const lines = text(someScreen({ snapshot: BUSY, columns, rows, problem: rows === 24 ? HOSTILE : undefined }));
      assertEquals(lines.length, rows);
      for (const line of lines) {
        assertEquals(textWidth(line) <= columns, true, `${columns}: ${line}`);
        // deno-lint-ignore no-control-regex -- that is what must not be there
        assertEquals(/[\u0000-\u001f\u007f-\u009f\p{Cf}]/u.test(line), false, JSON.stringify(line));
      }
    }
  }
});

Deno.test("at 60 columns and 15 rows there is something of every pane", () => {
  const screen = text(someScreen({ snapshot: BUSY, columns: 60, rows: 15 })).join("\n");
  for (
    const heading of [
      /^▸ Processes 30/m,
      /^ {2}Queues 40 .*size/m,
      /^ {2}Running 90 /m,
      /^ {2}Sets: 0 scheduled, 0 retry, 3 dead/m,
    ]
  ) {
    assertMatch(screen, heading);
  }
  assertMatch(screen, /^› web0:1:abc +3\/10 .*running$/m);
  assertMatch(screen, /^q quit/m);
});

Deno.test("queues say that they are paused, for how long, and that nobody takes from them", () => {
  const queues = [
    someQueue("default", { size: 5, latencyMs: 90_000 }),
    someQueue("held", { paused: true, pausedForMs: 600_000 }),
    someQueue("lonely", { size: 1 }),
    someQueue("*", { paused: true }),
  ];
  const snapshot = someSnapshot({ stats: someStats({ queues }), processes: [someProcess("a:1:b")] });
  const lines = text(someScreen({ snapshot }));
  const of = (name: string) => lines.find((line) => line.trimStart().startsWith(name))!;
  assertMatch(of("default"), /5 +1m30s$/);
  assertMatch(of("held"), /paused 10m$/);
  assertMatch(of("lonely"), /nobody$/);
  assertMatch(of("all queues"), /paused$/);
  assertMatch(lines[0]!, /paused: held \(for 10m\), all queues/);
});

Deno.test("queues say that they are at their limit, and nothing of a limit that has room", () => {
  const limit = { running: 2, taken: 2, started: 0, freeInMs: undefined };
  const queues = [
    someQueue("full", { size: 5, latencyMs: 90_000, limit }),
    someQueue("soon", { size: 5, latencyMs: 90_000, limit: { ...limit, freeInMs: 500 } }),
    someQueue("room", { size: 5, latencyMs: 90_000, limit: { ...limit, taken: 1, freeInMs: 0 } }),
    someQueue("held", { size: 5, paused: true, limit }),
    someQueue("lonely", { size: 5, limit }),
  ];
  const taken = { queues: ["full", "soon", "room", "held"] };
  const snapshot = someSnapshot({ stats: someStats({ queues }), processes: [someProcess("a:1:b", [], taken)] });
  for (const columns of [60, 100]) {
    const lines = text(someScreen({ snapshot, columns }));
    const of = (name: string) => lines.find((line) => line.trimStart().startsWith(name))!;
    for (const name of ["full", "soon"]) assertMatch(of(name), / at its limit$/);
    assertMatch(of("room"), /1m30s$/);
    assertMatch(of("held"), / paused$/);
    assertMatch(of("lonely"), / nobody$/);
  }
});

Deno.test("the chosen row stays in sight, and on the same thing when others come before it", () => {
  const jobs = (first: number) => ({
    ...BUSY,
    processes: [someProcess("a:1:b", [], {
      work: Array.from({ length: 100 }, (_, i) => ({
        task: "t",
        queue: "q",
        payload: somePayload(`jid-${i}`),
        since: NOW - i,
      })).slice(first),
    })],
  });
  const base = someScreen();
  const key = "a:1:b t " + (NOW - 70) + " jid-70";
  const state = {
    ...base.state,
    pane: "running" as const,
    chosen: { ...base.state.chosen, running: { key, index: 5 } },
  };
  for (const first of [0, 20]) {
    const chosen = text(someScreen({ snapshot: jobs(first), state })).filter((line) => line.startsWith("›"));
    assertEquals(chosen.length, 1);
    assertMatch(chosen[0]!, /jid-70/);
  }
});

Deno.test("a store that is silent is said to be, with what was last known still there", () => {
  const lines = text(someScreen({ snapshot: BUSY, problem: "Redis is away; trying again", columns: 60 }));
  assertMatch(lines[0]!, /Redis is away; trying again/);
  assertMatch(lines.join("\n"), /web0:1:abc/);
  assertMatch(text(someScreen({ snapshot: undefined }))[0]!, /Asking the store/);
  assertMatch(text(someScreen({ snapshot: undefined, problem: "No Redis" }))[0]!, /No Redis/);
});

Deno.test("with NO_COLOR there is no colour, but one still sees what is chosen", () => {
  const painted = (palette: typeof COLOURS) =>
    frame(someScreen({ snapshot: BUSY })).map((line) => paintLine(line, 100, palette)).join("\n");
  // deno-lint-ignore no-control-regex -- the sequences of colours
  assertEquals(/\x1b\[3\d/.test(painted(COLOURS)), true);
  // deno-lint-ignore no-control-regex -- the sequences of colours
  assertEquals(/\x1b\[[349]\d/.test(painted(NO_COLOURS)), false);
  // deno-lint-ignore no-control-regex -- the sequence of reversed text
  assertMatch(painted(NO_COLOURS), /\x1b\[7m› web0/);
});

Deno.test("one screen as text has every row, and neither keys nor marks", () => {
  const lines = text(someScreen({ snapshot: BUSY, live: false, columns: 80, rows: heightOf(BUSY) }));
  assertEquals(lines.filter((line) => /^ {2}queue-\d+ /.test(line)).length, 40);
  assertEquals(lines.filter((line) => /\/10 /.test(line)).length, 30);
  assertEquals(lines.some((line) => /[▸›]|q quit/.test(line)), false);
});

Deno.test("a filter shows what contains it, and how many that are", () => {
  const base = someScreen({ snapshot: BUSY });
  const lines = text({ ...base, state: { ...base.state, filter: "WEB7" } }).join("\n");
  assertMatch(lines, /Processes 1 of 30/);
  assertMatch(lines, /Queues 0 of 40[^]*Nothing here contains "WEB7"/);
});
