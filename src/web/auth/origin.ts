/**
 * Where a request comes from, as far as a browser tells: the right host (else another site's name points at us), and for
 * an action our own page (else another site acts in its visitor's name).
 *
 * @module
 */

/** Names and addresses under which we may be asked. */
export class Hosts {
  readonly #names: ReadonlySet<string>;

  /** @param names host names, without port */
  constructor(names: readonly string[]) {
    this.#names = new Set(["localhost", ...names.map((name) => name.toLowerCase())]);
  }

  /** Whether a request with this `Host` is for us. An address is nobody's name: no other site can point it at us. */
  allows(host: string | undefined): boolean {
    const name = /^(\[[0-9a-f:.]+\]|[^:/@\s]+)(:\d{1,5})?$/i.exec(host ?? "")?.[1]?.toLowerCase();
    if (name === undefined) return false;
    return this.#names.has(name) || name.startsWith("[") || /^\d{1,3}(\.\d{1,3}){3}$/.test(name);
  }
}

/** What the browser says about the page that sends a request: ours, another's, or nothing (then it is no browser). */
export function senderOf(headers: Headers): "us" | "other" | "silent" {
  const site = headers.get("sec-fetch-site");
  if (site !== null) return site === "same-origin" ? "us" : "other";
  const origin = headers.get("origin");
  if (origin === null) return "silent";
  return URL.canParse(origin) && new URL(origin).host === headers.get("host")?.toLowerCase() ? "us" : "other";
}

/**
 * Returns what to set in a proxy when a request was refused only because the proxy cut the port off the `Host` header, as
 * `proxy_set_header Host $host` of nginx does; undefined otherwise.
 */
export function proxyHint(headers: Headers): string | undefined {
  const origin = headers.get("origin");
  if (origin === null || !URL.canParse(origin)) return undefined;
  const { hostname, port } = new URL(origin);
  if (port === "" || hostname !== headers.get("host")?.toLowerCase()) return undefined;
  return `behind a proxy, forward the Host header with its port ${port} (nginx: proxy_set_header Host $http_host)`;
}

/**
 * Whether another site's page reads this, rather than leads its visitor here. Browsers keep the answer from it; but it
 * would cost us the work, and a stream of events would stay.
 */
export function isReadFromElsewhere(headers: Headers): boolean {
  const site = headers.get("sec-fetch-site");
  return (site === "cross-site" || site === "same-site") && headers.get("sec-fetch-mode") !== "navigate";
}
