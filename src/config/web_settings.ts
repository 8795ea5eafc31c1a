/**
 * The settings of the dashboard: part of the table in `settings.ts`.
 *
 * @module
 */
import { optionalText, text, texts, wholeNumber, yesOrNo } from "./kinds.ts";
import { setting } from "./setting.ts";

export const WEB_SETTINGS = {
  webListen: setting<string | undefined>({
    key: "web.listen",
    flag: "--web",
    kind: text,
    default: undefined,
    about: "address of the dashboard, [HOST:]PORT; jobs run serves none by default, jobs web 127.0.0.1:7433",
  }),
  webUsers: setting<readonly string[]>({
    key: "web.users",
    kind: texts,
    default: [],
    about: "users of the dashboard: lines that jobs web --new-user prints; without users, 127.0.0.1 only and no login",
    secret: true,
  }),
  webReadOnly: setting<boolean>({
    key: "web.readOnly",
    flag: "--read-only",
    kind: yesOrNo,
    default: false,
    about: "disable all actions in the dashboard",
  }),
  webPrefix: setting<string | undefined>({
    key: "web.prefix",
    flag: "--prefix",
    kind: optionalText,
    default: undefined,
    about: "path under which a reverse proxy serves the dashboard, for example /jobs",
  }),
  webHosts: setting<readonly string[]>({
    key: "web.hosts",
    flag: "--host",
    kind: texts,
    default: [],
    about: "allowed Host header values, in addition to localhost and IP addresses",
  }),
  webProxyHeader: setting<string | undefined>({
    key: "web.proxyHeader",
    kind: text,
    default: undefined,
    about: "header in which a trusted proxy names the user; roles come from web.users (* for all other users)",
  }),
  webProxies: setting<readonly string[]>({
    key: "web.proxies",
    kind: texts,
    default: [],
    about: "addresses of trusted proxies, for example 127.0.0.1; others can't set that header or X-Forwarded-For",
  }),
  webTokenRate: setting<number>({
    key: "web.tokenRate",
    kind: wholeNumber(0, 1_000_000),
    default: 100,
    about: "how many requests per second each API token may send, ten times as many at once; 0 for any number",
  }),
  webMask: setting<readonly string[]>({
    key: "web.mask",
    kind: texts,
    default: [],
    about: "hide the values of fields with these names, in addition to password, token, secret and similar ones",
  }),
  webTraceUrl: setting<string | undefined>({
    key: "web.traceUrl",
    kind: optionalText,
    default: undefined,
    about: "link from a job to its trace, for example https://jaeger.example.com/trace/{traceId}",
  }),
} as const;
