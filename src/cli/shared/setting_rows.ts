/**
 * The effective settings, for the terminal and the dashboard.
 *
 * @module
 */
import { shownEndpoint } from "../../config/endpoints.ts";
import { shownWebhook } from "../../config/webhooks.ts";
import { type Setting, type SettingName, SETTINGS } from "../../config/settings.ts";
import type { LoadedConfig } from "../../config/load.ts";
import type { Program } from "../../job/program.ts";
import { hidePassword } from "../../store/port/hide_password.ts";
import { Mask } from "../../text/mask.ts";
import type { SettingRow } from "../../web/services.ts";
import { storeUrl } from "./store.ts";

/** Returns all settings. Passwords and other secrets are hidden, those in arguments too; users have their names and roles. */
export function settingRows({ settings, origins }: LoadedConfig): SettingRow[] {
  const mask = new Mask(settings.webMask, true);
  return (Object.keys(SETTINGS) as SettingName[]).map((name) => {
    const { key, about, kind, secret }: Setting<unknown> = SETTINGS[name];
    const value = name === "store"
      ? hidePassword(storeUrl(settings))
      : name === "webUsers"
      ? settings.webUsers.map(shownUser)
      : name === "programs"
      ? settings.programs.map((program) => mask.value(shownProgram(program)))
      : name === "cron"
      ? settings.cron.map((entry) => mask.value(entry))
      : name === "http"
      ? settings.http.map(shownEndpoint)
      : name === "webhooks"
      ? settings.webhooks?.map(shownWebhook)
      : secret && origins[name] !== "default"
      ? "***"
      : settings[name];
    const shown = value !== undefined && value === settings[name] ? kind.show?.(value) : undefined;
    return { key, about, origin: origins[name], value, ...(shown !== undefined && { shown }) };
  });
}

/** Returns a program with the names of its variables, whose values may be secrets. */
function shownProgram({ env, ...program }: Program): unknown {
  if (env === undefined) return program;
  return { ...program, env: Object.fromEntries(Object.keys(env).map((name) => [name, "***"])) };
}

/** Returns `NAME:ROLE:***`; a malformed line may be all secret. */
function shownUser(line: string): string {
  return /^[^:,\s]{1,64}:(reader|operator|push|signal)(\([^)\s]*\))?:/.exec(line)?.[0].concat("***") ?? "***";
}
