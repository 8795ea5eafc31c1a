/**
 * A process whose worker has stopped and that never closes: `exit_guard_child.ts WAITING|SPINNING|HANGING_EXIT`.
 *
 * @module
 */
import { systemClock } from "../../src/clock.ts";
import { logger, openLog } from "../../src/log/log.ts";
import { ExitGuard } from "../../src/server/host/exit_guard.ts";

using _log = openLog({ format: "json" });
const guard = new ExitGuard({ clock: systemClock, log: logger("run"), closeMs: 50, killMs: 400 });
guard.arm(1);
switch (Deno.args[0]) {
  case "WAITING":
    setInterval(() => {}, 10);
    Deno.exit(await guard.expired);
    break;
  case "HANGING_EXIT":
    globalThis.addEventListener("unload", () => {
      for (;;);
    });
    Deno.exit(await guard.expired);
    break;
  case "SPINNING":
    for (;;);
}
