/**
 * Finds the master through Sentinel.
 *
 * @module
 */
import { type Endpoint, type SentinelGroup, showEndpoint } from "./address.ts";
import { Connection, type ConnectOptions } from "./connection.ts";
import { ConnectionLost, reason } from "./errors.ts";

const REPLY_TIMEOUT_MS = 2_000;

/**
 * Returns the master's address from the first Sentinel that has one.
 *
 * @throws {ConnectionLost} if none of them has it
 */
export async function findMaster(
  { master, nodes, login }: SentinelGroup,
  options: Pick<ConnectOptions, "name" | "tls">,
  signal: AbortSignal,
): Promise<Endpoint> {
  const failures: string[] = [];
  for (const node of nodes) {
    try {
      const endpoint = await masterFrom(node);
      if (endpoint) return endpoint;
      failures.push(`${showEndpoint(node)} has no master "${master}"`);
    } catch (error) {
      failures.push(`${showEndpoint(node)}: ${reason(error)}`);
    }
  }
  throw new ConnectionLost(`no Sentinel has the master "${master}" (${failures.join("; ")})`);

  async function masterFrom(endpoint: Endpoint): Promise<Endpoint | undefined> {
    const connection = await Connection.connect(
      { ...options, endpoint, login, database: 0, replyTimeoutMs: REPLY_TIMEOUT_MS },
      signal,
    );
    try {
      const reply = await connection.send(["SENTINEL", "GET-MASTER-ADDR-BY-NAME", master]);
      const [host, port] = reply as [string, string] | null ?? [];
      return host && port ? { host, port: Number(port) } : undefined;
    } finally {
      connection.destroy();
    }
  }
}
