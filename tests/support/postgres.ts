/**
 * A PostgreSQL cluster for tests, in a temporary folder and on a free port, which ends with the tests of its file.
 *
 *  1. {@linkcode startPostgres} starts one. It runs as another user if the test runs as root, which PostgreSQL refuses.
 *  2. A test can kill it, start it again with the same data, freeze it and continue it.
 *
 * @module
 */
import { until } from "./eventually.ts";
import { childrenOf, signal as sendSignal, stateOf } from "../soak/processes.ts";
import { freePort } from "./redis.ts";
import { MissingTool, requireTool } from "./tools.ts";

const FOLDER = "/usr/lib/postgresql";

/** A running cluster. */
export interface PostgresServer extends AsyncDisposable {
  readonly port: number;
  /** The temporary folder, with the socket. */
  readonly dir: string;
  /** Returns the address of a database, or that of a proxy on another port. */
  url(database?: string, port?: number): string;
  /** Creates an empty database. Returns its name. */
  create(): Promise<string>;
  /** Runs statements with `psql`, and returns what it printed: columns separated by `|`. */
  sql(text: string, database?: string): Promise<string>;
  /** The version of the server. */
  readonly version: string;
  /** Kills the server and its backends with KILL, as a crash does. */
  kill(): Promise<void>;
  /** Starts the server again after {@linkcode kill}. */
  start(): Promise<void>;
  /** Sends the server and its backends a signal: `SIGSTOP` freezes them. */
  signal(signal: Deno.Signal): void;
}

/** Options of the server. */
export interface PostgresOptions {
  /** Settings, as in `postgresql.conf`. */
  readonly config?: Readonly<Record<string, string>>;
  /** Runs it with the settings that it is installed with, which sync each commit to the disk. Default: those for tests. */
  readonly asInstalled?: boolean;
  /** Copies the data of another server, and follows it: an asynchronous replica, which only reads. */
  readonly replicaOf?: {
    readonly server: PostgresServer;
    /** The port that it follows: that of a proxy. */
    readonly port: number;
  };
  /** For the environment of the server. */
  readonly env?: Readonly<Record<string, string>>;
}

/** Returns the folder of the newest installed version. @throws {MissingTool} */
function programs(): string {
  requireTool("psql");
  try {
    const versions = Array.from(Deno.readDirSync(FOLDER), ({ name }) => Number(name)).filter((version) =>
      version >= 14
    );
    if (versions.length > 0) return `${FOLDER}/${Math.max(...versions)}/bin`;
  } catch {
    // Not installed.
  }
  throw new MissingTool("postgresql required");
}

/**
 * Makes the data of a new cluster. `make test` makes them once, next to its bundle, and copies them: initdb takes more than a second
 * of a processor.
 */
async function makeData(path: string, bin: string, run: (args: readonly string[]) => Promise<string>): Promise<void> {
  const init = (data: string) =>
    run([`${bin}/initdb`, "-D", data, "-U", "postgres", "--auth=trust", "-E", "UTF8", "--locale=C", "-N"]);
  const bundle = Deno.env.get("TEST_JOBS_MAIN");
  if (bundle === undefined) return void await init(path);
  const folder = bundle.replace(/[^/]*$/, "postgres");
  {
    using lock = await Deno.open(`${folder}.lock`, { create: true, write: true });
    await lock.lock(true);
    const isMade = await Deno.stat(`${folder}/made`).then(() => true, () => false);
    if (!isMade) {
      await Deno.mkdir(folder, { recursive: true });
      if (Deno.uid() === 0) await new Deno.Command("chown", { args: ["65534", folder] }).output();
      await run(["rm", "-rf", `${folder}/data`]); // of a test that was ended
      await init(`${folder}/data`);
      await run(["touch", `${folder}/made`]);
    }
  }
  await run(["cp", "-a", `${folder}/data`, path]);
}

/** Starts a cluster. @throws {MissingTool} if PostgreSQL is missing */
export async function startPostgres(
  { config = {}, asInstalled = false, replicaOf, env = {} }: PostgresOptions = {},
): Promise<PostgresServer> {
  const bin = programs();
  const dir = await Deno.makeTempDir({ prefix: "jobs-postgres-" });
  const asUser = Deno.uid() === 0
    ? ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "env", `HOME=${dir}`, "LC_ALL=C"]
    : ["env", "LC_ALL=C"];
  const run = async (args: readonly string[]): Promise<string> => {
    const [program, ...rest] = [...asUser, ...args];
    const { success, stdout, stderr } = await new Deno.Command(program!, { args: rest, stdin: "null" }).output();
    const text = new TextDecoder();
    if (!success) throw new Error(`${args[0]}: ${text.decode(stdout)}${text.decode(stderr)}`);
    return text.decode(stdout).trimEnd();
  };
  if (Deno.uid() === 0) await new Deno.Command("chown", { args: ["65534", dir] }).output();
  await Deno.chmod(dir, 0o755);
  if (replicaOf === undefined) await makeData(`${dir}/data`, bin, run);
  else {
    const { server } = replicaOf;
    const from = ["-h", server.dir, "-p", `${server.port}`, "-U", "postgres"];
    await run([`${bin}/pg_basebackup`, ...from, "-D", `${dir}/data`, "-c", "fast", "-N"]);
    await run(["touch", `${dir}/data/standby.signal`]);
  }
  const port = freePort();
  const settings: Record<string, string> = {
    ...{ port: `${port}`, listen_addresses: "127.0.0.1", unix_socket_directories: dir, max_connections: "200" },
    // A crash of the process loses nothing by that, only one of the machine.
    ...(!asInstalled &&
      { fsync: "off", full_page_writes: "off", jit: "off", shared_buffers: "64MB", log_min_messages: "fatal" }),
    ...(replicaOf && { primary_conninfo: `host=127.0.0.1 port=${replicaOf.port} user=postgres` }),
    ...config,
  };
  const lines = Object.entries(settings).map(([name, value]) => `${name} = '${value}'\n`).join("");
  await run(["sh", "-c", `cat >>"$0" <<'END'\n${lines}END`, `${dir}/data/postgresql.conf`]);
  let server: Deno.ChildProcess | undefined;
  let created = 0;
  const sql = (text: string, database = "postgres") =>
    run(["psql", "-h", dir, "-p", `${port}`, "-U", "postgres", "-AtqX", "-v", "ON_ERROR_STOP=1", "-c", text, database]);
  const signal = (name: Deno.Signal) => {
    if (server !== undefined) { for (const pid of [server.pid, ...childrenOf(server.pid)]) sendSignal(pid, name); }
  };
  const kill = async () => {
    if (server === undefined) return;
    // It starts no backend while those that it has are killed.
    sendSignal(server.pid, "SIGSTOP");
    const { pid, status } = server;
    await until(() => !"RSD".includes(stateOf(pid)), "the PostgreSQL server stands still");
    const backends = childrenOf(pid);
    signal("SIGKILL");
    await status;
    server = undefined;
    // A server doesn't start while one of the killed one's backends still has its memory.
    await until(() => backends.every((pid) => "ZX".includes(stateOf(pid))), "the killed backends end");
  };
  const start = async () => {
    const [program, ...rest] = [...asUser, `${bin}/postgres`, "-D", `${dir}/data`];
    const started = new Deno.Command(program!, { args: rest, env, stdin: "null", stdout: "null", stderr: "null" })
      .spawn();
    server = started;
    let ended: number | undefined;
    started.status.then(({ code }) => ended = code);
    await until(
      () => ended !== undefined || sql("SELECT 1").then(() => true, () => false),
      () => "the PostgreSQL server starts",
    );
    if (ended !== undefined) throw new Error(`PostgreSQL ended with code ${ended} when it was started`);
  };
  await start();
  return {
    port,
    dir,
    version: (await sql("SHOW server_version")).split(" ")[0]!,
    url: (database = "postgres", at = port) => `postgres://postgres@127.0.0.1:${at}/${database}`,
    async create() {
      const name = `t${created++}`;
      await sql(`CREATE DATABASE ${name}`);
      return name;
    },
    sql,
    kill,
    start,
    signal,
    async [Symbol.asyncDispose]() {
      await kill();
      await Deno.remove(dir, { recursive: true });
    },
  };
}
