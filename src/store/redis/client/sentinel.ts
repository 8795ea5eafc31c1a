/**
 * Sentinels → the master they agree on.
 *
 * @module
 */
import { type Endpoint, type SentinelGroup, showEndpoint } from "./address.ts";
import { Connection, type DialOptions } from "./connection.ts";
import { ConnectionLost, reason } from "./errors.ts";

const SILENCE_MS = 2_000;

/**
 * Asks one Sentinel after the other for the master's address.
 *
 * @throws {ConnectionLost} when none of them knows it
 */
export async function findMaster(
  { master, nodes, login }: SentinelGroup,
  options: Pick<DialOptions, "name" | "tls">,
  signal: AbortSignal,
): Promise<Endpoint> {
  const failures: string[] = [];
  for (const node of nodes) {
    try {
      const endpoint = await ask(node);
      if (endpoint) return endpoint;
      failures.push(`${showEndpoint(node)} knows no master "${master}"`);
    } catch (error) {
      failures.push(`${showEndpoint(node)}: ${reason(error)}`);
    }
  }
  throw new ConnectionLost(`no Sentinel names the master "${master}" (${failures.join("; ")})`);

  async function ask(endpoint: Endpoint): Promise<Endpoint | undefined> {
    const connection = await Connection.dial(
      { ...options, endpoint, login, database: 0, silenceMs: SILENCE_MS },
      signal,
    );
    try {
      const answer = await connection.send(["SENTINEL", "GET-MASTER-ADDR-BY-NAME", master]);
      const [host, port] = answer as [string, string] | null ?? [];
      return host && port ? { host, port: Number(port) } : undefined;
    } finally {
      connection.destroy();
    }
  }
}
