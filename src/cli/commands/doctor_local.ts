/**
 * The checks of `jobs doctor` on this machine: settings, handlers, cron entries, files.
 *
 * @module
 */
import { dirname } from "node:path";
import type { LoadedConfig } from "../../config/load.ts";
import { loadHandlers } from "../../handlers/load.ts";
import { misspelledOptions } from "../../handlers/option_typos.ts";
import { Registry } from "../../handlers/registry.ts";
import { programProblem } from "../../handlers/isolation/program_user.ts";
import { handlerCheckOf } from "../shared/store.ts";
import { checkConfigured } from "./cron_check.ts";
import type { Finding } from "./doctor_finding.ts";

/** Checks the configuration file, and variables that look like settings. */
export function checkSettings({ file, warnings }: LoadedConfig): Finding[] {
  return [
    { check: "settings", state: "ok", message: file ? `read from ${file}` : "no configuration file; defaults apply" },
    ...warnings.map((message): Finding => ({
      check: "settings",
      state: "warning",
      message,
      cure: "unset it, or write the name as docs/reference/configuration.md and jobs help settings have it",
    })),
  ];
}

/** Checks whether the handlers load, and whether their options are known. */
export async function checkHandlers(
  config: LoadedConfig,
): Promise<{ readonly findings: readonly Finding[]; readonly classes: readonly string[] }> {
  const check = "handlers";
  const { settings } = config;
  const outside = [...settings.programs, ...settings.http].map((one) => one.class);
  const registry = new Registry();
  try {
    await loadHandlers(settings.handlers, registry, handlerCheckOf(config));
  } catch (error) {
    const { message } = error as Error;
    return {
      findings: [{ check, state: "failed", message, cure: "repair the module, or name another one" }],
      classes: outside,
    };
  }
  const classes = [...registry.classes(), ...outside];
  return {
    classes,
    findings: [
      classes.length > 0 ? { check, state: "ok", message: classes.join(", ") } : {
        check,
        state: "warning",
        message: "no handlers named, and no worker online that has any",
        cure: 'start a worker: jobs run handlers.js, or set "handlers" in the configuration',
      },
      ...settings.programs.flatMap((program) => programProblem(program) ?? []).map((message): Finding => ({
        check,
        state: "failed",
        message,
        cure: "change it in the configuration",
      })),
      ...misspelledOptions(registry.list()).map((message): Finding => ({
        check,
        state: "warning",
        message,
        cure: "write it as docs/guides/library.md lists it; leave it if it is meant for the payload",
      })),
    ],
  };
}

/** Checks the cron entries. Reports nothing if there are none, or if the handlers don't load. */
export async function checkCron(config: LoadedConfig): Promise<Finding[]> {
  if (config.settings.cron.length === 0) return [];
  try {
    const { active, inactive, problems } = await checkConfigured(config);
    if (problems.length === 0) {
      const entries = active.length === 1 ? "1 entry" : `${active.length} entries`;
      return [{ check: "cron", state: "ok", message: `${entries}, ${inactive.length} disabled` }];
    }
    const cure = `change it in ${config.file ?? "the configuration"}; jobs cron check checks it again`;
    return problems.map(({ message }) => ({ check: "cron", state: "failed", message, cure }));
  } catch {
    return [];
  }
}

/** Checks whether the log file and the PID file can be written. */
export async function checkFiles({ settings }: LoadedConfig): Promise<Finding[]> {
  const files = [["log.file", settings.logFile], ["pidFile", settings.pidFile]] as const;
  const findings: Finding[] = [];
  for (const [key, path] of files) {
    if (path === undefined || path === "-") continue;
    const why = await whyNotWritable(path);
    findings.push(
      why === undefined ? { check: "files", state: "ok", message: `${key} "${path}" is writable` } : {
        check: "files",
        state: "failed",
        message: `${key} "${path}" isn't writable: ${why}`,
        cure: `give this user permission, or set "${key}" to another path`,
      },
    );
  }
  return findings;
}

/** Returns why a file can't be written. Leaves no trace. */
async function whyNotWritable(path: string): Promise<string | undefined> {
  try {
    (await Deno.open(path, { append: true })).close();
    return undefined;
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) return (error as Error).message;
  }
  try {
    await Deno.remove(await Deno.makeTempFile({ dir: dirname(path), prefix: ".jobs-doctor-" }));
    return undefined;
  } catch (error) {
    return error instanceof Deno.errors.NotFound ? "no such folder" : (error as Error).message;
  }
}
