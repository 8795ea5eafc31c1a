/** `jobs top`. @module */
import { systemClock } from "../../clock.ts";
import { parseDuration } from "../../job/duration.ts";
import { openStore } from "../../store/open.ts";
import { COMMON_FLAGS, parseCommand, UsageError } from "../terminal/args.ts";
import { print, printJson } from "../terminal/output.ts";
import { loadSettings, storeOptions, storeUrl } from "../shared/store.ts";
import { frame, heightOf } from "../top/frame.ts";
import { History } from "../top/history.ts";
import { watch } from "../top/app.ts";
import { readSnapshot, type Snapshot } from "../top/snapshot.ts";
import { FIRST_STATE } from "../top/state.ts";
import { COLOURS, NO_COLOURS, NOTHING, paintLine } from "../top/text.ts";

/** What `--help` prints. */
export const help = `
Usage: jobs top [--interval 1s]
       jobs top --once [--json]

Shows processes, queues, running jobs and the sets as they are, and acts on them: p pauses a queue, r retries a job, c
cancels one, d dumps a process, Q quiets and S stops it, Enter shows more, / filters, ? lists all keys, q quits.

      --interval TIME      how often the store is asked: 100ms to 1h (1s)
      --once               print one screen as text, COLUMNS wide (80), and end`;

/** The first answer of a store, and each after it: a screen that shows nothing for longer is no use. */
const TIMEOUT_MS = 2_000;
const MIN_DURATION_MS = 100;
const MAX_DURATION_MS = 3_600_000;
const NARROWEST = 20;

/** Shows everything, live. */
export async function run(argv: readonly string[]): Promise<number> {
  const { flags, args: [superfluous] } = parseCommand("top", argv, {
    ...COMMON_FLAGS,
    interval: { takes: "text" },
    once: { takes: "switch" },
  });
  if (superfluous !== undefined) throw new UsageError(`Superfluous: "${superfluous}"; wanted: jobs top [--once]`);
  const intervalMs = interval(flags.interval);
  if (flags.json && !flags.once) throw new UsageError("--json goes with --once: jobs top --once --json");
  if (!flags.once) wantTerminal();
  const { settings } = await loadSettings(flags);
  await using store = await openStore(storeUrl(settings), {
    ...storeOptions(settings),
    // The embedded default may come while it looks.
    create: settings.store === undefined,
    waitMs: TIMEOUT_MS,
    // What happens to the store is seen on the screen; a line printed over it would only spoil it.
    log: () => {},
  });
  if (!flags.once) {
    await watch(store, systemClock, intervalMs, Deno.noColor ? NO_COLOURS : COLOURS);
    return 0;
  }
  const snapshot = await readSnapshot(store, () => systemClock.now(), undefined);
  if (flags.json) printJson({ stats: snapshot.stats, processes: snapshot.processes });
  else print(asText(snapshot, columns()));
  return 0;
}

function asText(snapshot: Snapshot, columns: number): string {
  const history = new History();
  history.add(systemClock.monotonic(), snapshot.stats);
  const shown = { state: FIRST_STATE, snapshot, history, problem: undefined, columns, live: false };
  return frame({ ...shown, rows: heightOf(snapshot) })
    .map((line) => paintLine(line, columns, NOTHING).trimEnd()).join("\n");
}

function interval(text = "1s"): number {
  const wanted = `wanted: a time from 100ms to 1h`;
  let ms: number;
  try {
    ms = parseDuration(text);
  } catch {
    throw new UsageError(`Option --interval is "${text}"; ${wanted}`);
  }
  if (ms < MIN_DURATION_MS || ms > MAX_DURATION_MS) throw new UsageError(`Option --interval is "${text}"; ${wanted}`);
  return ms;
}

function wantTerminal(): void {
  if (!Deno.stdin.isTerminal() || !Deno.stdout.isTerminal()) {
    throw new UsageError("jobs top wants a terminal, for keys and for the screen; --once prints one screen as text");
  }
  if (Deno.env.get("TERM") === "dumb") {
    throw new UsageError('TERM is "dumb": this terminal cannot show a screen; --once prints one as text');
  }
}

/** As wide as COLUMNS says. */
function columns(): number {
  const given = Number(Deno.env.get("COLUMNS"));
  return Number.isInteger(given) && given >= NARROWEST ? given : 80;
}
