/**
 * The settings of the log: part of the table in `settings.ts`.
 *
 * @module
 */
import { oneOf, text } from "./kinds.ts";
import { setting } from "./setting.ts";
import { LOG_LEVELS } from "../log/format.ts";

/** The rows. */
export const LOG_SETTINGS = {
  logLevel: setting<"debug" | "info" | "warn" | "error">({
    key: "log.level",
    env: "JOBS_LOG_LEVEL",
    flag: "--log-level",
    kind: oneOf(...LOG_LEVELS),
    default: "info",
    about: "debug, info (a line for each job), warn or error",
    live: true,
  }),
  logFormat: setting<"auto" | "pretty" | "json">({
    key: "log.format",
    env: "JOBS_LOG_FORMAT",
    flag: "--log-format",
    kind: oneOf("auto", "pretty", "json"),
    default: "auto",
    about: "auto: pretty on a terminal, JSON elsewhere",
  }),
  logFile: setting<string | undefined>({
    key: "log.file",
    env: "JOBS_LOG_FILE",
    flag: "--logfile",
    kind: text,
    default: undefined,
    about: "a file to append to; default stderr",
  }),
} as const;
