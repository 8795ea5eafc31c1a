/** `jobs doctor`. @module */
import { type Setting, type SettingName, SETTINGS } from "../config.ts";
import type { LoadedConfig } from "../config_load.ts";
import { loadHandlers } from "../handlers/load.ts";
import { Registry } from "../handlers/registry.ts";
import { hidePassword, type OpenStore, openStore } from "../store/open.ts";
import { checkConfigured } from "./cron_check.ts";
import { COMMON_FLAGS, parseCommand } from "./args.ts";
import { print, printJson, printTable, remark } from "./output.ts";
import { whyNotReady } from "./ready.ts";
import { type ConfigFlags, loadSettings, storeOptions, storeUrl, withStore } from "./store.ts";

/** What `--help` prints. */
export const help = `
Usage: jobs doctor [HANDLERS …] [--json]
       jobs doctor --ready

Checks that the settings can be read, the handlers load, the store opens, and every queue with jobs has a process that
takes it; each finding comes with its cure. Then prints the settings and where each came from. Exit 1 when something
does not work.

  --ready   only this, for health checks: the store answers, and a process on this machine (in this container) is alive
            and takes jobs. Says in one line why not, with exit 1; a process that is quiet is not ready`;

/** One thing that was looked at. */
interface Finding {
  readonly check: string;
  readonly state: "ok" | "warning" | "failed";
  /** What was found, and its cure. */
  readonly message: string;
}

/** Looks at everything. */
export async function run(argv: readonly string[]): Promise<number> {
  const { flags, args } = parseCommand("doctor", argv, { ...COMMON_FLAGS, ready: { takes: "switch" } });
  if (flags.ready) return await checkReady(flags);
  const config = await loadSettings(flags, { handlers: args.length > 0 ? args : undefined });
  const findings: Finding[] = [
    { check: "settings", state: "ok", message: config.file ? `read from ${config.file}` : "no file: defaults" },
    await checkHandlers(config),
    ...await checkCron(config),
    ...await checkStore(config),
  ];
  if (flags.json) {
    printJson({ findings, settings: settingRows(config).map(([key, value, origin]) => ({ key, value, origin })) });
  } else {
    printTable(["check", "state", "finding"], findings.map((one) => [one.check, one.state, one.message]), "");
    print("");
    const rows = settingRows(config).map(([key, value, origin]) => [key, shorten(JSON.stringify(value) ?? ""), origin]);
    printTable(["setting", "value", "from"], rows, "");
  }
  return findings.some((one) => one.state === "failed") ? 1 : 0;
}

async function checkReady(flags: ConfigFlags & { readonly json: boolean }): Promise<number> {
  const why = await withStore(flags, (store) => whyNotReady(store, Deno.hostname()));
  if (flags.json) printJson({ ready: why === undefined, why });
  else if (why === undefined) print("ready");
  else remark(`jobs: not ready: ${why}`);
  return why === undefined ? 0 : 1;
}

async function checkHandlers({ settings }: LoadedConfig): Promise<Finding> {
  const registry = new Registry();
  try {
    await loadHandlers(settings.handlers, registry);
  } catch (error) {
    return { check: "handlers", state: "failed", message: (error as Error).message };
  }
  const classes = registry.classes();
  return classes.length > 0
    ? { check: "handlers", state: "ok", message: classes.join(", ") }
    : { check: "handlers", state: "warning", message: "none named: pass modules here and to jobs run" };
}

/** Nothing where there is no crontab, or the handlers cannot be loaded, which has been said. */
async function checkCron(config: LoadedConfig): Promise<Finding[]> {
  if (config.settings.cron.length === 0) return [];
  try {
    const { active, inactive, problems } = await checkConfigured(config);
    if (problems.length > 0) return problems.map(({ message }) => ({ check: "cron", state: "failed", message }));
    return [{ check: "cron", state: "ok", message: `${active.length} entries, ${inactive.length} switched off` }];
  } catch {
    return [];
  }
}

async function checkStore({ settings }: LoadedConfig): Promise<Finding[]> {
  const findings: Finding[] = [];
  try {
    await using store = await openStore(storeUrl(settings), {
      ...storeOptions(settings),
      log: (level, message) => level === "info" || findings.push({ check: "store", state: "warning", message }),
    });
    findings.push({ check: "store", state: "ok", message: store.url });
    findings.push(...await checkProcesses(store));
  } catch (error) {
    findings.push({ check: "store", state: "failed", message: (error as Error).message });
  }
  return findings;
}

async function checkProcesses(store: OpenStore): Promise<Finding[]> {
  const processes = await store.processes();
  const live = processes.filter((process) => process.alive);
  const takers = new Set(live.filter((process) => !process.quiet).flatMap((process) => process.queues));
  const orphans = (await store.queues()).filter((queue) => queue.size > 0 && !takers.has(queue.name));
  return [
    live.length > 0
      ? { check: "processes", state: "ok", message: `${live.length} live` }
      : { check: "processes", state: "warning", message: "none live: start one with jobs run" },
    ...processes.filter((process) => !process.alive).map(({ identity }): Finding => ({
      check: "processes",
      state: "warning",
      message: `${identity} is dead; any running process gives its jobs back`,
    })),
    ...orphans.map(({ name, size }): Finding => ({
      check: "queues",
      state: "warning",
      message: `"${name}" has ${size} jobs and no process takes it: jobs run -q ${name}`,
    })),
  ];
}

function settingRows({ settings, origins }: LoadedConfig): [key: string, value: unknown, origin: string][] {
  const shown = (name: SettingName) => {
    const { secret }: Setting<unknown> = SETTINGS[name];
    if (name === "store") return hidePassword(storeUrl(settings));
    return secret && origins[name] !== "default" ? "***" : settings[name];
  };
  return (Object.keys(SETTINGS) as SettingName[]).map((name) => [SETTINGS[name].key, shown(name), origins[name]]);
}

/** A crontab is long. */
function shorten(text: string): string {
  return text.length > 80 ? `${text.slice(0, 80)}…` : text;
}
