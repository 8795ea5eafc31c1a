import { assertEquals } from "@std/assert";
import { loadConfig } from "../../config/load.ts";
import { settingRows } from "./setting_rows.ts";

Deno.test("secrets are hidden, those in the arguments of cron entries and programs too", async () => {
  const env: Record<string, string> = {
    JOBS_STORE: "redis://ann:hunter2@127.0.0.1/0",
    JOBS_OUTBOX: "postgres://ann:hunter2@127.0.0.1/app",
    JOBS_EXEC: JSON.stringify([{ class: "A", exec: ["a", "--token=hunter2"], env: { A: "hunter2" } }]),
    JOBS_CRON: JSON.stringify([{ name: "a", class: "A", rule: "@daily", args: [{ password: "hunter2", n: 1 }] }]),
    JOBS_WEB_USERS: "hunter2",
    JOBS_WEBHOOKS: JSON.stringify([{
      ...{ url: "https://ann.example.com/a?token=hunter2", on: ["dead"], headers: { authorization: "hunter2" } },
      secret: `whsec_${btoa("hunter2".repeat(4))}`,
    }]),
  };
  const config = await loadConfig({ env: (name) => env[name], flags: {} });
  const text = JSON.stringify(settingRows(config));
  assertEquals(text.includes("hunter2") || text.includes(btoa("hunter2".repeat(4))), false, text);
  assertEquals(text.includes('"n":1'), true, "what isn't a secret is shown");
});

Deno.test("an invalid setting with secrets is refused without its value", async () => {
  for (const name of ["STORE", "OUTBOX", "EXEC", "CRON", "HTTP", "WEBHOOKS", "WEB_USERS"]) {
    for (const value of ['[{ "password": "hunter2" ', '{ "password": "hunter2" }', '[{ "password": "hunter2" }]']) {
      const env = (key: string) => key === `JOBS_${name}` ? value : undefined;
      const message = await loadConfig({ env, flags: {} }).then(() => "", (error) => error.message);
      assertEquals(message.includes("hunter2"), false, message);
    }
  }
});

Deno.test("durations and amounts are shown as they are written; 0 and unset ones as they are", async () => {
  const config = await loadConfig({ env: () => undefined, flags: { maxMemoryBytes: "512M", heartbeatMs: "2s" } });
  const shown = new Map(settingRows(config).map(({ key, shown }) => [key, shown]));
  const keys = ["retention.deadAge", "heartbeat", "maxMemory", "retention.events", "maxIdle", "concurrency", "store"];
  assertEquals(keys.map((key) => shown.get(key)), ["180d", "2s", "512 MB", "0", undefined, undefined, undefined]);
});
