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
  return URL.canParse(origin) && new URL(origin).host === headers.get("host")?.toLowerCase() ? "same" : "cross";
}

/**
 * Returns the setting that a proxy needs if a request was refused only because the proxy removed the port from the `Host`
 * header, as nginx does with `proxy_set_header Host $host`; undefined otherwise.
 */
export function proxyHint(headers: Headers): string | undefined {
  const origin = headers.get("origin");
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
