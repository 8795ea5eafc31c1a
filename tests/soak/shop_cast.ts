/**
 * The programs of a soak of the example shop: two built-in workers with their dashboards, and a worker each in Node and Python that
 * reaches either of them.
 *
 * @module
 */
import { Client } from "../../src/client/client.ts";
import { until } from "../support/eventually.ts";
import { freePort } from "../support/redis.ts";
import { requireTool } from "../support/tools.ts";
import { Cast } from "./cast.ts";
import type { Scene } from "./disturbance.ts";
import type { Ground } from "./ground.ts";
import { denoCommand } from "../../scripts/deno_command.ts";

const SERVERS = 2;
const REMOTES = [["node", "shop_worker.mjs"], ["python3", "shop_worker.py"]] as const;

/** The number of workers. */
export const SHOP_WORKERS: number = SERVERS + REMOTES.length;

/** The names of the disturbances, or parts of them. */
export const SHOP_DISTURBANCES: readonly string[] = [
  "kill a worker",
  "freeze past the timeout",
  "freeze for a moment",
  "stop a worker",
  "kill a pusher",
];

/** Starts the programs and ends them. */
export class ShopCast extends Cast {
  override async startWorkers(): Promise<void> {
    const { ground, incidents, heartbeatTimeoutMs, maxRescues, folder } = this.options;
    const ports = Array.from({ length: SERVERS }, freePort);
    const settings = { heartbeat: "300ms", heartbeatTimeout: `${heartbeatTimeoutMs}ms`, maxRescues };
    const env = { SOAK_JOURNAL: `${folder}/journal` };
    for (const [i, port] of ports.entries()) {
      const line = await ground.line();
      const args = [pathOf("shop_server.ts"), line.url, `${port}`, JSON.stringify(settings)];
      const command = denoCommand("run", "-A", "--no-check", ...args);
      this.targets.push({ program: this.program(`shop-${i + 1}`, command, env), line, kind: "plain" });
    }
    const servers = this.targets.slice(-SERVERS);
    for (const [runtime, file] of REMOTES) {
      const command = [requireTool(runtime), pathOf(file), ...ports.map((port) => `http://127.0.0.1:${port}`)];
      const line = { url: "", clear: () => {} };
      this.targets.push({ program: this.program(`shop-${runtime}`, command, env), line, kind: "remote" });
    }
    const remotes = this.targets.slice(-REMOTES.length);
    incidents.dependentsOf = (pid) =>
      servers.some(({ program }) => program.pid === pid) ? remotes.map(({ program }) => program.pid) : [];
    await until(
      async () => (await ground.store.workers.list()).length >= SHOP_WORKERS,
      () => `${SHOP_WORKERS} workers register; ${JSON.stringify(this.endings)}`,
      40_000,
    );
  }

  /** Ends the workers that reach the store through the others first. */
  override async stopWorkers(): Promise<void> {
    await this.close(this.targets.filter(({ kind }) => kind === "remote"));
    await super.stopWorkers();
  }

  /** They are among the workers. */
  override startRemotes(): Promise<void> {
    return Promise.resolve();
  }
}

function pathOf(file: string): string {
  return new URL(file, import.meta.url).pathname;
}

/** Enqueues a newsletter as a batch, whose readers' jobs are counted like those of pushers. */
export async function sendNewsletter(
  store: Ground["store"],
  readers: number,
  { note, batch }: Pick<Scene, "note" | "batch">,
): Promise<void> {
  await store.admin.configure("news", { limit: { starts: { count: 100, perMs: 1_000 } } });
  const client = new Client({ store, onUnregistered: () => {} });
  const issue = await client.batches.open({ name: "newsletter" });
  const args = Array.from({ length: readers }, (_, i) => [i + 1]);
  const results = await client.pushBulk({ class: "Newsletter", args, queue: "news", batch: issue.id });
  await issue.close();
  batch(issue.id, false);
  for (const { jid } of results) if (jid !== undefined) await note({ jid, class: "Newsletter", answer: "stored" });
}
