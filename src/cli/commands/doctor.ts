/** `jobs doctor`. @module */
import { stringifyLossless } from "../../job/json.ts";
import { formatDuration, parseDuration } from "../../job/duration.ts";
import { MAX_PACE_MS } from "../../store/ops/pace.ts";
import { StoreError } from "../../store/port/errors.ts";
import { COMMON_FLAGS, parseCommand } from "../terminal/args.ts";
import { UsageError } from "../terminal/errors.ts";
import type { Finding } from "./doctor_finding.ts";
import { checkCron, checkFiles, checkHandlers, checkSettings } from "./doctor_local.ts";
import { checkStore } from "./doctor_store.ts";
import { blankControls, print, printError, printJson, printPainted } from "../terminal/output.ts";
import { whyNotReady } from "./ready.ts";
import { settingRows } from "../shared/setting_rows.ts";
import { type ConfigFlags, loadSettings, withStore } from "../shared/store.ts";
import { colored, printTable } from "../terminal/table.ts";
import { cutText } from "../terminal/text_width.ts";

/** The text of `--help`. */
export const help = `
Usage: jobs doctor [HANDLERS …] [--settings] [--measure TIME] [--json]
       jobs doctor --ready

Checks what usually goes wrong, and prints a cure for each finding: settings and
environment variables, handlers, cron entries, files, the store and its clock,
offline workers and the jobs they hold, paused queues, and queues and classes
without a worker. Then prints the settings that differ from their defaults, and
their origins. Exit 1 if something doesn't work.

Prints what it finds at once. Then measures how fast the store replies, for 2 s,
for 5 s if a worker is online, and for up to 20 s if it stalls, and reports for
how long.

      --settings         print all settings
      --measure TIME     measure for 0s to 20s; 0s: one write
      --ready            only check, for containers, whether the store replies
                         and a worker on this machine fetches jobs

Examples
  jobs doctor handlers.js
  jobs doctor --settings -e production
  jobs doctor --ready`;

/** Checks everything. */
export async function run(argv: readonly string[]): Promise<number> {
  const { flags, args } = parseCommand("doctor", argv, {
    ...COMMON_FLAGS,
    ready: { takes: "switch" },
    settings: { takes: "switch" },
    measure: { takes: "text" },
  }, "[HANDLERS …]");
  const measureMs = parseMeasure(flags.measure);
  if (flags.ready) return await checkReady(flags);
  const config = await loadSettings(flags, { handlers: args.length > 0 ? args : undefined });
  const handlers = await checkHandlers(config);
  const [cron, files] = [await checkCron(config), await checkFiles(config)];
  const findings: Finding[] = [];
  const report = (found: readonly Finding[]) => {
    findings.push(...found);
    if (!flags.json) { for (const finding of found) printPainted(findingText(finding)); }
  };
  await checkStore(config, {
    classes: handlers.classes,
    measureMs,
    report,
    known: ({ hasHandlers, findings }) =>
      report(causeFirst([
        ...checkSettings(config),
        ...(handlers.classes.length === 0 && hasHandlers !== false ? [] : handlers.findings),
        ...cron,
        ...files,
        ...findings,
      ])),
  });
  const all = settingRows(config);
  const settings = flags.settings ? all : all.filter(({ origin }) => origin !== "default");
  if (flags.json) printJson({ findings, settings: all.map(({ key, value, origin }) => ({ key, value, origin })) });
  else {
    print("");
    printTable(
      [{ heading: "setting", is: "whole" }, "value", { heading: "from", is: "optional" }],
      settings.map((
        { key, value, shown, origin },
      ) => [key, cutText(shown ?? shownValue(value), MAX_VALUE_COLUMNS), origin]),
      "All settings have their defaults (--settings prints them)",
    );
  }
  return findings.some((one) => one.state === "failed") ? 1 : 0;
}

/** A store that fails explains most of the rest. */
function causeFirst(findings: readonly Finding[]): Finding[] {
  const isCause = ({ check, state }: Finding) => check === "store" && state === "failed";
  return [...findings.filter(isCause), ...findings.filter((one) => !isCause(one))];
}

function parseMeasure(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  try {
    const ms = parseDuration(text);
    if (ms >= 0 && ms <= MAX_PACE_MS) return ms;
  } catch {
    // Thrown below.
  }
  throw new UsageError(`Invalid --measure "${text}": expected 0s to ${formatDuration(MAX_PACE_MS)}`);
}

/** Formats a finding in lines: a table would cut it. */
function findingText({ check, state, message, cure }: Finding): string {
  const shown = Deno.stdout.isTerminal() ? colored(state.padEnd(7)) : state.padEnd(7);
  const lines = [`${shown}  ${check.padEnd(9)}  ${blankControls(message)}`];
  if (cure !== undefined) lines.push(`${" ".repeat(20)}→ ${blankControls(cure)}`);
  return lines.join("\n");
}

/** Longer values, such as cron entries, are cut; `--json` prints them whole. */
const MAX_VALUE_COLUMNS = 80;

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

function shownValue(value: unknown): string {
  return typeof value === "string" ? value : stringifyLossless(value) ?? "";
}
