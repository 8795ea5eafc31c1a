/**
 * TLS to a server: the certificates that an address names, and whether those of the server are accepted.
 *
 * @module
 */
import { checkServerIdentity, type ConnectionOptions } from "node:tls";
import { StoreError } from "../port/errors.ts";
import type { PostgresAddress } from "./address.ts";

/** How the server's certificate is checked. The names are those of libpq. */
export type SslMode =
  /** TLS if the server has it; nothing is checked. */
  | "prefer"
  /** Nothing is checked, without a certificate of an authority. */
  | "require"
  /** The authority. */
  | "verify-ca"
  /** The authority, and the name or the address of the host. */
  | "verify-full";

/** The parameters of an address for TLS. The certificates and the key are paths. */
export interface Tls {
  readonly mode: SslMode;
  /** The authority's certificate, if the system doesn't have it. */
  readonly ca?: string;
  /** The client's certificate. */
  readonly cert?: string;
  readonly key?: string;
}

/** The texts of the files that an address names. */
export type TlsFiles = Pick<Tls, "ca" | "cert" | "key">;

/** The server doesn't offer TLS. */
export const NO_TLS = "NO_TLS";

/** Reads the files that an address names. @throws {StoreError} if one can't be read */
export function readTlsFiles({ tls, shown }: PostgresAddress): TlsFiles {
  const read = (name: string, path: string | undefined, head: RegExp) => {
    if (path === undefined) return undefined;
    const wrong = (why: string) => new StoreError("wrong", `Invalid store "${shown}": ${name} "${path}" ${why}`);
    let text: string;
    try {
      text = Deno.readTextFileSync(path);
    } catch (error) {
      throw wrong(`cannot be read: ${(error as Error).message}`);
    }
    if (!head.test(text)) throw wrong("isn't in PEM format");
    return text;
  };
  const files = {
    ca: read("sslrootcert", tls?.ca, /-----BEGIN (TRUSTED )?CERTIFICATE-----/),
    cert: read("sslcert", tls?.cert, /-----BEGIN CERTIFICATE-----/),
    key: read("sslkey", tls?.key, /-----BEGIN [A-Z ]*PRIVATE KEY-----/),
  };
  return Object.fromEntries(Object.entries(files).filter(([, text]) => text !== undefined));
}

/** Returns the driver's option. */
export function tlsOption({ mode }: Tls, files: TlsFiles): "prefer" | ConnectionOptions {
  if (mode === "prefer") return "prefer";
  return {
    ...files,
    // As in libpq: with a certificate of an authority, `require` checks it.
    rejectUnauthorized: mode !== "require" || files.ca !== undefined,
    // The runtime would check an address as if it were the name `localhost`. `this` are the options of the connection.
    checkServerIdentity(this: unknown, _, certificate) {
      if (mode !== "verify-full") return undefined;
      const { socket } = this as { readonly socket?: { readonly host?: string } };
      return checkServerIdentity(socket?.host ?? "", certificate);
    },
  };
}

/** Returns whether a connection failed because of a certificate, the server's or the client's. */
export function isCertificateError(code: string, message: string): boolean {
  return /CERT|LEAF_SIGNATURE|ISSUER|SELF_SIGNED/.test(code) ||
    !/^[0-9A-Z]{5}$/.test(code) && /certificate|self.signed/i.test(message);
}

/** Returns what to do about a rejected certificate. */
export function certificateCure(message: string): string {
  if (/expired/i.test(message)) return "renew it on the server";
  if (/altnames|not valid for name|CN: /i.test(message)) return "use a host that the certificate names";
  if (/alert/i.test(message)) return "add sslcert=FILE&sslkey=FILE with a certificate that the server accepts";
  return "add sslrootcert=FILE with the certificate of its authority to the address";
}
