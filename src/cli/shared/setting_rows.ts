/**
 * The settings in force as they may be shown, on the terminal and in the dashboard.
 *
 * @module
 */
import { type Setting, type SettingName, SETTINGS } from "../../config/settings.ts";
import type { LoadedConfig } from "../../config/load.ts";
import { hidePassword } from "../../store/open.ts";
import type { SettingRow } from "../../web/services.ts";
import { storeUrl } from "./store.ts";

/** All of them. Passwords and other secrets are `***`; of users, their names and roles are shown. */
export function settingRows({ settings, origins }: LoadedConfig): (SettingRow & { readonly expected: string })[] {
  return (Object.keys(SETTINGS) as SettingName[]).map((name) => {
    const { key, about, kind, secret }: Setting<unknown> = SETTINGS[name];
    const value = name === "store"
      ? hidePassword(storeUrl(settings))
      : name === "webUsers"
      ? settings.webUsers.map(shownUser)
      : secret && origins[name] !== "default"
      ? "***"
      : settings[name];
    return { key, about, origin: origins[name], value, expected: kind.expected };
  });
}

/** `NAME:ROLE:***`; what is not written like that may be a secret from its first letter. */
function shownUser(line: string): string {
  return /^[^:,\s]{1,64}:(reader|operator):/.exec(line)?.[0].concat("***") ?? "***";
}
