/**
 * A Redis server for tests, on a free port and in a temporary folder, which ends with the test.
 *
 *  1. {@linkcode startRedis} starts one; append-only file, password, TLS and more by its options.
 *  2. A test can kill it, start it again on the same port with the same data, freeze it and continue it.
 *  3. {@linkcode RedisServer.cli} sends commands without the project's client.
 *
 * @module
 */
import { until } from "./eventually.ts";
import { requireTool } from "./tools.ts";

/** Options of the server. */
export interface RedisServerOptions {
  /** Uses an append-only file with this `appendfsync`. Default: none, so that all data is lost with the process. */
  readonly aof?: "always" | "everysec";
  /** More settings, as in `redis.conf`. */
  readonly config?: Readonly<Record<string, string>>;
  /** Commands that it doesn't have, as at a managed service. */
  readonly renamed?: readonly string[];
  /** The last arguments of the command, for example `--sentinel`. */
  readonly args?: readonly string[];
  /** The server's program. Default: the `redis-server` on `PATH`. */
  readonly program?: string;
  /** Additional environment variables. */
  readonly env?: Readonly<Record<string, string>>;
}

/** A running server. */
export interface RedisServer extends AsyncDisposable {
  readonly port: number;
  /** The temporary folder of the server. */
  readonly dir: string;
  /** `redis://127.0.0.1:PORT/0`. */
  readonly url: string;
  /** Runs a command with `redis-cli`, and returns what it printed. */
  cli(...args: string[]): Promise<string>;
  /** Sends the process a signal. */
  signal(signal: Deno.Signal): void;
  /** Kills the server, as a crash does. */
  kill(): Promise<void>;
  /** Starts the server again after {@linkcode kill}. */
  start(): Promise<void>;
}

/** Starts a server. */
export async function startRedis(options: RedisServerOptions = {}): Promise<RedisServer> {
  requireTool("redis-server");
  const server = new Server(freePort(), await Deno.makeTempDir({ prefix: "jobs-redis-" }), options);
  await server.start();
  return server;
}

const FIRST_PORT = 10_000;
const PORT_BLOCKS = 200;
const PORTS_IN_BLOCK = 100;
const block = claimBlock();
let nextPort = Math.floor(Math.random() * PORTS_IN_BLOCK);

/** Listens on the first port of a block that no other process has, as long as this process runs. Returns that port. */
function claimBlock(): number {
  for (let tried = 0; tried < PORT_BLOCKS; tried++) {
    const port = FIRST_PORT + ((Deno.pid + tried) % PORT_BLOCKS) * PORTS_IN_BLOCK;
    const listener = listenOn(port);
    if (listener === undefined) continue;
    listener.unref();
    return port;
  }
  throw new Error(`No free block of ports from ${FIRST_PORT} on`);
}

/** Returns undefined if the port is taken. */
function listenOn(port: number): Deno.TcpListener | undefined {
  try {
    return Deno.listen({ hostname: "127.0.0.1", port });
  } catch (error) {
    if (error instanceof Deno.errors.AddrInUse) return undefined;
    throw error;
  }
}

/**
 * Returns a port on which nothing listens now. It is below those that the kernel gives to connections and to listeners
 * without a port (32,768 and above), and each process has a separate block: until the caller listens there, and while a
 * server that was killed is down, nothing else takes it.
 */
export function freePort(): number {
  for (let tried = 1; tried < PORTS_IN_BLOCK; tried++) {
    const port = block + 1 + nextPort++ % (PORTS_IN_BLOCK - 1);
    using listener = listenOn(port);
    if (listener !== undefined) return port;
  }
  throw new Error("No free port in this process's block");
}

class Server implements RedisServer {
  readonly port: number;
  readonly dir: string;
  readonly url: string;
  readonly #options: RedisServerOptions;
  #process: Deno.ChildProcess | undefined;
  #wasStarted = false;

  constructor(port: number, dir: string, options: RedisServerOptions) {
    this.port = port;
    this.dir = dir;
    this.url = `redis://127.0.0.1:${port}/0`;
    this.#options = options;
  }

  async start(): Promise<void> {
    const settings: Record<string, string> = {
      port: `${this.port}`,
      bind: "127.0.0.1",
      dir: this.dir,
      save: "",
      "repl-diskless-sync-delay": "0",
      loglevel: "warning",
      logfile: `${this.dir}/redis.log`,
      ...(this.#options.aof ? { appendonly: "yes", appendfsync: this.#options.aof } : {}),
      ...this.#options.config,
    };
    const lines = Object.entries(settings).map(([name, value]) => `${name} ${value === "" ? '""' : value}\n`);
    lines.push(...(this.#options.renamed ?? []).map((command) => `rename-command ${command} ""\n`));
    const file = `${this.dir}/redis.conf`;
    // A server that was started before may have changed its role since, and rewritten the file.
    if (!this.#wasStarted) await Deno.writeTextFile(file, lines.join(""));
    this.#wasStarted = true;
    this.#process = new Deno.Command(this.#options.program ?? "redis-server", {
      args: [file, ...this.#options.args ?? []],
      env: { ...this.#options.env },
      stdin: "null",
      stdout: "null",
      stderr: "null",
    }).spawn();
    await this.#answers();
  }

  /** Resolves when the server accepts connections. */
  async #answers(): Promise<void> {
    const port = Number(this.#options.config?.["tls-port"] ?? this.port);
    const connects = () =>
      Deno.connect({ hostname: "127.0.0.1", port }).then((connection) => (connection.close(), true), () => false);
    const log = () => Deno.readTextFile(`${this.dir}/redis.log`).catch(() => "it said nothing");
    await until(connects, async () => `the Redis server starts: ${await log()}`);
  }

  async cli(...args: string[]): Promise<string> {
    const command = new Deno.Command("redis-cli", { args: ["-p", `${this.port}`, ...args], stdin: "null" });
    const { stdout, stderr, success } = await command.output();
    const text = new TextDecoder().decode(stdout).replace(/\n$/, "");
    if (!success) throw new Error(`redis-cli ${args.join(" ")}: ${text}${new TextDecoder().decode(stderr)}`);
    return text;
  }

  signal(signal: Deno.Signal): void {
    this.#process?.kill(signal);
  }

  async kill(): Promise<void> {
    const process = this.#process;
    this.#process = undefined;
    if (!process) return;
    process.kill("SIGKILL");
    await process.status;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill();
    await Deno.remove(this.dir, { recursive: true });
  }
}
