import { assertEquals, assertThrows } from "@std/assert";
import { ConfigError } from "./load.ts";
import { readServerSettings, type ServerSettings } from "./program_settings.ts";
import { defaultSettings, SETTINGS } from "./settings.ts";

const WORKER = { hasWeb: true, isSilent: false };

/** Each setting of the type, with a value that is not its default. */
const ALL: Required<ServerSettings> = {
  concurrency: 5,
  queues: ["a,2", "b"],
  durability: "normal",
  sidekiqWire: 8,
  exec: [{ class: "Thumbnail", exec: ["./thumb.sh"] }],
  http: [{ name: "cleanup", url: "https://app.example.com/cleanup" }],
  outbox: "postgres://db/app",
  webhooks: [{ url: "https://app.example.com/events", on: ["dead"] }],
  reportUrl: "https://jobs.example.com",
  killAfter: 1,
  maxResultBytes: 1,
  cron: [{}],
  burst: true,
  maxJobs: 1,
  maxIdle: "1m",
  name: "mail",
  shutdownTimeout: "100ms",
  tag: "t",
  labels: ["a"],
  heartbeat: "1s",
  heartbeatTimeout: "1m",
  maxRescues: 1,
  maxRetries: 1,
  maxPayloadBytes: 2_000,
  retention: { deadJobs: 1, deadAge: "1d", results: "1h", failures: "1h", succeeded: "1h", events: "1h" },
  traceStyle: "child",
  log: { level: "warn", format: "json", file: "log" },
  web: {
    users: ["a"],
    readOnly: true,
    prefix: "/jobs",
    hosts: ["a"],
    proxyHeader: "X-User",
    proxies: ["127.0.0.1"],
    tokenRate: 1,
    mask: ["pin"],
    traceUrl: "https://jaeger.example.com/trace/{traceId}",
  },
};

Deno.test("takes each setting of a configuration file by its name and in its unit, but those without an effect", () => {
  const read: Record<string, unknown> = { ...readServerSettings(ALL, WORKER) };
  const defaults: Record<string, unknown> = { ...defaultSettings() };
  const unset = Object.entries(SETTINGS).filter(([name]) => read[name] === defaults[name]).map(([, { key }]) => key);
  assertEquals(
    [read["shutdownTimeoutMs"], read["killAfterMs"], read["queues"]],
    [100, 1_000, [{ name: "a", weight: 2 }, { name: "b", weight: 0 }]],
  );
  const without = ["store", "handlers", "isolate", "maxMemory", "maxJobsPerIsolatedProcess"];
  assertEquals(unset, [...without, "processes", "pidFile", "web.listen"]);
  for (const key of unset) {
    const given = key === "web.listen" ? { web: { listen: 7433 } } : { [key]: "1" };
    const { message } = assertThrows(() => readServerSettings(given as ServerSettings, WORKER), ConfigError);
    assertEquals(message.startsWith(`settings: "${key}" has no effect in a program: `), true, message);
  }
});

Deno.test("undefined is the default", () => {
  const given = { burst: undefined, log: { level: undefined }, web: undefined } as unknown as ServerSettings;
  assertEquals(readServerSettings(given, { hasWeb: false, isSilent: true }), defaultSettings());
});

Deno.test("refuses a setting that is unknown, invalid or without effect, in one line", () => {
  const line = (given: ServerSettings, context = WORKER) =>
    assertThrows(() => readServerSettings(given, context), ConfigError).message;
  const wrong: Record<string, ServerSettings> = {
    // @ts-expect-error: misspelled
    unknown: { concurency: 5 },
    // @ts-expect-error: no setting of a program
    processes: { processes: 2 },
    // @ts-expect-error: a text
    text: { concurrency: "5" },
    // @ts-expect-error: no list of users
    users: { web: { users: 7 } },
  };
  assertEquals(line(wrong["unknown"]!), 'settings: unknown key "concurency"; did you mean "concurrency"?');
  assertEquals(line(wrong["processes"]!).includes("has no effect in a program"), true);
  assertEquals(line(wrong["text"]!), 'settings: invalid "concurrency" "5": expected a whole number from 1 to 1000');
  assertEquals(line(wrong["users"]!).startsWith('settings: invalid "web.users" ***: expected '), true);
  assertEquals(
    line({ retention: { results: "soon" } }),
    'settings: invalid "retention.results" "soon": expected a duration such as 90 (seconds), 30s, 5m, 2h or 1d',
  );
  assertEquals(line({ heartbeat: 5, heartbeatTimeout: 6 }).includes("at least 3 times"), true);
  assertEquals(
    line({ web: { readOnly: true } }, { hasWeb: false, isSilent: false }),
    'settings: "web.readOnly" has no effect in a program: set the option "web" as well: the dashboard\'s address',
  );
  assertEquals(
    line({ log: { level: "warn" } }, { hasWeb: true, isSilent: true }),
    'settings: "log.level" has no effect in a program: the option "log" is false',
  );
});
