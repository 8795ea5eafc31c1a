import { assertEquals } from "@std/assert";
import { loadConfig } from "../../config/load.ts";
import { settingRows } from "./setting_rows.ts";

Deno.test("durations and amounts are shown as they are written; 0 and unset ones as they are", async () => {
  const config = await loadConfig({ env: () => undefined, flags: { maxMemoryBytes: "512M", heartbeatMs: "2s" } });
  const shown = new Map(settingRows(config).map(({ key, shown }) => [key, shown]));
  const keys = ["retention.deadAge", "heartbeat", "maxMemory", "retention.events", "maxIdle", "concurrency", "store"];
  assertEquals(keys.map((key) => shown.get(key)), ["180d", "2s", "512 MB", "0", undefined, undefined, undefined]);
});
