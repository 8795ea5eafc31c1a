/** `jobs doctor`. @module */
import { formatDuration } from "../../job/duration.ts";
import { StoreError } from "../../store/port/errors.ts";
import { COMMON_FLAGS, parseCommand } from "../terminal/args.ts";
import type { Finding } from "./doctor_finding.ts";
import { checkCron, checkFiles, checkHandlers, checkSettings } from "./doctor_local.ts";
import { checkStore } from "./doctor_store.ts";
import { blankControls, print, printError, printJson } from "../terminal/output.ts";
import { whyNotReady } from "./ready.ts";
import { settingRows } from "../shared/setting_rows.ts";
import { type ConfigFlags, loadSettings, withStore } from "../shared/store.ts";
import { coloured, printTable } from "../terminal/table.ts";
import { cutText } from "../terminal/text_width.ts";

/** What `--help` prints. */
export const help = `
Usage: jobs doctor [HANDLERS …] [--json]
       jobs doctor --ready

Checks what goes wrong most often, and says of each finding what to do: settings and environment variables, handlers, the
crontab, files that must be writable; the store: whether it opens, its version, what it keeps in a power cut, its clock;
processes that died and what they still hold, queues that are paused, at their limit, or taken by no process, jobs that no
process performs. Then prints the settings and where each came from. Exit 1 when something does not work.

  --ready   only this, for health checks: the store answers, and a process on this machine (in this container) is alive
            and takes jobs. Says in one line why not, with exit 1; a process that is quiet is not ready,
            and none is while all queues are paused`;

/** Looks at everything. */
export async function run(argv: readonly string[]): Promise<number> {
  const { flags, args } = parseCommand("doctor", argv, { ...COMMON_FLAGS, ready: { takes: "switch" } });
  if (flags.ready) return await checkReady(flags);
  const config = await loadSettings(flags, { handlers: args.length > 0 ? args : undefined });
  const handlers = await checkHandlers(config);
  const findings: readonly Finding[] = [
    ...checkSettings(config),
    ...handlers.findings,
    ...await checkCron(config),
    ...await checkFiles(config),
    ...await checkStore(config, handlers.classes),
  ];
  const settings = settingRows(config);
  if (flags.json) printJson({ findings, settings: settings.map(({ key, value, origin }) => ({ key, value, origin })) });
  else {
    for (const finding of findings) print(findingText(finding));
    print("");
    printTable(
      [{ heading: "setting", is: "whole" }, "value", { heading: "from", is: "optional" }],
      settings.map((
        { key, value, expected, origin },
      ) => [key, cutText(shownValue(value, expected), MAX_VALUE), origin]),
      "",
    );
  }
  return findings.some((one) => one.state === "failed") ? 1 : 0;
}

/** What was found must be read whole: it is no table. */
function findingText({ check, state, message, cure }: Finding): string {
  const shown = Deno.stdout.isTerminal() ? coloured(state.padEnd(7)) : state.padEnd(7);
  const lines = [`${shown}  ${check.padEnd(9)}  ${blankControls(message)}`];
  if (cure !== undefined) lines.push(`${" ".repeat(20)}→ ${blankControls(cure)}`);
  return lines.join("\n");
}

/** A crontab is long; `--json` has it whole. */
const MAX_VALUE = 80;

async function checkReady(flags: ConfigFlags & { readonly json: boolean }): Promise<number> {
  const why = await withStore(flags, (store) => whyNotReady(store, Deno.hostname())).catch((error) => {
    if (error instanceof StoreError) return error.message;
    throw error;
  });
  if (flags.json) printJson({ ready: why === undefined, why });
  else if (why === undefined) print("ready");
  else printError(`jobs: not ready: ${why}`);
  return why === undefined ? 0 : 1;
}

function shownValue(value: unknown, expected: string): string {
  // What is a duration says so in what it wants; inside, it is milliseconds.
  if (typeof value === "number" && value > 0 && expected.startsWith("a duration")) return formatDuration(value);
  return typeof value === "string" ? value : JSON.stringify(value) ?? "";
}
