/**
 * Parses `postgres://` addresses: `postgres://[USER[:PASSWORD]@]HOST[:PORT][,HOST[:PORT]]/DATABASE`. Parameters:
 *
 * - `schema`: the schema with the tables, `jobs` by default, so that several applications share a database
 * - `host`: the folder of the server's socket, instead of a host in the address
 * - `sslmode`: `disable`, `require` (no check of the certificate) or `verify-full`; by default TLS isn't used
 * - `prepare=false`: for poolers that don't support prepared statements, such as PgBouncer before 1.21
 * - `listen`: `HOST:PORT`, a direct address for notifications, because poolers drop them
 *
 * @module
 */
import { StoreError } from "../port/errors.ts";
import { hidePassword } from "../port/hide_password.ts";

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
  readonly tls: "require" | "verify-full" | undefined;
  readonly prepare: boolean;
  /** Where to listen for notifications, if not at `hosts`. */
  readonly listen: Endpoint | undefined;
}

const DEFAULT_PORT = 5432;
const FORM = "postgres://USER:PASSWORD@HOST[:PORT]/DATABASE";
const ADDRESS = /^postgres(?:ql)?:\/\/(?:([^@/?]*)@)?([^/?]*)(?:\/([^?]*))?(?:\?(.*))?$/;
const PARAMETERS = ["schema", "host", "sslmode", "prepare", "listen"];

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
    if (!PARAMETERS.includes(name)) {
      throw wrong(`unknown parameter "${name}", expected ${PARAMETERS.join(", ")}`);
    }
  }
  const socket = parameters.get("host");
  if (hosts === "" && socket === null) throw wrong(`missing host, expected ${FORM}`);
  const colon = login.indexOf(":");
  const user = decode(colon < 0 ? login : login.slice(0, colon));
  const database = decode(path) || user;
  if (database === "") throw wrong(`missing database, expected ${FORM}`);
  const schema = parameters.get("schema") ?? of.schema;
  if (!/^[a-z_][a-z0-9_]{0,50}$/.test(schema) || schema.startsWith("pg_")) {
    throw wrong(`schema "${schema}", expected lower-case letters, digits and _, at most 51`);
  }
  const listen = parameters.get("listen");
  return {
    shown,
    hosts: hosts === "" ? [{ host: socket!, port: DEFAULT_PORT }] : hosts.split(",").map((one) => {
      const endpoint = endpointIn(one, socket);
      if (endpoint === undefined) throw wrong(`host "${one}", expected HOST or HOST:PORT`);
      return endpoint;
    }),
    user: user || "postgres",
    password: colon < 0 ? undefined : decode(login.slice(colon + 1)),
    database,
    schema,
    tls: tlsIn(parameters.get("sslmode"), wrong),
    prepare: prepareIn(parameters.get("prepare"), wrong),
    listen: listen === null
      ? undefined
      : endpointIn(listen, null) ?? fail(wrong(`listen "${listen}", expected HOST:PORT`)),
  };
}

/** Returns an endpoint. With a socket's folder, only the port counts. */
function endpointIn(text: string, socket: string | null): Endpoint | undefined {
  const match = /^(\[[^\]]+\]|[^:[\]]*)(?::(\d{1,5}))?$/.exec(text);
  if (match === null || match[1] === "" && socket === null) return undefined;
  return { host: socket ?? match[1]!.replace(/^\[|\]$/g, ""), port: Number(match[2] ?? DEFAULT_PORT) };
}

function tlsIn(mode: string | null, wrong: (what: string) => StoreError): PostgresAddress["tls"] {
  if (mode === null || mode === "disable") return undefined;
  if (mode === "require" || mode === "verify-full") return mode;
  throw wrong(`sslmode "${mode}", expected disable, require or verify-full`);
}

function prepareIn(text: string | null, wrong: (what: string) => StoreError): boolean {
  if (text === null || text === "true" || text === "false") return text !== "false";
  throw wrong(`prepare "${text}", expected true or false`);
}

function fail(error: StoreError): never {
  throw error;
}
