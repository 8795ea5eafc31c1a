/**
 * Parses `postgres://` addresses: `postgres://[USER[:PASSWORD]@]HOST[:PORT][,HOST[:PORT]]/DATABASE`. Parameters:
 *
 * - `schema`: the schema with the tables, `jobs` by default, so that several applications share a database
 * - `host`: the folder of the server's socket, instead of a host in the address
 * - `sslmode`: `disable`, `prefer`, `require` (no check of the certificate), `verify-ca` or `verify-full`; by default TLS isn't used
 * - `sslrootcert`, or `ca` as for Redis: the file of the authority's certificate; `sslcert` and `sslkey`: those of the client's
 * - `prepare=false`: for poolers that don't support prepared statements, such as PgBouncer before 1.21
 * - `listen`: `HOST:PORT`, a direct address for notifications, because poolers drop them
 * - `connections`: how many a process may have
 * - `user`, `password`, `dbname`, `port`, `application_name`, `connect_timeout` and `options`, as in libpq
 *
 * Other parameters of libpq are ignored: providers print them in their addresses.
 *
 * @module
 */
import { StoreError } from "../port/errors.ts";
import { hidePassword } from "../port/hide_password.ts";
import type { SslMode, Tls } from "./tls.ts";

/** A host and its port. For a socket, the host is its folder. */
export interface Endpoint {
  readonly host: string;
  readonly port: number;
}

/** A parsed address. */
export interface PostgresAddress {
  /** The address without its password. */
  readonly shown: string;
  /** Several: the first that accepts writes is used. */
  readonly hosts: readonly Endpoint[];
  readonly user: string;
  readonly password: string | undefined;
  readonly database: string;
  readonly schema: string;
  readonly tls: Tls | undefined;
  readonly prepare: boolean;
  /** Where to listen for notifications, if not at `hosts`. */
  readonly listen: Endpoint | undefined;
  /** The connections that all parts of a process may have together; undefined for the default. */
  readonly connections: number | undefined;
  readonly applicationName: string;
  /** How long a connection may take, in seconds. */
  readonly connectTimeoutS: number;
  /** Settings of each session: `-c NAME=VALUE`. */
  readonly options: string | undefined;
  /** Parameters without an effect. */
  readonly ignored: readonly string[];
}

const DEFAULT_PORT = 5432;
const FORM = "postgres://USER:PASSWORD@HOST[:PORT]/DATABASE";
const ADDRESS = /^postgres(?:ql)?:\/\/(?:([^@/?]*)@)?([^/?]*)(?:\/([^?]*))?(?:\?(.*))?$/;
const DEFAULT_CONNECT_TIMEOUT_S = 5;
const MAX_CONNECT_TIMEOUT_S = 300;
/** Those that users write, and then libpq's. */
const OWN = ["schema", "host", "sslmode", "sslrootcert", "sslcert", "sslkey", "prepare", "listen", "connections"];
const TAKEN = new Set([
  ...OWN,
  ...[
    "ca",
    "user",
    "password",
    "dbname",
    "port",
    "application_name",
    "connect_timeout",
    "options",
    "target_session_attrs",
  ],
]);
/** Parameters of libpq that the driver has no equivalent for, or that have no meaning here. */
const IGNORED = new Set([
  ...[
    "channel_binding",
    "client_encoding",
    "fallback_application_name",
    "gssdelegation",
    "gssencmode",
    "gsslib",
    "hostaddr",
  ],
  ...["keepalives", "keepalives_count", "keepalives_idle", "keepalives_interval", "krbsrvname", "load_balance_hosts"],
  ...[
    "max_protocol_version",
    "min_protocol_version",
    "passfile",
    "replication",
    "require_auth",
    "requirepeer",
    "requiressl",
  ],
  ...[
    "scram_client_key",
    "scram_server_key",
    "service",
    "servicefile",
    "ssl_max_protocol_version",
    "ssl_min_protocol_version",
  ],
  ...[
    "sslcertmode",
    "sslcompression",
    "sslcrl",
    "sslcrldir",
    "sslkeylogfile",
    "sslnegotiation",
    "sslsni",
    "tcp_user_timeout",
  ],
  ...["oauth_issuer", "oauth_client_id", "oauth_client_secret", "oauth_scope"],
]);

/**
 * Parses an address.
 *
 * @param of what it is the address of, and the schema that it has without `schema`
 * @throws {StoreError} `wrong`, with the invalid part
 */
export function parseAddress(url: string, of = { what: "store", schema: "jobs" }): PostgresAddress {
  const shown = hidePassword(url);
  const invalid = `Invalid ${of.what} "${shown}"`;
  const wrong = (what: string) => new StoreError("wrong", `${invalid}: ${what}`);
  const match = ADDRESS.exec(url);
  if (match === null || match[2]!.includes("@")) {
    throw wrong(`expected ${FORM}, with special characters of the password as %40`);
  }
  const decode = (text: string) => {
    try {
      return decodeURIComponent(text);
    } catch {
      throw wrong("it has an invalid percent escape");
    }
  };
  const [, login = "", hosts = "", path = "", query = ""] = match;
  const parameters = new URLSearchParams(query);
  for (const name of parameters.keys()) {
    if (!TAKEN.has(name) && !IGNORED.has(name)) {
      throw wrong(`unknown parameter "${name}", expected ${OWN.join(", ")}, or another one of libpq`);
    }
  }
  const socket = parameters.get("host");
  if (hosts === "" && socket === null) throw wrong(`missing host, expected ${FORM}`);
  const colon = login.indexOf(":");
  const user = decode(colon < 0 ? login : login.slice(0, colon)) || (parameters.get("user") ?? "");
  const database = decode(path) || parameters.get("dbname") || user;
  if (database === "") throw wrong(`missing database, expected ${FORM}`);
  const schema = parameters.get("schema") ?? of.schema;
  if (!/^[a-z_][a-z0-9_]{0,50}$/.test(schema) || schema.startsWith("pg_")) {
    throw wrong(`schema "${schema}", expected lower-case letters, digits and _, at most 51`);
  }
  const listen = parameters.get("listen");
  const port = numberIn("port", parameters.get("port"), DEFAULT_PORT, 65_535, wrong);
  const target = parameters.get("target_session_attrs") ?? "read-write";
  if (!["read-write", "primary", "any"].includes(target)) {
    throw wrong(`target_session_attrs "${target}", expected read-write: a store is written to`);
  }
  return {
    shown,
    hosts: hosts === "" ? [{ host: socket!, port }] : hosts.split(",").map((one) => {
      const endpoint = endpointIn(one, socket, port);
      if (endpoint === undefined) throw wrong(`host "${one}", expected HOST or HOST:PORT`);
      return endpoint;
    }),
    user: user || "postgres",
    password: colon < 0 ? parameters.get("password") ?? undefined : decode(login.slice(colon + 1)),
    database,
    schema,
    tls: tlsIn(parameters, wrong),
    prepare: prepareIn(parameters.get("prepare"), wrong),
    listen: listen === null
      ? undefined
      : endpointIn(listen, null) ?? fail(wrong(`listen "${listen}", expected HOST:PORT`)),
    connections: parameters.has("connections")
      ? numberIn("connections", parameters.get("connections"), 1, 1_000, wrong)
      : undefined,
    applicationName: parameters.get("application_name") || "jobs",
    connectTimeoutS: numberIn(
      "connect_timeout",
      // libpq waits for any time with 0.
      parameters.get("connect_timeout")?.replace(/^0$/, String(MAX_CONNECT_TIMEOUT_S)) ?? null,
      DEFAULT_CONNECT_TIMEOUT_S,
      MAX_CONNECT_TIMEOUT_S,
      wrong,
    ),
    options: parameters.get("options") ?? undefined,
    ignored: [...new Set(parameters.keys())].filter((name) => IGNORED.has(name)),
  };
}

/** Returns an endpoint. With a socket's folder, only the port counts. */
function endpointIn(text: string, socket: string | null, defaultPort = DEFAULT_PORT): Endpoint | undefined {
  const match = /^(\[[^\]]+\]|[^:[\]]*)(?::(\d{1,5}))?$/.exec(text);
  if (match === null || match[1] === "" && socket === null) return undefined;
  return { host: socket ?? match[1]!.replace(/^\[|\]$/g, ""), port: Number(match[2] ?? defaultPort) };
}

function tlsIn(parameters: URLSearchParams, wrong: (what: string) => StoreError): Tls | undefined {
  const ca = parameters.get("sslrootcert") ?? parameters.get("ca");
  const [cert, key] = [parameters.get("sslcert"), parameters.get("sslkey")];
  if ((cert === null) !== (key === null)) {
    throw wrong(`${cert === null ? "sslkey without sslcert" : "sslcert without sslkey"}, expected both or none`);
  }
  // Certificates without a mode: they are to be used.
  const mode = parameters.get("sslmode") ?? (ca !== null || cert !== null ? "verify-full" : "disable");
  if (mode === "disable") return undefined;
  if (!isSslMode(mode)) {
    throw wrong(`sslmode "${mode}", expected disable, prefer, require, verify-ca or verify-full`);
  }
  if (mode === "prefer" && (ca !== null || cert !== null)) {
    throw wrong("sslmode prefer with certificates, expected verify-full or require");
  }
  return { mode, ...(ca !== null && ca !== "system" && { ca }), ...(cert !== null && { cert, key: key! }) };
}

function isSslMode(text: string): text is SslMode {
  return ["prefer", "require", "verify-ca", "verify-full"].includes(text);
}

/** Returns a number from 1 to `max`. */
function numberIn(
  name: string,
  text: string | null,
  otherwise: number,
  max: number,
  wrong: (what: string) => StoreError,
): number {
  if (text === null || text === "") return otherwise;
  const number = Number(text);
  if (/^\d+$/.test(text) && number >= 1 && number <= max) return number;
  throw wrong(`${name} "${text}", expected a number from 1 to ${max}`);
}

function prepareIn(text: string | null, wrong: (what: string) => StoreError): boolean {
  if (text === null || text === "true" || text === "false") return text !== "false";
  throw wrong(`prepare "${text}", expected true or false`);
}

function fail(error: StoreError): never {
  throw error;
}
