import { assertEquals, assertThrows } from "@std/assert";
import { checkSettings } from "./check.ts";
import { defaultSettings, type Settings } from "./settings.ts";
import { ConfigError } from "./load.ts";

Deno.test("a program's settings stand beside the defaults; what is undefined is the default", () => {
  const queues = [{ name: "a", weight: 0 }, { name: "b", weight: 2 }];
  const given = { concurrency: 5, heartbeatMs: 50, deadAfterMs: 150, burst: true, queues, maxMemoryBytes: 1024 };
  assertEquals(checkSettings({ ...given, timeoutMs: undefined } as unknown as Settings), {
    ...defaultSettings(),
    ...given,
  });
  assertEquals(checkSettings(defaultSettings()), defaultSettings());
});

Deno.test("what a program gives as a setting and is none is one clear line", () => {
  const line = (given: Record<string, unknown>) =>
    assertThrows(() => checkSettings(given as Partial<Settings>), ConfigError).message;
  assertEquals(line({ concurency: 5 }), 'Unknown setting "concurency"; did you mean "concurrency"?');
  assertEquals(line({ concurrency: 0 }), 'Setting "concurrency" is 0; wanted: a whole number from 1 to 1000');
  assertEquals(
    line({ heartbeatMs: "5s" }),
    'Setting "heartbeatMs" is "5s"; wanted: a number of milliseconds; as the configuration\'s "heartbeat", ' +
      "a duration such as 90 (seconds), 30s, 5m, 2h or 1d, at least 0.05s",
  );
  for (const wrong of [{ timeoutMs: -1 }, { timeoutMs: Infinity }, { queues: ["a"] }, { queues: [{ name: "a b" }] }]) {
    assertEquals(line(wrong).startsWith(`Setting "${Object.keys(wrong)[0]}" is `), true, JSON.stringify(wrong));
  }
  assertEquals(line({ webUsers: 7 }).startsWith('Setting "webUsers" is ***; wanted: '), true);
  assertEquals(line({ heartbeatMs: 5_000, deadAfterMs: 6_000 }).includes("at least 3 heartbeats"), true);
});
