import { assertEquals, assertMatch } from "@std/assert";
import {
  NOW,
  someBatch,
  somePayload,
  someQueue,
  someScreen,
  someSnapshot,
  someStats,
  someWorker,
} from "../../../tests/support/snapshot.ts";
import { textWidth } from "../terminal/text_width.ts";
import { frame, heightOf, type Shown } from "./frame.ts";
import { FIRST_STATE } from "./state.ts";
import { COLOURS, NO_COLOURS, NOTHING, paintLine } from "./text.ts";

const HOSTILE = "\x1b[2J\x1b]0;x\x07\n\r\t\u202e漢字🙂e\u0301\u200b" + "A".repeat(500);

const BUSY = someSnapshot({
  stats: someStats({
    processed: 1_234_567,
    dead: 3,
    running: 40,
    workers: 30,
    queues: Array.from({ length: 40 }, (_, i) => someQueue(`queue-${i}`, { size: i * 1_000_000, paused: i === 1 })),
  }),
  workers: Array.from(
    { length: 30 },
    (_, i) => someWorker(`web${i}:1:abc`, [somePayload(`jid-${i}`), somePayload("x", HOSTILE, [HOSTILE]), HOSTILE]),
  ),
});

function text(shown: Shown): string[] {
  return frame(shown).map((line) => paintLine(line, shown.columns, NOTHING).trimEnd());
}

Deno.test("fills every size of terminal exactly, for jobs with any text", () => {
  for (const columns of [1, 20, 60, 80, 133, 250]) {
    for (const rows of [1, 3, 7, 8, 12, 15, 24, 60]) {
      const lines = text(someScreen({ snapshot: BUSY, columns, rows, problem: rows === 24 ? HOSTILE : undefined }));
      assertEquals(lines.length, rows);
      for (const line of lines) {
        assertEquals(textWidth(line) <= columns, true, `${columns}: ${line}`);
        // deno-lint-ignore no-control-regex -- the characters that must be absent
        assertEquals(/[\u0000-\u001f\u007f-\u009f\p{Cf}]/u.test(line), false, JSON.stringify(line));
      }
    }
  }
});

Deno.test("shows next to the scheduled jobs how many steps sleep and wait", () => {
  const stats = someStats({ scheduled: 4, waits: { sleep: 2, wait: 1, child: 1 } });
  const screen = text(someScreen({ snapshot: someSnapshot({ stats }), columns: 133, rows: 40 })).join("\n");
  assertMatch(screen, /scheduled .* 2 sleeping, 2 waiting/);
});

Deno.test("shows the groups of an open queue: queued, running, limit, and why they are held", () => {
  const limit = { running: 2, taken: 2, started: 0, freeInMs: undefined };
  const group = { latencyMs: 5_000, weight: 1, isOwn: false, paused: false };
  const groups = [
    { ...group, name: "acme", size: 1_200, running: 2, limit },
    { ...group, name: "bob", size: 3, running: 0, weight: 5, paused: true, pausedForMs: 60_000 },
    ...Array.from({ length: 60 }, (_, i) => ({ ...group, name: `other-${i}`, size: 1, running: 0 })),
  ];
  const place = { in: "queue", queue: "exports", group: "bob" } as const;
  const entry = { ref: "r", place, payload: somePayload("jid-1") };
  const snapshot = someSnapshot({ list: { place, cursors: [], page: { entries: [entry] }, groups } });
  const state = { ...FIRST_STATE, list: { place, cursors: [] } };
  const lines = text(someScreen({ snapshot, state, columns: 120, rows: 24 }));
  const screen = lines.join("\n");
  assertMatch(screen, /^ {2}Groups 62 .*queued +latency +running +limit +held/m);
  assertMatch(screen, /^ {2}acme +1,200 +5s +2 +2 at once +at its limit: 2 of 2 run/m);
  assertMatch(screen, /^ {2}bob +3 +5s +0 +weight 5 +paused for 1m$/m);
  assertMatch(screen, /^▸ Jobs in queue exports, group bob: 1$/m);
  assertMatch(screen, /^› jid-1/m);
  assertEquals(lines.length, 24);
});

Deno.test("shows a part of every pane at 60 columns and 15 rows", () => {
  const screen = text(someScreen({ snapshot: BUSY, columns: 60, rows: 15 })).join("\n");
  for (
    const heading of [
      /^▸ Workers 30/m,
      /^ {2}Queues 40 .*queued/m,
      /^ {2}Running 90 /m,
      /^ {2}Sets: 0 scheduled, 0 retrying, 3 dead/m,
    ]
  ) {
    assertMatch(screen, heading);
  }
  assertMatch(screen, /^› web0:1:abc +3\/10 .*running$/m);
  assertMatch(screen, /^q quit/m);
});

Deno.test("shows unfinished batches and flows with their progress and failures, and no such pane without any", () => {
  const batches = [
    someBatch("1a203f735340c7e1a8800001", { name: "import 42", total: 100, pending: 60, dead: 1, failed: 2 }),
    someBatch("1a203f735340c7e1a8800002", { flow: true, state: "stuck", total: 3, pending: 1, dead: 1 }),
  ];
  const lines = text(someScreen({ snapshot: someSnapshot({ batches }) }));
  assertMatch(lines.join("\n"), /^ {2}Batches 2 /m);
  const of = (name: string) => lines.find((line) => line.trimStart().startsWith(name))!;
  assertMatch(of("import 42"), / batch ■■■■·{6} +40 of 100 +3 +1m running$/);
  assertMatch(of("1a203f735340c7e1a8800002"), / flow +■{7}·{3} +2 of 3 +1 +1m stuck$/);
  assertEquals(text(someScreen()).some((line) => line.includes("Batches")), false);
});

Deno.test("queues show their pause, its duration, and that no worker fetches from them", () => {
  const queues = [
    someQueue("default", { size: 5, latencyMs: 90_000 }),
    someQueue("held", { paused: true, pausedForMs: 600_000 }),
    someQueue("lonely", { size: 1 }),
    someQueue("*", { paused: true }),
  ];
  const snapshot = someSnapshot({ stats: someStats({ queues }), workers: [someWorker("a:1:b")] });
  const lines = text(someScreen({ snapshot }));
  const of = (name: string) => lines.find((line) => line.trimStart().startsWith(name))!;
  assertMatch(of("default"), /5 +1m30s$/);
  assertMatch(of("held"), /paused 10m$/);
  assertMatch(of("lonely"), /no worker$/);
  assertMatch(of("all queues"), /paused$/);
  assertMatch(lines[0]!, /paused: held \(for 10m\), all queues/);
});

Deno.test("queues show a limit that is reached, and no other", () => {
  const limit = { running: 2, taken: 2, started: 0, freeInMs: undefined };
  const queues = [
    someQueue("full", { size: 5, latencyMs: 90_000, limit }),
    someQueue("soon", { size: 5, latencyMs: 90_000, limit: { ...limit, freeInMs: 500 } }),
    someQueue("room", { size: 5, latencyMs: 90_000, limit: { ...limit, taken: 1, freeInMs: 0 } }),
    someQueue("held", { size: 5, paused: true, limit }),
    someQueue("lonely", { size: 5, limit }),
    someQueue("grouped", { size: 5, heldGroups: 1_000, hasGroupSettings: true }),
  ];
  const taken = { queues: ["full", "soon", "room", "held", "grouped"] };
  const snapshot = someSnapshot({ stats: someStats({ queues }), workers: [someWorker("a:1:b", [], taken)] });
  for (const columns of [60, 100]) {
    const lines = text(someScreen({ snapshot, columns }));
    const of = (name: string) => lines.find((line) => line.trimStart().startsWith(name))!;
    for (const name of ["full", "soon"]) assertMatch(of(name), / at its limit$/);
    assertMatch(of("room"), /1m30s$/);
    assertMatch(of("held"), / paused$/);
    assertMatch(of("lonely"), / no worker$/);
    assertMatch(of("grouped"), / 1,000\+ groups held$/);
  }
});

Deno.test("the chosen row stays visible, and on the same item when rows before it change", () => {
  const jobs = (first: number) => {
    const work = Array.from({ length: 100 }, (_, i) => ({
      task: "t",
      queue: "q",
      payload: somePayload(`jid-${i}`),
      since: NOW - i,
    })).slice(first);
    return someSnapshot({ workers: [someWorker("a:1:b", [], { work })] });
  };
  const base = someScreen();
  const key = `a:1:b t ${NOW - 70}`;
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

Deno.test("reports a store that doesn't reply, and keeps the last data", () => {
  const lines = text(someScreen({ snapshot: BUSY, problem: "Redis is unreachable; retrying", columns: 60 }));
  assertMatch(lines[0]!, /Redis is unreachable; retrying/);
  assertMatch(lines.join("\n"), /web0:1:abc/);
  assertMatch(text(someScreen({ snapshot: undefined }))[0]!, /Connecting to the store/);
  assertMatch(text(someScreen({ snapshot: undefined, problem: "No Redis" }))[0]!, /No Redis/);
});

Deno.test("NO_COLOR leaves out colors, and the chosen row is still marked", () => {
  const painted = (palette: typeof COLOURS) =>
    frame(someScreen({ snapshot: BUSY })).map((line) => paintLine(line, 100, palette)).join("\n");
  // deno-lint-ignore no-control-regex -- the sequences of colours
  assertEquals(/\x1b\[3\d/.test(painted(COLOURS)), true);
  // deno-lint-ignore no-control-regex -- the sequences of colours
  assertEquals(/\x1b\[[349]\d/.test(painted(NO_COLOURS)), false);
  // deno-lint-ignore no-control-regex -- the sequence of reversed text
  assertMatch(painted(NO_COLOURS), /\x1b\[7m› web0/);
});

Deno.test("one screen as text has every row, without keys or marks", () => {
  const lines = text(someScreen({ snapshot: BUSY, live: false, columns: 80, rows: heightOf(BUSY) }));
  assertEquals(lines.filter((line) => /^ {2}queue-\d+ /.test(line)).length, 40);
  assertEquals(lines.filter((line) => /\/10 /.test(line)).length, 30);
  assertEquals(lines.some((line) => /[▸›]|q quit/.test(line)), false);
});

Deno.test("a filter shows the rows that contain it, and their number", () => {
  const base = someScreen({ snapshot: BUSY });
  const lines = text({ ...base, state: { ...base.state, filter: "WEB7" } }).join("\n");
  assertMatch(lines, /Workers 1 of 30/);
  assertMatch(lines, /Queues 0 of 40[^]*No row contains "WEB7"/);
});
