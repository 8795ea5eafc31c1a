import { assertEquals, assertRejects, equal } from "@std/assert";
import { defaultSettings, type Setting, SETTINGS } from "./settings.ts";
import { ConfigError, type ConfigSources, loadConfig, type LoadedConfig } from "./load.ts";

/** Sources as a test gives them. Without content, the file is an empty object: the working directory is never read. */
interface Given {
  readonly name?: string;
  readonly content?: string | object;
  readonly env?: Readonly<Record<string, string>>;
  readonly environment?: string;
  readonly flags?: ConfigSources["flags"];
}

/** Loads from a file of its own; its folder is not shown in `file`, in origins or in messages. */
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

Deno.test("without anything, the defaults serve", async () => {
  const { settings, origins, environment } = await load({});
  assertEquals(settings, JSON.parse(JSON.stringify(defaultSettings())));
  assertEquals(new Set(Object.values(origins)), new Set(["default"]));
  assertEquals(environment, "development");
});

Deno.test("each source overrides the one before, and is remembered", async () => {
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

Deno.test("a source that does not say leaves the value alone", async () => {
  const { settings, origins } = await load({
    content: { concurrency: 5, log: { level: "warn" }, environments: { production: { log: { format: "json" } } } },
    env: { JOBS_ENV: "production", JOBS_CONCURRENCY: "", REDIS_URL: "" },
    flags: { logLevel: undefined, concurrency: undefined },
  });
  assertEquals([settings.concurrency, origins.concurrency], [5, "jobs.json"]);
  assertEquals([settings.logLevel, settings.logFormat], ["warn", "json"]);
  assertEquals(settings.store, undefined);
});

Deno.test("every setting is read from the file and from its environment variable", async () => {
  const samples: (readonly [inFile: unknown, inEnv: string])[] = [
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
    ["x", "x"],
  ];
  for (const [name, row] of Object.entries(SETTINGS)) {
    const { kind }: Setting<unknown> = row;
    const sample = samples.find(([inFile, inEnv]) =>
      kind.parse(inFile, false) !== undefined && equal(kind.parse(inFile, false), kind.parse(inEnv, true))
    );
    if (sample === undefined) throw new Error(`Add a sample of: ${kind.wanted}`);
    const inFile = row.key.split(".").reduceRight((inner, part) => ({ [part]: inner }), sample[0]) as object;
    const others = row.key === "heartbeat" ? { deadAfter: "1h" } : {};
    const fromFile = await load({ content: { ...others, ...inFile } });
    const fromEnv = await load({ content: others, env: { [row.env]: sample[1] } });
    const key = name as keyof typeof SETTINGS;
    assertEquals(fromFile.origins[key], "jobs.json", name);
    assertEquals(fromEnv.origins[key], row.env, name);
    assertEquals(fromFile.settings[key], fromEnv.settings[key], name);
  }
});

Deno.test("flags are text or lists of text", async () => {
  const { settings } = await load({
    flags: { queues: ["critical,2", "default"], concurrency: "3", timeoutMs: "1m", handlers: ["a,b.js"] },
  });
  assertEquals(settings.queues, [{ name: "critical", weight: 2 }, { name: "default", weight: 0 }]);
  assertEquals([settings.concurrency, settings.timeoutMs, settings.handlers], [3, 60_000, ["a,b.js"]]);
});

Deno.test("the file may be YAML or JSON with comments", async () => {
  const yaml = [
    "# how many",
    "concurrency: 5",
    "queues:",
    "  - [critical, 2]",
    "  - default",
    "log: # nothing yet",
    "environments:",
    "  production:",
    "    timeout: 1m",
    "  staging: # nothing yet",
  ].join("\n");
  for (const name of ["jobs.yml", "jobs.yaml"]) {
    const { settings } = await load({ name, content: yaml, environment: "production" });
    assertEquals([settings.concurrency, settings.timeoutMs, settings.queues.length], [5, 60_000, 2]);
    assertEquals((await load({ name, content: yaml, environment: "staging" })).settings.timeoutMs, 25_000);
  }
  assertEquals((await load({ name: "jobs.yml", content: "# nothing yet\n" })).settings.concurrency, 10);
  const jsonc = '{\n  // how many\n  "concurrency": 5,\n}';
  assertEquals((await load({ name: "jobs.jsonc", content: jsonc })).settings.concurrency, 5);
  assertEquals((await load({ content: '\ufeff{"concurrency": 5}' })).settings.concurrency, 5);
});

Deno.test("a file that is missing or broken is named, with the reason, in one line", async () => {
  assertEquals(
    (await assertRejects(() => loadConfig({ file: "/no/such.json", env: () => undefined }), ConfigError)).message,
    'Configuration file "/no/such.json" cannot be read: there is no such file',
  );
  assertEquals(
    await refusal({ content: '{\n  "concurrency": 5\n  "queues": []\n}' }),
    'Configuration file "jobs.json" cannot be read: ' +
      "Expected ',' or '}' after property value in JSON at position 23 (line 3 column 3)",
  );
  const broken = { "jobs.json": "\n\nhello\n", "jobs.yml": "a: [1\nb: 2\n", "jobs.jsonc": "{" };
  for (const [name, content] of Object.entries(broken)) {
    assertEquals((await refusal({ name, content })).startsWith(`Configuration file "${name}" cannot be read: `), true);
  }
  assertEquals(
    await refusal({ content: "[]" }),
    'Configuration file "jobs.json" holds []; wanted: an object of settings',
  );
});

Deno.test("an unknown key is named, with the one that was meant", async () => {
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

Deno.test("a value of the wrong kind is named with its source, key, value and what is wanted", async () => {
  const wanted = "wanted: a whole number from 1 to 1000";
  assertEquals(await refusal({ content: { concurrency: "5" } }), `jobs.json: "concurrency" is "5"; ${wanted}`);
  assertEquals(await refusal({ env: { JOBS_CONCURRENCY: "many" } }), `JOBS_CONCURRENCY is "many"; ${wanted}`);
  assertEquals(await refusal({ flags: { concurrency: "0" } }), `Option --concurrency is "0"; ${wanted}`);
  assertEquals(await refusal({ flags: { handlers: [""] } }), 'flag: "handlers" is [""]; wanted: a list of texts');
  assertEquals(await refusal({ content: { log: "info" } }), 'jobs.json: "log" is "info"; wanted: an object');
  assertEquals(
    await refusal({ content: { environments: { production: 5 } }, environment: "production" }),
    "jobs.json (production): 5 found; wanted: an object of settings",
  );
  assertEquals(
    await refusal({ content: { environments: [] } }),
    'jobs.json: "environments" is []; wanted: an object of settings by name',
  );
  assertEquals(
    await refusal({ content: { web: { users: [{ bob: "$hash" }] } } }),
    'jobs.json: "web.users" is ***; wanted: a list of texts',
  );
  assertEquals((await refusal({ content: { store: ["x".repeat(1000)] } })).length < 200, true);
});

Deno.test("an environment that is asked for by name is there", async () => {
  const content = { environments: { production: {}, staging: {} } };
  assertEquals(
    await refusal({ content, environment: "prodction" }),
    'jobs.json: there is no environment "prodction"; known: production, staging',
  );
  assertEquals(
    await refusal({ content, environment: "constructor" }),
    'jobs.json: there is no environment "constructor"; known: production, staging',
  );
  assertEquals((await load({ content, env: { JOBS_ENV: "test" } })).environment, "test");
  assertEquals((await load({ content: {}, environment: "test" })).environment, "test");
});

Deno.test("a process is not taken for dead between two heartbeats", async () => {
  assertEquals(
    await refusal({ env: { JOBS_HEARTBEAT: "10s" } }),
    '"deadAfter" is 20s and "heartbeat" 10s; wanted: deadAfter at least 3 heartbeats, or a live process is taken for dead',
  );
  assertEquals((await load({ content: { heartbeat: 10, deadAfter: 30 } })).settings.deadAfterMs, 30_000);
});
