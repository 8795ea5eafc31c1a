/**
 * A PgBouncer in transaction mode in front of a PostgreSQL cluster, which ends with the tests of its file.
 *
 * @module
 */
import { until } from "./eventually.ts";
import type { PostgresServer } from "./postgres.ts";
import { freePort } from "./redis.ts";
import { requireTool } from "./tools.ts";

/** A running pooler. */
export interface Pooler extends AsyncDisposable {
  readonly port: number;
}

/**
 * Starts a pooler of all databases of a server.
 *
 * @param connections to the server, for each database
 * @throws {MissingTool} if PgBouncer is missing
 */
export async function startPooler(server: PostgresServer, connections: number): Promise<Pooler> {
  const program = requireTool("pgbouncer");
  const dir = await Deno.makeTempDir({ prefix: "jobs-pgbouncer-" });
  const port = freePort();
  await Deno.chmod(dir, 0o755);
  await Deno.writeTextFile(
    `${dir}/pgbouncer.ini`,
    `[databases]
* = host=127.0.0.1 port=${server.port} user=postgres
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = ${connections}
`,
  );
  // It refuses to run as root.
  const [command, ...asUser] = Deno.uid() === 0
    ? ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
    : ["env"];
  const args = [...asUser, program, `${dir}/pgbouncer.ini`];
  const child = new Deno.Command(command!, { args, stdin: "null", stdout: "null", stderr: "null" }).spawn();
  const connect = () => Deno.connect({ hostname: "127.0.0.1", port });
  await until(() => connect().then((connection) => (connection.close(), true), () => false), () => "PgBouncer starts");
  return {
    port,
    async [Symbol.asyncDispose]() {
      child.kill("SIGKILL");
      await child.status;
      await Deno.remove(dir, { recursive: true });
    },
  };
}
