import { assertEquals, assertThrows } from "@std/assert";
import { checkSettings } from "./check.ts";
import { defaultSettings, type Settings } from "./settings.ts";
import { ConfigError } from "./load.ts";

Deno.test("adds defaults to a program's settings; undefined is the default", () => {
  const queues = [{ name: "a", weight: 0 }, { name: "b", weight: 2 }];
  const given = { concurrency: 5, heartbeatMs: 50, heartbeatTimeoutMs: 150, burst: true, queues, maxMemoryBytes: 1024 };
  assertEquals(checkSettings({ ...given, shutdownTimeoutMs: undefined } as unknown as Settings), {
    ...defaultSettings(),
    ...given,
  });
  assertEquals(checkSettings(defaultSettings()), defaultSettings());
});

Deno.test("rejects unknown and invalid settings of a program in one line", () => {
  const line = (given: Record<string, unknown>) =>
    assertThrows(() => checkSettings(given as Partial<Settings>), ConfigError).message;
  assertEquals(line({ concurency: 5 }), 'Unknown setting "concurency"; did you mean "concurrency"?');
  assertEquals(line({ concurrency: 0 }), 'Invalid setting "concurrency" 0: expected a whole number from 1 to 1000');
  assertEquals(
    line({ heartbeatMs: "5s" }),
    'Invalid setting "heartbeatMs" "5s": expected a number of milliseconds; as the configuration\'s "heartbeat", ' +
      "a duration such as 90 (seconds), 30s, 5m, 2h or 1d, at least 0.05s",
  );
  for (
    const wrong of [{ shutdownTimeoutMs: -1 }, { shutdownTimeoutMs: Infinity }, { queues: ["a"] }, {
      queues: [{ name: "a b" }],
    }]
  ) {
    assertEquals(line(wrong).startsWith(`Invalid setting "${Object.keys(wrong)[0]}" `), true, JSON.stringify(wrong));
  }
  assertEquals(line({ webUsers: 7 }).startsWith('Invalid setting "webUsers" ***: expected '), true);
  assertEquals(line({ heartbeatMs: 5_000, heartbeatTimeoutMs: 6_000 }).includes("at least 3 times"), true);
});
