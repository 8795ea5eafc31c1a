/**
 * A Redis address as people write it → what a connection needs.
 *
 * - `redis://[USER:PASSWORD@]HOST[:PORT][/DB]`
 * - `rediss://…` the same over TLS; `?ca=PATH` names the authority's certificate (PEM) when the system does not know it
 * - `redis+unix:/PATH?db=N`, `redis+unix://USER:PASSWORD@/PATH?db=N`
 * - `redis+sentinel://[USER:PASSWORD@]HOST[:PORT],HOST[:PORT],…/MASTER[/DB]`, where user and password are the master's;
 *   the Sentinels' own are `?sentinel_user=…&sentinel_password=…`. `?tls=true&ca=PATH` for TLS to both
 *
 * @module
 */
import { StoreError } from "../../port/errors.ts";

/** Where a server listens. */
export type Endpoint =
  | { readonly host: string; readonly port: number }
  | { readonly path: string };

/** Who we are to a server. */
export interface Login {
  readonly username?: string;
  readonly password?: string;
}

/** Sentinels, and the name of the master they watch. */
export interface SentinelGroup {
  readonly master: string;
  readonly nodes: readonly Endpoint[];
  readonly login: Login;
}

/** A parsed address. */
export interface RedisAddress {
  /** The address without passwords, for logs and people. */
  readonly shown: string;
  /** The server, or the Sentinels that know it. */
  readonly server: Endpoint | SentinelGroup;
  readonly login: Login;
  readonly database: number;
  /** Present: speak TLS; `ca` is the path of the authority's certificate. */
  readonly tls?: { readonly ca?: string };
}

const DEFAULT_PORT = 6379;
const DEFAULT_SENTINEL_PORT = 26379;
const ADDRESS = /^(redis|rediss|redis\+unix|redis\+sentinel):(?:\/\/)?(?:([^@/?]*)@)?([^/?]*)(\/[^?]*)?(?:\?(.*))?$/;

/**
 * Parses an address.
 *
 * @throws {StoreError} `wrong`, naming what is wrong with it
 */
export function parseAddress(url: string): RedisAddress {
  const match = ADDRESS.exec(url);
  if (!match) throw wrong(hideLogin(url), "it is not of the form redis://[USER:PASSWORD@]HOST[:PORT][/DB]");
  const [, scheme, user, hosts = "", path = "", query = ""] = match;
  // What stands before an "@" further on may be part of a password.
  if (hosts.includes("@") || path.includes("@") && scheme !== "redis+unix") throw unescaped(url);
  const parameters = readQuery(query, url);
  const shown = withoutPasswords(url);
  const login = readLogin(user, shown);
  const common = { shown, login, ...readTls(scheme!, parameters) };
  switch (scheme) {
    case "redis+unix":
      if (hosts !== "" || path.length < 2) throw wrong(shown, "write redis+unix:/PATH, with the socket's whole path");
      return {
        ...common,
        server: { path: decode(path, shown) },
        database: readDatabase(parameters.get("db"), shown),
      };
    case "redis+sentinel": {
      const [master = "", database] = path.slice(1).split("/");
      if (master === "") throw wrong(shown, "the master's name is missing: redis+sentinel://HOST,HOST/MASTER");
      return {
        ...common,
        server: {
          master: decode(master, shown),
          nodes: hosts.split(",").map((host) => readHost(host, DEFAULT_SENTINEL_PORT, shown)),
          login: compact({
            username: parameters.get("sentinel_user"),
            password: parameters.get("sentinel_password"),
          }),
        },
        database: readDatabase(parameters.get("db") ?? database, shown),
      };
    }
    default:
      return {
        ...common,
        server: readHost(hosts, DEFAULT_PORT, shown),
        database: readDatabase(parameters.get("db") ?? path.slice(1), shown),
      };
  }
}

/** An endpoint as people write it. */
export function showEndpoint(endpoint: Endpoint): string {
  return "path" in endpoint ? endpoint.path : `${endpoint.host}:${endpoint.port}`;
}

function withoutPasswords(url: string): string {
  return url
    .replace(/^([a-z+]+:(?:\/\/)?)([^@/?:]*):[^@/?]*@/, (_, scheme, user) => user ? `${scheme}${user}@` : scheme)
    .replace(/([?&])sentinel_password=[^&]*&?/, "$1")
    .replace(/[?&]$/, "");
}

/** Nothing up to the last "@": wherever a password ends that is not written as it must be. */
function hideLogin(url: string): string {
  return url.replace(/^([a-z+]+:(?:\/\/)?).*@/s, "$1***@");
}

const PARAMETERS = ["db", "ca", "tls", "sentinel_user", "sentinel_password"];

function readQuery(query: string, url: string): Map<string, string> {
  const parameters = new Map(new URLSearchParams(query));
  for (const name of parameters.keys()) {
    if (!PARAMETERS.includes(name)) {
      if (query.includes("@")) throw unescaped(url);
      throw wrong(
        withoutPasswords(url),
        `"${name}" after the "?" is unknown, it knows ${PARAMETERS.map((known) => `"${known}"`).join(", ")}`,
      );
    }
  }
  return parameters;
}

function readLogin(user: string | undefined, shown: string): Login {
  if (user === undefined || user === "") return {};
  const colon = user.indexOf(":");
  if (colon < 0) throw wrong(shown, "a user needs a password: USER:PASSWORD@, or :PASSWORD@ for the default user");
  return compact({
    username: decode(user.slice(0, colon), shown),
    password: decode(user.slice(colon + 1), shown),
  });
}

function readTls(scheme: string, parameters: ReadonlyMap<string, string>): Pick<RedisAddress, "tls"> {
  const ca = parameters.get("ca");
  if (scheme !== "rediss" && parameters.get("tls") !== "true") return {};
  return { tls: ca === undefined ? {} : { ca } };
}

function readHost(text: string, defaultPort: number, shown: string): Endpoint {
  const match = /^(\[[^\]]*\]|[^:]*)(?::(\d+))?$/.exec(text);
  const port = Number(match?.[2] ?? defaultPort);
  if (!match || port < 1 || port > 65_535) throw wrong(shown, `"${text}" is not HOST or HOST:PORT`);
  return { host: match[1]!.replace(/^\[(.*)\]$/, "$1") || "localhost", port };
}

function readDatabase(text: string | undefined, shown: string): number {
  if (text === undefined || text === "") return 0;
  if (!/^\d+$/.test(text)) throw wrong(shown, `"${text}" is not the number of a database`);
  return Number(text);
}

function compact(login: { username: string | undefined; password: string | undefined }): Login {
  return {
    ...(login.username ? { username: login.username } : {}),
    ...(login.password ? { password: login.password } : {}),
  };
}

function decode(text: string, shown: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw wrong(shown, 'a "%" in it is not followed by two hex digits: write %25 for one');
  }
}

function unescaped(url: string): StoreError {
  return wrong(hideLogin(url), 'write %2F for a "/" in its user or password, %3F for a "?", %40 for an "@"');
}

function wrong(shown: string, why: string): StoreError {
  return new StoreError("wrong", `Cannot use the address "${shown}": ${why}`);
}
