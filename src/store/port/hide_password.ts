/**
 * Addresses of stores without their passwords.
 *
 * @module
 */

/** A parameter that may be a secret. */
const SECRET_PARAMETER = /([?&;][^=&;]*(?:pass|pwd|secret|token|auth|key)[^=&;]*=)[^&;]*/gi;

/**
 * Replaces the passwords of an address by `***`: also in one that isn't escaped, or that can't be read, because its scheme or its
 * slashes are missing. A path after `sqlite:` has none.
 */
export function hidePassword(url: string): string {
  if (/^sqlite:(?!\/\/[^/])/i.test(url)) return url;
  const [head] = /^[\s"'<]*(?:[a-z][a-z\d+.-]*:)?\/*/i.exec(url)!;
  const rest = url.slice(head.length);
  const end = rest.lastIndexOf("@");
  return head + (end < 0 ? withoutSecretPort(rest) : hideLogin(head, rest.slice(0, end)) + rest.slice(end))
    .replace(SECRET_PARAMETER, "$1***");
}

/** Hides a login. Without slashes and a colon it may be a password alone: the colon before it was taken for the scheme's. */
function hideLogin(head: string, login: string): string {
  const colon = login.indexOf(":");
  if (colon >= 0) return `${login.slice(0, colon)}:***`;
  return head.endsWith("//") && !/%3a/i.test(login) ? login : "***";
}

/** Hides what stands for a port and isn't one: of `redis://user:secret`, the host is missing. */
function withoutSecretPort(rest: string): string {
  const [hosts] = /^[^/?#]*/.exec(rest)!;
  const hidden = hosts.split(",").map((host) => host.replace(/^(\[[^\]]*\]|[^:[]*):(?!\d{1,5}$).+$/s, "$1:***"));
  return hidden.join(",") + rest.slice(hosts.length);
}
