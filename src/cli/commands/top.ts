/** `jobs top`. @module */
import { systemClock } from "../../clock.ts";
import { parseDuration } from "../../job/duration.ts";
import { openStore } from "../../store/open.ts";
import { COMMON_FLAGS, parseCommand } from "../terminal/args.ts";
import { UsageError } from "../terminal/errors.ts";
import { hasColor, print, printJson, terminalColumns } from "../terminal/output.ts";
import { batchJson } from "../../text/batches.ts";
import { flowJson } from "../../text/flows.ts";
import { workerJson } from "../../text/workers.ts";
import { statsJson } from "./stats.ts";
import { loadSettings, storeOptions, storeUrl } from "../shared/store.ts";
import { frame, heightOf } from "../top/frame.ts";
import { History } from "../top/history.ts";
import { watch } from "../top/app.ts";
import { readSnapshot, type Snapshot } from "../top/snapshot.ts";
import { FIRST_STATE } from "../top/state.ts";
import { COLOURS, NO_COLOURS, NOTHING, paintLine } from "../top/text.ts";

/** The text of `--help`. */
export const help = `
Usage: jobs top [--interval 1s]
       jobs top --once [--json]

Shows workers, queues, running jobs, unfinished batches and flows, and the sets
live, and acts on them. Keys: arrows select, Enter shows more, / filters, p
pauses a queue, r retries a job, c cancels one, d dumps a worker, Q quiets and S
stops it, ? lists all keys, q quits.

      --interval TIME    read the store at this interval, 100ms to 1h (1s)
      --once             print one screen as text and exit

Examples
  jobs top
  jobs top --interval 5s --store redis://localhost:6379
  jobs top --once --json`;

/** A store that doesn't reply within this time is reported as unreachable. */
const REPLY_TIMEOUT_MS = 2_000;
const MIN_INTERVAL_MS = 100;
const MAX_INTERVAL_MS = 3_600_000;
const MIN_COLUMNS = 20;

/** Shows everything live. */
export async function run(argv: readonly string[]): Promise<number> {
  const { flags } = parseCommand("top", argv, {
    ...COMMON_FLAGS,
    interval: { takes: "text" },
    once: { takes: "switch" },
  }, "");
  const intervalMs = interval(flags.interval);
  if (flags.json && !flags.once) throw new UsageError("--json needs --once: jobs top --once --json");
  if (!flags.once) requireTerminal();
  const { settings } = await loadSettings(flags);
  await using store = await openStore(storeUrl(settings), {
    ...storeOptions(settings),
    // The default store may be created while this runs.
    create: settings.store === undefined,
    waitMs: REPLY_TIMEOUT_MS,
    // The screen shows the state of the store.
    log: () => {},
  });
  if (!flags.once) {
    await watch(store, systemClock, intervalMs, hasColor() ? COLOURS : NO_COLOURS);
    return 0;
  }
  const snapshot = await readSnapshot(store, () => systemClock.now(), undefined);
  if (flags.json) {
    printJson({
      stats: statsJson(snapshot.stats),
      workers: snapshot.workers.map((worker) => workerJson(worker)),
      batches: snapshot.batches.map((batch) => batch.flow ? flowJson(batch) : batchJson(batch)),
    });
  } else print(asText(snapshot, columns()));
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
  let ms: number;
  try {
    ms = parseDuration(text);
  } catch {
    ms = NaN;
  }
  if (!(ms >= MIN_INTERVAL_MS && ms <= MAX_INTERVAL_MS)) {
    throw new UsageError(`Invalid --interval "${text}": expected a time from 100ms to 1h`);
  }
  return ms;
}

function requireTerminal(): void {
  if (!Deno.stdin.isTerminal() || !Deno.stdout.isTerminal()) {
    throw new UsageError("jobs top requires a terminal; --once prints one screen as text");
  }
  if (Deno.env.get("TERM") === "dumb") {
    throw new UsageError('TERM is "dumb": the terminal can\'t show a screen; --once prints one as text');
  }
}

/** Returns the width: of the terminal, else COLUMNS, else 80. */
function columns(): number {
  const given = terminalColumns() ?? Number(Deno.env.get("COLUMNS"));
  return Number.isInteger(given) && given >= MIN_COLUMNS ? given : 80;
}
