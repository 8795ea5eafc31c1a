/** Every signal of the table, sent to the executable on Redis, and systemd. The tests of the sources use SQLite. */
import { benchOn } from "../support/bench.ts";
import { useExecutable } from "../support/command.ts";
import { startRedis } from "../support/redis.ts";
import { importTests } from "../support/selected.ts";

await useExecutable();
const redis = await startRedis({ config: { databases: "100" } });
addEventListener("unload", () => {
  redis.signal("SIGKILL");
  Deno.removeSync(redis.dir, { recursive: true });
});
let database = 0;
benchOn(() => redis.url.replace(/\d+$/, `${database++}`));
await import("../server/signals_test.ts");
await importTests(
  [
    "TTIN while the event loop is blocked prints every task with its job, and which job blocks it",
    "as PID 1, a worker whose event loop is blocked ends on TERM",
  ],
  () => import("../server/blocked_loop_test.ts"),
);
await importTests(
  ["systemd, at a path, is notified that the worker is ready, alive, and stopping"],
  () => import("../server/systemd_test.ts"),
);
