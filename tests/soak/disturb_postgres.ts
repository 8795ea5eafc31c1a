/**
 * Disturbances of the PostgreSQL server.
 *
 * @module
 */
import type { PostgresServer } from "../support/postgres.ts";
import type { Disturbance } from "./disturbance.ts";
import type { GroundOptions } from "./ground.ts";
import type { ShiftedClock } from "./shifted_clock.ts";
import { pause } from "./uptime.ts";

/** As an NTP step or a resumed virtual machine does; longer than the default heartbeat timeout. */
const JUMP_S = 30;
/** Tables that every verb uses. */
const HOT = ["job", "queued", "lease", "worker"];
const CLIENTS = "FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()";

/** The services of these disturbances. */
interface Options extends Omit<GroundOptions, "folder"> {
  readonly server: PostgresServer;
  readonly database: string;
  readonly clock: ShiftedClock | undefined;
}

/** @returns what can be done to the server; clock jumps only where there is a clock to move */
export function postgresDisturbances(
  { server, database, clock, incidents, heartbeatTimeoutMs }: Options,
): Disturbance[] {
  const sql = async (text: string) => void await server.sql(text, database);
  const kind = (name: string, weight: number, forMs: readonly [number, number], run: Disturbance["run"]) =>
    ({ name, weight, hits: "store", forMs, run }) as const;
  const down: Disturbance["run"] = ({ forMs }) =>
    incidents.outage("postgres down", async () => {
      await server.kill();
      await pause(forMs);
      await server.start();
    });
  return [
    kind("kill PostgreSQL", 2, [0, 1_500], down),
    kind("kill PostgreSQL past the timeout", 2, [heartbeatTimeoutMs + 1_000, heartbeatTimeoutMs + 4_000], down),
    kind(
      "freeze PostgreSQL",
      1,
      [300, heartbeatTimeoutMs + 3_000],
      ({ forMs }) =>
        incidents.outage("postgres frozen", async () => {
          server.signal("SIGSTOP");
          await pause(forMs);
          server.signal("SIGCONT");
        }),
    ),
    kind(
      "lock a table",
      2,
      [300, heartbeatTimeoutMs + 2_000],
      ({ forMs, random }) =>
        incidents.outage("postgres table locked", async () => {
          const table = HOT[random.between(0, HOT.length - 1)];
          await sql(`BEGIN; LOCK TABLE jobs.${table}; SELECT pg_sleep(${forMs / 1_000}); COMMIT`);
        }),
    ),
    kind(
      "hold the horizon",
      2,
      [2_000, 10_000],
      ({ forMs }) =>
        sql(
          `BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1 FROM jobs.meta; SELECT pg_sleep(${forMs / 1_000}); COMMIT`,
        ),
    ),
    kind("end all sessions of PostgreSQL", 2, [0, 0], () => sql(`SELECT pg_terminate_backend(pid) ${CLIENTS}`)),
    kind(
      "end some sessions of PostgreSQL",
      3,
      [0, 0],
      () => sql(`SELECT pg_terminate_backend(pid) ${CLIENTS} AND random() < 0.2`),
    ),
    kind("cancel statements of PostgreSQL", 3, [0, 0], () => sql(`SELECT pg_cancel_backend(pid) ${CLIENTS}`)),
    kind("analyze and vacuum", 1, [0, 0], () => sql("VACUUM ANALYZE")),
    ...(clock === undefined ? [] : [
      kind("jump of PostgreSQL's clock", 1, [0, 0], () => {
        incidents.jumped(JUMP_S);
        return Promise.resolve(clock.jump(JUMP_S));
      }),
    ]),
  ];
}
