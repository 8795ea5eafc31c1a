import { assertEquals, assertRejects, assertThrows, equal } from "@std/assert";
import { defaultSettings, type Setting, SETTINGS } from "./settings.ts";
import { checkReloaded, ConfigError, configFiles, type ConfigSources, loadConfig, type LoadedConfig } from "./load.ts";

/** Sources of a test. Without content, the file is an empty object: tests never read the working directory. */
interface Given {
  readonly name?: string;
  readonly content?: string | object;
  readonly env?: Readonly<Record<string, string>>;
  readonly environment?: string;
  readonly flags?: ConfigSources["flags"];
}

/** Loads from a temporary file, and removes its folder from `file`, origins and messages. */
async function load(
  { name = "jobs.json", content = {}, env = {}, environment, flags = {} }: Given,
): Promise<LoadedConfig> {
  const folder = await Deno.makeTempDir({ prefix: "jobs-test-" });
  const bare = (text: string) => text.replaceAll(`${folder}/`, "");
  try {
    await Deno.writeTextFile(`${folder}/${name}`, typeof content === "string" ? content : JSON.stringify(content));
    const loaded = await loadConfig({ file: `${folder}/${name}`, env: (key) => env[key], environment, flags });
    return JSON.parse(bare(JSON.stringify(loaded)));
  } catch (error) {
    if (error instanceof ConfigError) error.message = bare(error.message);
    throw error;
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

async function refusal(given: Given): Promise<string> {
  const { message } = await assertRejects(() => load(given), ConfigError);
  assertEquals(message.includes("\n"), false, "one line");
  return message;
}

Deno.test("returns the defaults without any source", async () => {
  const { settings, origins, environment } = await load({});
  assertEquals(settings, JSON.parse(JSON.stringify(defaultSettings())));
  assertEquals(new Set(Object.values(origins)), new Set(["default"]));
  assertEquals(environment, "development");
});

Deno.test("lets each source override the one before, and records the origin", async () => {
  const file = { store: "sqlite:file", environments: { production: { store: "sqlite:section" } } };
  const layers: [origin: string, given: Given][] = [
    ["default", {}],
    ["jobs.json", { content: file }],
    ["jobs.json (production)", { environment: "production" }],
    ["REDIS_URL", { env: { REDIS_URL: "redis://url" } }],
    ["JOBS_STORE", { env: { REDIS_URL: "redis://url", JOBS_STORE: "sqlite:env" } }],
    ["flag", { flags: { store: "sqlite:flag" } }],
  ];
  const stores = [undefined, "sqlite:file", "sqlite:section", "redis://url", "sqlite:env", "sqlite:flag"];
  let given: Given = {};
  for (const [i, [origin, more]] of layers.entries()) {
    given = { ...given, ...more };
    const loaded = await load(given);
    assertEquals([loaded.settings.store, loaded.origins.store], [stores[i], origin]);
  }
});

Deno.test("keeps a value that later sources don't set", async () => {
  const { settings, origins } = await load({
    content: { concurrency: 5, log: { level: "warn" }, environments: { production: { log: { format: "json" } } } },
    env: { JOBS_ENV: "production", JOBS_CONCURRENCY: "", REDIS_URL: "" },
    flags: { logLevel: undefined, concurrency: undefined },
  });
  assertEquals([settings.concurrency, origins.concurrency], [5, "jobs.json"]);
  assertEquals([settings.logLevel, settings.logFormat], ["warn", "json"]);
  assertEquals(settings.store, undefined);
});

Deno.test("reads every setting from the file and from its environment variable", async () => {
  const samples: (readonly [inFile: unknown, inEnv: string])[] = [
    [[{ name: "a", url: "https://a.example.com" }], '[{ "name": "a", "url": "https://a.example.com" }]'],
    [1_000, "1000"],
    [8, "8"],
    ["normal", "normal"],
    ["child", "child"],
    ["warn", "warn"],
    ["json", "json"],
    [true, "true"],
    ["100s", "100"],
    [["a,2", "b"], "a,2 b"],
    [["x", "y"], "x,y"],
    [[{ class: "A", exec: ["./a"] }], '[{ "class": "A", "exec": ["./a"] }]'],
    ["https://a.example.com", "https://a.example.com"],
    ["postgres://db/app", "postgres://db/app"],
    ["x", "x"],
  ];
  for (const [name, row] of Object.entries(SETTINGS)) {
    const { kind }: Setting<unknown> = row;
    const sample = samples.find(([inFile, inEnv]) =>
      kind.parse(inFile, false) !== undefined && equal(kind.parse(inFile, false), kind.parse(inEnv, true))
    );
    if (sample === undefined) throw new Error(`Add a sample of: ${kind.expected}`);
    const inFile = row.key.split(".").reduceRight((inner, part) => ({ [part]: inner }), sample[0]) as object;
    const others = row.key === "heartbeat" ? { heartbeatTimeout: "1h" } : {};
    const fromFile = await load({ content: { ...others, ...inFile } });
    const fromEnv = await load({ content: others, env: { [row.env]: sample[1] } });
    const key = name as keyof typeof SETTINGS;
    assertEquals(fromFile.origins[key], "jobs.json", name);
    assertEquals(fromEnv.origins[key], row.env, name);
    assertEquals(fromFile.settings[key], fromEnv.settings[key], name);
  }
});

Deno.test("reads flags as texts and lists of texts", async () => {
  const { settings } = await load({
    flags: { queues: ["critical,2", "default"], concurrency: "3", shutdownTimeoutMs: "1m", handlers: ["a,b.js"] },
  });
  assertEquals(settings.queues, [{ name: "critical", weight: 2 }, { name: "default", weight: 0 }]);
  assertEquals([settings.concurrency, settings.shutdownTimeoutMs, settings.handlers], [3, 60_000, ["a,b.js"]]);
});

Deno.test("reads YAML, and JSON with comments", async () => {
  const yaml = [
    "# how many",
    "concurrency: 5",
    "queues:",
    "  - [critical, 2]",
    "  - default",
    "log: # nothing yet",
    "environments:",
    "  production:",
    "    shutdownTimeout: 1m",
    "  staging: # nothing yet",
  ].join("\n");
  for (const name of ["jobs.yml", "jobs.yaml"]) {
    const { settings } = await load({ name, content: yaml, environment: "production" });
    assertEquals([settings.concurrency, settings.shutdownTimeoutMs, settings.queues.length], [5, 60_000, 2]);
    assertEquals((await load({ name, content: yaml, environment: "staging" })).settings.shutdownTimeoutMs, 25_000);
  }
  assertEquals((await load({ name: "jobs.yml", content: "# nothing yet\n" })).settings.concurrency, 10);
  const jsonc = '{\n  // how many\n  "concurrency": 5,\n}';
  assertEquals((await load({ name: "jobs.jsonc", content: jsonc })).settings.concurrency, 5);
  assertEquals((await load({ content: '\ufeff{"concurrency": 5}' })).settings.concurrency, 5);
});

Deno.test("names a missing or broken file and the reason in one line", async () => {
  assertEquals(
    (await assertRejects(() => loadConfig({ file: "/no/such.json", env: () => undefined }), ConfigError)).message,
    'Can\'t read configuration file "/no/such.json": no such file',
  );
  assertEquals(
    await refusal({ content: '{\n  "concurrency": 5\n  "queues": []\n}' }),
    'Can\'t read configuration file "jobs.json": ' +
      "Expected ',' or '}' after property value in JSON at position 23 (line 3 column 3)",
  );
  const broken = { "jobs.json": "\n\nhello\n", "jobs.yml": "a: [1\nb: 2\n", "jobs.jsonc": "{" };
  for (const [name, content] of Object.entries(broken)) {
    assertEquals((await refusal({ name, content })).startsWith(`Can't read configuration file "${name}": `), true);
  }
  assertEquals(
    await refusal({ content: "[]" }),
    'Can\'t read configuration file "jobs.json": expected an object of settings, found a list',
  );
});

Deno.test("rejects a file and a variable that aren't UTF-8, with the line or the name", async () => {
  const folder = await Deno.makeTempDir();
  try {
    for (const name of ["jobs.json", "jobs.yml"]) {
      const file = `${folder}/${name}`;
      await Deno.writeFile(file, Uint8Array.from([...new TextEncoder().encode('{\n"store": "'), 0xe9, 0x22, 0x7d]));
      const { message } = await assertRejects(() => loadConfig({ file, env: () => undefined }), ConfigError);
      assertEquals(message, `Can't read configuration file "${file}": line 2 isn't UTF-8`);
    }
    const file = `${folder}/empty.json`;
    await Deno.writeTextFile(file, "{}");
    const env = (name: string) => {
      if (name === "JOBS_TAG") throw new Deno.errors.InvalidData("not valid unicode");
      return undefined;
    };
    const { message } = await assertRejects(() => loadConfig({ file, env }), ConfigError);
    assertEquals(message, "Invalid JOBS_TAG: it isn't UTF-8 text");
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("names an unknown key, and suggests a known one", async () => {
  assertEquals(
    await refusal({ content: { concurency: 5 } }),
    'jobs.json: unknown key "concurency"; did you mean "concurrency"?',
  );
  assertEquals(
    await refusal({ content: { log: { levle: "info" } } }),
    'jobs.json: unknown key "log.levle"; did you mean "log.level"?',
  );
  const inSection = { environments: { production: { environments: {} } } };
  const message = await refusal({ content: inSection, environment: "production" });
  assertEquals(message.startsWith('jobs.json (production): unknown key "environments"; known: store, '), true);
  for (const { key } of Object.values(SETTINGS)) assertEquals(`${message},`.includes(` ${key},`), true, key);
  for (const key of ["__proto__", "constructor", "toString"]) {
    assertEquals((await refusal({ content: `{"${key}": {}}` })).startsWith(`jobs.json: unknown key "${key}"`), true);
  }
});

Deno.test("rejects an invalid value with its source, key, value and what is expected", async () => {
  const expected = "expected a whole number from 1 to 1000";
  assertEquals(await refusal({ content: { concurrency: "5" } }), `jobs.json: invalid "concurrency" "5": ${expected}`);
  assertEquals(await refusal({ env: { JOBS_CONCURRENCY: "many" } }), `Invalid JOBS_CONCURRENCY "many": ${expected}`);
  assertEquals(await refusal({ flags: { concurrency: "0" } }), `Invalid --concurrency "0": ${expected}`);
  assertEquals(await refusal({ flags: { handlers: [""] } }), 'Invalid handlers [""]: expected a list of texts');
  assertEquals(
    await refusal({ content: { log: "info" } }),
    'jobs.json: invalid "log": expected an object, found a text',
  );
  assertEquals(
    await refusal({ content: { environments: { production: 5 } }, environment: "production" }),
    "jobs.json (production): expected an object of settings, found a number",
  );
  assertEquals(
    await refusal({ content: { environments: [] } }),
    'jobs.json: invalid "environments": expected an object of settings by name, found a list',
  );
  assertEquals(
    await refusal({ content: { web: { users: [{ bob: "$hash" }] } } }),
    'jobs.json: invalid "web.users" ***: expected a list of texts',
  );
  assertEquals((await refusal({ content: { store: ["x".repeat(1000)] } })).length < 200, true);
});

Deno.test("rejects an environment named with -e that the file doesn't have", async () => {
  const content = { environments: { production: {}, staging: {} } };
  assertEquals(
    await refusal({ content, environment: "prodction" }),
    'jobs.json: unknown environment "prodction"; known: production, staging',
  );
  assertEquals(
    await refusal({ content, environment: "constructor" }),
    'jobs.json: unknown environment "constructor"; known: production, staging',
  );
  assertEquals((await load({ content, env: { JOBS_ENV: "test" } })).environment, "test");
  assertEquals(
    await refusal({ content: {}, environment: "test" }),
    'jobs.json: unknown environment "test"; the file has no "environments"',
  );
});

Deno.test("rejects a heartbeat timeout of less than 3 heartbeats", async () => {
  assertEquals(
    await refusal({ env: { JOBS_HEARTBEAT: "10s" } }),
    'Invalid "heartbeatTimeout" 20s: expected at least 3 times "heartbeat" (10s); otherwise running workers would count as offline',
  );
  assertEquals((await load({ content: { heartbeat: 10, heartbeatTimeout: 30 } })).settings.heartbeatTimeoutMs, 30_000);
});

Deno.test("looks for a file in the working directory, then in the machine's folder", async () => {
  const folder = await Deno.makeTempDir({ prefix: "jobs-test-" });
  try {
    assertEquals(configFiles().filter((path) => path.startsWith("/")).at(0), "/etc/jobs/jobs.json");
    await Deno.writeTextFile(`${folder}/jobs.yml`, "concurrency: 7\n");
    const { settings, file } = await loadConfig({ systemFolder: folder, env: () => undefined });
    assertEquals([settings.concurrency, file], [7, `${folder}/jobs.yml`]);
    const named = () => loadConfig({ systemFolder: `${folder}/none`, environment: "staging", env: () => undefined });
    const { message } = await assertRejects(named, ConfigError);
    assertEquals(message.startsWith('Unknown environment "staging": no configuration file found (looked for '), true);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("a configuration that is read again comes from a file, if it came from one before", async () => {
  const none = await loadConfig({ systemFolder: "/nonexistent", env: () => undefined });
  const found = { ...none, file: "jobs.json", isFound: true };
  const machines = { ...none, file: "/etc/jobs/jobs.json" };
  for (const after of [none, found, machines]) checkReloaded(none, after);
  checkReloaded(found, { ...found, file: "jobs.yml" });
  checkReloaded(machines, machines);
  checkReloaded(machines, found);
  const message = 'Configuration file "jobs.json" not found, which was read at the start';
  assertThrows(() => checkReloaded(found, none), ConfigError, message);
  assertThrows(() => checkReloaded(found, machines), ConfigError, message);
  assertThrows(() => checkReloaded(machines, none), ConfigError, '"/etc/jobs/jobs.json" not found');
});

Deno.test("warns of variables that look like settings, but not of those that Kubernetes sets for a service", async () => {
  const folder = await Deno.makeTempDir();
  try {
    await Deno.writeTextFile(`${folder}/jobs.json`, "{}");
    const warningsFor = async (...envNames: string[]) =>
      (await loadConfig({ file: `${folder}/jobs.json`, env: () => undefined, envNames })).warnings;
    const kubernetes = [
      "SERVICE_HOST",
      "SERVICE_PORT",
      "SERVICE_PORT_HTTP",
      "PORT",
      "PORT_7433_TCP",
      "PORT_7433_TCP_ADDR",
    ];
    for (const service of ["JOBS", "JOBS_WEB", "JOBS_STORE_2"]) {
      assertEquals(await warningsFor(...kubernetes.map((name) => `${service}_${name}`)), []);
    }
    assertEquals((await warningsFor("JOBS_WEB_PORT")).length, 1);
    assertEquals((await warningsFor("JOBS_WEB_SERVICE_HOST", "JOBS_CONCURENCY")).length, 1);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});
