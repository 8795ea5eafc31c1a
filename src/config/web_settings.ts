/**
 * The settings of the dashboard: part of the table in `settings.ts`.
 *
 * @module
 */
import { optionalText, text, texts, yesOrNo } from "./kinds.ts";
import { setting } from "./setting.ts";

/** The rows. */
export const WEB_SETTINGS = {
  webListen: setting<string | undefined>({
    key: "web.listen",
    env: "JOBS_WEB",
    flag: "--web",
    kind: text,
    default: undefined,
    about: "jobs run: show the dashboard there, [HOST:]PORT; jobs web: 127.0.0.1:7433 when nobody says",
  }),
  webUsers: setting<readonly string[]>({
    key: "web.users",
    env: "JOBS_WEB_USERS",
    kind: texts,
    default: [],
    about: "who may log in: lines as jobs web --new-user NAME prints them; none: no login, on 127.0.0.1 only",
    secret: true,
  }),
  webReadOnly: setting<boolean>({
    key: "web.readOnly",
    env: "JOBS_WEB_READ_ONLY",
    flag: "--read-only",
    kind: yesOrNo,
    default: false,
    about: "nobody may act in the dashboard",
  }),
  webPrefix: setting<string | undefined>({
    key: "web.prefix",
    env: "JOBS_WEB_PREFIX",
    flag: "--prefix",
    kind: optionalText,
    default: undefined,
    about: "what stands before every path behind a reverse proxy: /jobs",
  }),
  webHosts: setting<readonly string[]>({
    key: "web.hosts",
    env: "JOBS_WEB_HOSTS",
    flag: "--host",
    kind: texts,
    default: [],
    about: "names under which the dashboard may be asked, besides localhost and addresses",
  }),
  webProxyHeader: setting<string | undefined>({
    key: "web.proxyHeader",
    env: "JOBS_WEB_PROXY_HEADER",
    kind: text,
    default: undefined,
    about: "the header in which a trusted proxy names the user; roles are as in web.users (* for all others)",
  }),
  webProxies: setting<readonly string[]>({
    key: "web.proxies",
    env: "JOBS_WEB_PROXIES",
    kind: texts,
    default: [],
    about: "addresses of trusted proxies, such as 127.0.0.1; that header and X-Forwarded-For of all others are ignored",
  }),
  webMask: setting<readonly string[]>({
    key: "web.mask",
    env: "JOBS_WEB_MASK",
    kind: texts,
    default: [],
    about: "names whose values are not shown, besides password, token, secret and the like",
  }),
} as const;
