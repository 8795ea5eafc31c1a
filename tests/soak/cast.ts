/**
 * The programs of a soak: workers of several kinds, and pushers.
 *
 * @module
 */
import { until } from "../support/eventually.ts";
import { jobsCommand } from "../support/command.ts";
import { freePort } from "../support/redis.ts";
import { requireTool } from "../support/tools.ts";
import type { Target } from "./disturbance.ts";
import type { Ground } from "./ground.ts";
import type { Incidents } from "./incidents.ts";
import { type KindsName, QUEUES } from "./kinds.ts";
import { type Ending, Program } from "./program.ts";
import { ProxyLine } from "./proxy_line.ts";
import { denoCommand } from "../../scripts/deno_command.ts";

/** The options of the programs. */
export interface CastOptions {
  readonly ground: Ground;
  readonly incidents: Incidents;
  readonly folder: string;
  /** In the environment of every process, so that those left behind are found. */
  readonly id: string;
  readonly workers: number;
  readonly pushers: number;
  readonly rate: number;
  readonly seed: number;
  /** The kinds of jobs that pushers push. */
  readonly kinds: KindsName;
  readonly heartbeatTimeoutMs: number;
  readonly shutdownTimeoutMs: number;
  readonly maxRescues: number;
}

/** The kinds of workers, and their arguments after `jobs run`. */
const WORKERS: readonly { readonly kind: Target["kind"]; readonly args: readonly string[]; readonly count: number }[] =
  [
    { kind: "plain", args: ["-c", "8"], count: 1 },
    { kind: "isolated", args: ["-c", "5", "--isolate", "Away"], count: 1 },
    { kind: "several", args: ["-c", "5", "--processes", "2"], count: 2 },
    { kind: "plain", args: ["-c", "6"], count: 1 },
    { kind: "isolated", args: ["-c", "4", "--isolate", "Away,Nap"], count: 1 },
  ];
/** The workers in other runtimes, which reach the store through one of the gateways. */
const REMOTES = [["node", "remote.mjs"], ["python3", "remote.py"]] as const;
const HANDLERS = new URL("./handlers.js", import.meta.url).pathname;
const PUSHER = new URL("./pusher.ts", import.meta.url).pathname;
/** Has the imports of a program that is started from the sources. */

/** The number of workers in other runtimes. */
export const REMOTE_WORKERS: number = REMOTES.length;
/** The number of their gateways. */
export const GATEWAYS = 2;

/** Starts the programs and ends them. */
export class Cast implements AsyncDisposable {
  /** The workers, those in other runtimes last, their gateways, then the pushers. */
  readonly targets: Target[] = [];
  readonly #lines: ProxyLine[] = [];
  readonly options: CastOptions;

  constructor(options: CastOptions) {
    this.options = options;
  }

  /** Starts the workers; resolves when all of them have registered. */
  async startWorkers(): Promise<void> {
    const { workers, ground, heartbeatTimeoutMs, shutdownTimeoutMs, maxRescues } = this.options;
    const started = WORKERS.slice(0, workers);
    for (const [i, { kind, args }] of started.entries()) {
      const line = await ground.line();
      const command = [
        ...[
          ...jobsCommand(),
          "run",
          HANDLERS,
          "--store",
          line.url,
          "--shutdown-timeout",
          `${shutdownTimeoutMs}ms`,
          ...args,
        ],
        ...QUEUES.flatMap((queue) => ["--queue", queue]),
      ];
      const program = this.program(`worker-${i + 1}`, command, {
        JOBS_LOG_FORMAT: "json",
        JOBS_HEARTBEAT: "300ms",
        JOBS_HEARTBEAT_TIMEOUT: `${heartbeatTimeoutMs}ms`,
        JOBS_MAX_RESCUES: `${maxRescues}`,
        SOAK_JOURNAL: `${this.options.folder}/journal`,
      });
      this.targets.push({ program, line, kind });
    }
    const count = started.reduce((sum, { count }) => sum + count, 0);
    await until(async () => (await ground.store.workers.list()).length >= count, `${count} workers register`);
  }

  /** Starts the workers in other runtimes, and then their gateways; resolves when all of them have registered. */
  async startRemotes(): Promise<void> {
    const { ground, incidents, heartbeatTimeoutMs, shutdownTimeoutMs, maxRescues, folder } = this.options;
    const ports = Array.from({ length: GATEWAYS }, freePort);
    const urlOf = (port: number) => `http://127.0.0.1:${port}`;
    for (const [runtime, file] of REMOTES) {
      // Disturbances of the line are on the way to the first one only.
      const line = await ProxyLine.make(ports[0]!, urlOf);
      this.#lines.push(line);
      const urls = [line.url, ...ports.slice(1).map(urlOf)];
      const command = [requireTool(runtime), new URL(file, import.meta.url).pathname, ...urls];
      const program = this.program(`worker-${runtime}`, command, {
        SOAK_JOURNAL: `${folder}/journal`,
        SOAK_QUEUES: QUEUES.join(","),
        SOAK_SHUTDOWN_MS: `${shutdownTimeoutMs}`,
      });
      this.targets.push({ program, line, kind: "remote" });
    }
    const remotes = this.targets.slice(-REMOTES.length);
    for (const [i, port] of ports.entries()) {
      const line = await ground.line();
      const command = [...jobsCommand(), "web", `127.0.0.1:${port}`, "--store", line.url];
      const program = this.program(`gateway-${i + 1}`, command, {
        JOBS_LOG_FORMAT: "json",
        JOBS_HEARTBEAT: "300ms",
        JOBS_HEARTBEAT_TIMEOUT: `${heartbeatTimeoutMs}ms`,
        JOBS_MAX_RESCUES: `${maxRescues}`,
      });
      this.targets.push({ program, line, kind: "gateway" });
    }
    const gateways = this.targets.slice(-GATEWAYS);
    incidents.dependentsOf = (pid) =>
      gateways.some(({ program }) => program.pid === pid) ? remotes.map(({ program }) => program.pid) : [];
    const pids = remotes.map(({ program }) => program.pid);
    // On a busy machine one may already be offline when the next one registers.
    const registered = new Set<number>();
    await until(
      async () => {
        const workers = await ground.store.workers.list();
        for (const { pid } of workers) registered.add(pid);
        return pids.every((pid) => registered.has(pid));
      },
      () => `the workers of other runtimes register; ${JSON.stringify(this.endings)} ${pids}`,
      60_000,
    );
  }

  /** Starts the pushers. */
  async startPushers(): Promise<void> {
    const { pushers, ground, seed, rate, folder, kinds } = this.options;
    for (let i = 1; i <= pushers; i++) {
      const line = await ground.line();
      const args = [line.url, `${folder}/ledger-${i}`, String(seed + i), String(rate / pushers), kinds];
      const command = denoCommand("run", "-A", PUSHER, ...args);
      this.targets.push({ program: this.program(`pusher-${i}`, command, {}), line, kind: "pusher" });
    }
  }

  /** Ends the pushers. */
  async stopPushers(): Promise<void> {
    await this.close(this.targets.filter(({ kind }) => kind === "pusher"));
  }

  /** Ends the workers, and then their gateways. */
  async stopWorkers(): Promise<void> {
    await this.close(this.targets.filter(({ kind }) => kind !== "pusher" && kind !== "gateway"));
    await this.close(this.targets.filter(({ kind }) => kind === "gateway"));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.kill();
    for (const line of this.#lines) await line[Symbol.asyncDispose]();
  }

  /** Kills all programs that still run. */
  kill(): void {
    for (const { program } of this.targets) program.abandon();
  }

  /** Unrequested ends, and failed stops. */
  get endings(): Ending[] {
    return this.targets.flatMap(({ program }) => program.failures);
  }

  /** Ends programs. */
  async close(targets: readonly Target[]): Promise<void> {
    await Promise.all(targets.map(({ program }) => program.close()));
  }

  /** Starts a program of this soak. */
  program(name: string, command: readonly string[], env: Readonly<Record<string, string>>): Program {
    const { ground, incidents, folder, id } = this.options;
    return new Program({
      ...{ name, command, incidents },
      env: { ...ground.env, ...env, SOAK_ID: id },
      log: `${folder}/${name}.log`,
      readsInput: name.startsWith("pusher"),
    });
  }
}
