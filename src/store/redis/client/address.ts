/**
 * Parses the Redis addresses that users write.
 *
 * - `redis://[USER:PASSWORD@]HOST[:PORT][/DB]`
 * - `rediss://…` the same over TLS; `?ca=PATH` names the authority's certificate (PEM) if the system doesn't have it
 * - `redis+unix:/PATH?db=N`, `redis+unix://USER:PASSWORD@/PATH?db=N`
 * - `redis+sentinel://[USER:PASSWORD@]HOST[:PORT],HOST[:PORT],…/MASTER[/DB]`, with the master's user and password; the
 *   login to the Sentinels is `?sentinel_user=…&sentinel_password=…`. `?tls=true&ca=PATH` for TLS to both
 *
 * @module
 */
import { hidePassword } from "../../port/hide_password.ts";
import { StoreError } from "../../port/errors.ts";

/** The address that a server listens on. */
export type Endpoint =
  | { readonly host: string; readonly port: number }
  | { readonly path: string };

/** The login to a server. */
export interface Login {
  readonly username?: string;
  readonly password?: string;
}

/** Sentinels, and the name of the master that they monitor. */
export interface SentinelGroup {
  readonly master: string;
  readonly nodes: readonly Endpoint[];
  readonly login: Login;
}

/** A parsed address. */
export interface RedisAddress {
  /** The address without passwords, for logs and messages. */
  readonly shown: string;
  /** The server, or the Sentinels that monitor it. */
  readonly server: Endpoint | SentinelGroup;
  readonly login: Login;
  readonly database: number;
  /** Present: TLS; `ca` is the path of the authority's certificate. */
  readonly tls?: { readonly ca?: string };
}

const DEFAULT_PORT = 6379;
const DEFAULT_SENTINEL_PORT = 26379;
const ADDRESS = /^(redis|rediss|redis\+unix|redis\+sentinel):(?:\/\/)?(?:([^@/?]*)@)?([^/?]*)(\/[^?]*)?(?:\?(.*))?$/;

/**
 * Parses an address.
 *
 * @throws {StoreError} `wrong`, with the invalid part
 */
export function parseAddress(url: string): RedisAddress {
  const match = ADDRESS.exec(url);
  if (!match) throw wrong(hideLogin(url), "expected redis://[USER:PASSWORD@]HOST[:PORT][/DB]");
  const [, scheme, user, hosts = "", path = "", query = ""] = match;
  // The text before a later "@" may be part of a password: it must not appear in the message.
  if (hosts.includes("@") || path.includes("@") && scheme !== "redis+unix") throw unescaped(url);
  const parameters = readQuery(query, url);
  const shown = withoutPasswords(url);
  const login = readLogin(user, shown);
  const common = { shown, login, ...readTls(scheme!, parameters) };
  switch (scheme) {
    case "redis+unix":
      if (hosts !== "" || path.length < 2) throw wrong(shown, "expected redis+unix:/PATH, the socket's absolute path");
      return {
        ...common,
        server: { path: decode(path, shown) },
        database: readDatabase(parameters.get("db"), shown),
      };
    case "redis+sentinel": {
      const [master = "", database] = path.slice(1).split("/");
      if (master === "") throw wrong(shown, "missing master name, expected redis+sentinel://HOST,HOST/MASTER");
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

/** Returns an endpoint as users write it. */
export function showEndpoint(endpoint: Endpoint): string {
  return "path" in endpoint ? endpoint.path : `${endpoint.host}:${endpoint.port}`;
}

function withoutPasswords(url: string): string {
  return url
    .replace(/^([a-z+]+:(?:\/\/)?)([^@/?:]*):[^@/?]*@/, (_, scheme, user) => user ? `${scheme}${user}@` : scheme)
    .replace(/([?&])sentinel_password=[^&]*&?/, "$1")
    .replace(/[?&]$/, "");
}

/** Hides everything up to the last "@": a password that isn't escaped may end there. */
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
        `unknown parameter "${name}", expected one of ${PARAMETERS.map((known) => `"${known}"`).join(", ")}`,
      );
    }
  }
  return parameters;
}

function readLogin(user: string | undefined, shown: string): Login {
  if (user === undefined || user === "") return {};
  const colon = user.indexOf(":");
  if (colon < 0) throw wrong(shown, "missing password, expected USER:PASSWORD@, or :PASSWORD@ for the default user");
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
  if (!match || port < 1 || port > 65_535) {
    throw wrong(shown, `invalid host "${hidePassword(`//${text}`).slice(2)}", expected HOST or HOST:PORT`);
  }
  return { host: match[1]!.replace(/^\[(.*)\]$/, "$1") || "localhost", port };
}

function readDatabase(text: string | undefined, shown: string): number {
  if (text === undefined || text === "") return 0;
  if (!/^\d+$/.test(text)) throw wrong(shown, `invalid database "${text}", expected a number`);
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
    throw wrong(shown, 'invalid "%", expected two hex digits after it; write %25 for a "%"');
  }
}

function unescaped(url: string): StoreError {
  return wrong(hideLogin(url), 'in the user and password, write %2F for a "/", %3F for a "?", %40 for an "@"');
}

function wrong(shown: string, why: string): StoreError {
  return new StoreError("wrong", `Cannot use the address "${hidePassword(shown)}": ${why}`);
}
