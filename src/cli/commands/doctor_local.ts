/**
 * What `jobs doctor` looks at on this machine: settings, handlers, crontab, files.
 *
 * @module
 */
import { dirname } from "node:path";
import type { LoadedConfig } from "../../config/load.ts";
import { loadHandlers } from "../../handlers/load.ts";
import { misspelledOptions } from "../../handlers/option_typos.ts";
import { Registry } from "../../handlers/registry.ts";
import { checkConfigured } from "./cron_check.ts";
import type { Finding } from "./doctor_finding.ts";

/** Where settings come from, and what looks like one and is none. */
export function checkSettings({ file, warnings }: LoadedConfig): Finding[] {
  return [
    { check: "settings", state: "ok", message: file ? `read from ${file}` : "no file: defaults" },
    ...warnings.map((message): Finding => ({
      check: "settings",
      state: "warning",
      message,
      cure: "unset it, or write the name as docs/reference/configuration.md and jobs help settings have it",
    })),
  ];
}

/** Whether the handlers load, for which classes there are some, and whether their options are known ones. */
export async function checkHandlers(
  { settings }: LoadedConfig,
): Promise<{ readonly findings: readonly Finding[]; readonly classes: readonly string[] }> {
  const check = "handlers";
  const programs = settings.programs.map((program) => program.class);
  const registry = new Registry();
  try {
    await loadHandlers(settings.handlers, registry);
  } catch (error) {
    const { message } = error as Error;
    return {
      findings: [{ check, state: "failed", message, cure: "repair the module, or name another" }],
      classes: programs,
    };
  }
  const classes = [...registry.classes(), ...programs];
  return {
    classes,
    findings: [
      classes.length > 0 ? { check, state: "ok", message: classes.join(", ") } : {
        check,
        state: "warning",
        message: "none are named",
        cure: 'name them here and for jobs run: jobs doctor handlers.js, or "handlers" in the configuration',
      },
      ...misspelledOptions(registry.list()).map((message): Finding => ({
        check,
        state: "warning",
        message,
        cure: "write it as docs/guides/library.md lists it; leave it if it is meant for the payload",
      })),
    ],
  };
}

/** Whether the crontab is right. Nothing where there is none, or the handlers cannot be loaded, which has been said. */
export async function checkCron(config: LoadedConfig): Promise<Finding[]> {
  if (config.settings.cron.length === 0) return [];
  try {
    const { active, inactive, problems } = await checkConfigured(config);
    if (problems.length === 0) {
      const entries = active.length === 1 ? "1 entry" : `${active.length} entries`;
      return [{ check: "cron", state: "ok", message: `${entries}, ${inactive.length} switched off` }];
    }
    const cure = `change it in ${config.file ?? "the configuration"}; jobs cron check looks again`;
    return problems.map(({ message }) => ({ check: "cron", state: "failed", message, cure }));
  } catch {
    return [];
  }
}

/** Whether what a server writes beside the store can be written: its log and its pidfile. */
export async function checkFiles({ settings }: LoadedConfig): Promise<Finding[]> {
  const files = [["log.file", settings.logFile], ["pidFile", settings.pidFile]] as const;
  const findings: Finding[] = [];
  for (const [key, path] of files) {
    if (path === undefined) continue;
    const why = await whyNotWritable(path);
    findings.push(
      why === undefined ? { check: "files", state: "ok", message: `${key} "${path}" can be written` } : {
        check: "files",
        state: "failed",
        message: `${key} "${path}" cannot be written: ${why}`,
        cure: `let this user write there, or set "${key}" to another place`,
      },
    );
  }
  return findings;
}

/** Without leaving anything there. */
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
    return error instanceof Deno.errors.NotFound ? "there is no such folder" : (error as Error).message;
  }
}
