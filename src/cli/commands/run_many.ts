/**
 * `jobs run --processes N`: the parent process, and the settings that its workers don't share: banner, PID file, web port.
 *
 * @module
 */
import { systemClock } from "../../clock.ts";
import type { LoadedConfig } from "../../config/load.ts";
import { logger, openLog } from "../../log/log.ts";
import type { MemberInfo } from "../../server/host/member.ts";
import { writePidfile } from "../../server/host/pidfile.ts";
import { Inbox, listenToSignals } from "../../server/control/signals.ts";
import { Supervisor } from "../../server/host/supervisor.ts";
import { Systemd } from "../../server/host/systemd.ts";
import { VERSION } from "../../version.ts";
import { banner } from "../terminal/banner.ts";
import { hasColor, printBanner } from "../terminal/output.ts";
import { EXIT_LEFT_PAUSED } from "../shared/left_paused.ts";

/**
 * Keeps the workers running.
 *
 * @param argv the arguments after `jobs run`
 * @returns the exit code
 */
export async function runMany({ settings, warnings }: LoadedConfig, argv: readonly string[]): Promise<number> {
  using log = openLog({ level: settings.logLevel, format: settings.logFormat, file: settings.logFile });
  const say = logger("supervisor");
  const inbox = new Inbox();
  using _signals = listenToSignals(inbox);
  await using _pidfile = settings.pidFile === undefined ? undefined : await writePidfile(settings.pidFile);
  await using systemd = Systemd.fromEnvironment(logger("systemd"));
  if (Deno.stderr.isTerminal()) printBanner(banner(!hasColor()));
  const { processes: count, maxMemoryBytes } = settings;
  for (const warning of warnings) say.warn(warning);
  say.info("Starting processes", { version: VERSION, count });
  const supervisor = new Supervisor({
    count,
    args: ["run", ...argv],
    endCodes: settings.burst ? [EXIT_LEFT_PAUSED] : [],
    maxMemoryBytes,
    inbox,
    clock: systemClock,
    log: say,
    onReady: () => {
      say.info("All processes are ready", { count });
      systemd?.ready(`${count} processes take jobs`);
    },
    onStopping: () => systemd?.stopping(),
    onReopen: () => log.reopen(),
  });
  const code = await supervisor.run();
  say.info("All processes have ended");
  log.flush();
  return code;
}

/** Returns the settings of one of several workers. */
export function asMember(config: LoadedConfig, member: MemberInfo): LoadedConfig {
  const { pidFile: _pidFile, webListen, name, ...settings } = config.settings;
  return {
    ...config,
    settings: {
      ...settings,
      processes: 1,
      pidFile: undefined,
      webListen: member.index === 1 ? webListen : undefined,
      name: name === undefined ? undefined : `${name}.${member.index}`,
    },
  };
}
