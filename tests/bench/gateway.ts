/**
 * A gateway for the benchmarks: `jobs web` in a process by itself.
 *
 * @module
 */
import { freePort } from "../support/redis.ts";
import { until } from "../support/eventually.ts";
import { cpuMsOf, memoryOf, ROOT } from "./measure.ts";

/** A running gateway. */
export interface GatewayProcess extends AsyncDisposable {
  readonly url: string;
  /** Its processor time in milliseconds. */
  cpuMs(): Promise<number>;
  /** Its resident memory in bytes. */
  memory(): Promise<number>;
}

/** Starts a gateway on a store; resolves when it listens. */
export async function startGateway(store: string): Promise<GatewayProcess> {
  const port = freePort();
  const args = ["web", `127.0.0.1:${port}`, "--store", store];
  // From one address there are at most 500 connections, unless it is a proxy's.
  const env = { JOBS_LOG_LEVEL: "error", JOBS_WEB_PROXIES: "127.0.0.1" };
  const process = new Deno.Command(`${ROOT}jobs`, {
    args,
    env,
    stdin: "null",
    stdout: "null",
    stderr: "null",
  }).spawn();
  const url = `http://127.0.0.1:${port}`;
  const listens = async () => {
    const response = await fetch(`${url}/healthz`).catch(() => undefined);
    await response?.body?.cancel();
    return response?.ok === true;
  };
  await until(listens, "the gateway listens");
  return {
    url,
    cpuMs: () => cpuMsOf(process.pid),
    memory: () => memoryOf(process.pid),
    async [Symbol.asyncDispose]() {
      process.kill("SIGTERM");
      await process.status;
    },
  };
}
