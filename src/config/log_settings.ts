/**
 * The settings of the log: part of the table in `settings.ts`.
 *
 * @module
 */
import { oneOf, text } from "./kinds.ts";
import { setting } from "./setting.ts";
import { LOG_LEVELS } from "../log/format.ts";

export const LOG_SETTINGS = {
  logLevel: setting<"debug" | "info" | "warn" | "error">({
    key: "log.level",
    flag: "--log-level",
    kind: oneOf(...LOG_LEVELS),
    default: "info",
    about: "debug, info (one line per job), warn or error",
    live: true,
  }),
  logFormat: setting<"auto" | "pretty" | "json">({
    key: "log.format",
    flag: "--log-format",
    kind: oneOf("auto", "pretty", "json"),
    default: "auto",
    about: "auto: pretty on a terminal, JSON elsewhere",
  }),
  logFile: setting<string | undefined>({
    key: "log.file",
    flag: "--log-file",
    kind: text,
    default: undefined,
    about: "append the log to this file; default: stderr",
  }),
} as const;
