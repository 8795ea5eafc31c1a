/**
 * Checks where a request comes from, by the headers that browsers set. The host must be this dashboard's: otherwise another
 * site's name may point at it. An action must come from this dashboard's page: otherwise another site may act in its
 * visitor's name.
 *
 * @module
 */

/** The names and addresses under which the dashboard is reached. */
export class Hosts {
  readonly #names: ReadonlySet<string>;

  /** @param names host names, without port */
  constructor(names: readonly string[]) {
    this.#names = new Set(["localhost", ...names.map((name) => name.toLowerCase())]);
  }

  /** Returns whether `Host` names this dashboard. Addresses always do: no other site can redirect an address. */
  allows(host: string | undefined): boolean {
    const name = /^(\[[0-9a-f:.]+\]|[^:/@\s]+)(:\d{1,5})?$/i.exec(host ?? "")?.[1]?.toLowerCase();
    if (name === undefined) return false;
    return this.#names.has(name) || name.startsWith("[") || /^\d{1,3}(\.\d{1,3}){3}$/.test(name);
  }
}

/** Returns whether a page of this dashboard sent a request, or one of another site. `none`: the sender isn't a browser. */
export function requestOrigin(headers: Headers): "same" | "cross" | "none" {
  const site = headers.get("sec-fetch-site");
  if (site !== null) return site === "same-origin" ? "same" : "cross";
  const origin = headers.get("origin");
  if (origin === null) return "none";
  return isHostOf(headers.get("host"), origin) ? "same" : "cross";
}

/** Returns whether `Host` is that of an origin. The default port may be missing in either: 443 of https, 80 of http. */
function isHostOf(host: string | null, origin: string): boolean {
  if (host === null || /[/?#@\\\s]/.test(host) || !URL.canParse(origin)) return false;
  const { protocol, host: expected } = new URL(origin);
  const url = `${protocol}//${host}`;
  return expected !== "" && URL.canParse(url) && new URL(url).host === expected;
}

/**
 * Returns what to do if a request was refused although it may come from this dashboard's page: a proxy removed the port from the
 * `Host` header, as nginx does with `proxy_set_header Host $host`, or the browser doesn't name the page; undefined otherwise.
 */
export function originHint(headers: Headers): string | undefined {
  const origin = headers.get("origin");
  if (origin === "null") {
    return "the browser sent Origin: null; open the dashboard in a window, not in a sandboxed frame, and let the proxy pass on " +
      "its header Referrer-Policy: same-origin";
  }
  if (origin === null || !URL.canParse(origin)) return undefined;
  const { hostname, port } = new URL(origin);
  if (port === "" || hostname !== headers.get("host")?.toLowerCase()) return undefined;
  return `behind a proxy, forward the Host header with its port ${port} (nginx: proxy_set_header Host $http_host)`;
}

/**
 * Returns whether a page of another site reads this, rather than links to it. Browsers hide the response from that page,
 * but this process would do the work, and an event stream would stay open.
 */
export function isCrossSiteRead(headers: Headers): boolean {
  const site = headers.get("sec-fetch-site");
  return (site === "cross-site" || site === "same-site") && headers.get("sec-fetch-mode") !== "navigate";
}
