/**
 * Disturbances of the network between one program and a server.
 *
 * @module
 */
import type { TcpProxy, Weather } from "../support/tcp_proxy.ts";
import type { Disturbance, Scene } from "./disturbance.ts";
import { ProxyLine } from "./proxy_line.ts";
import { RedisLine } from "./redis_line.ts";
import { pause } from "./uptime.ts";

/** Round trips of a slow line stay below the heartbeat timeout: alone, it is not a cause of lapses. */
const SLOWEST_MS = 300;

/**
 * @param heartbeatTimeoutMs a worker without a heartbeat for this long is offline
 * @param hits the programs whose lines are disturbed
 */
export function lineDisturbances(
  heartbeatTimeoutMs: number,
  hits: Disturbance["hits"] = "any program",
): Disturbance[] {
  const pastTimeout = [heartbeatTimeoutMs + 1_000, heartbeatTimeoutMs + 4_000] as const;
  const kind = (name: string, weight: number, forMs: readonly [number, number], run: Disturbance["run"]) =>
    ({ name, weight, hits, forMs, run }) as const;
  return [
    kind("hold a line past the timeout", 3, pastTimeout, (scene) => away(scene, "held", (proxy) => proxy)),
    kind(
      "swallow a line past the timeout",
      2,
      pastTimeout,
      (scene) => away(scene, "blackhole", (proxy) => proxy.cut()),
    ),
    kind(
      "hold a line for a moment",
      1,
      [100, heartbeatTimeoutMs / 3],
      (scene) => away(scene, "held", (proxy) => proxy),
    ),
    kind("cut a line", 2, [0, 0], ({ target }) => Promise.resolve(lineOf(target).each((proxy) => proxy.cut()))),
    kind("lose an answer", 4, [0, 0], ({ target, random }) => {
      const bytes = random.chance(0.5) ? 0 : random.between(1, 300);
      lineOf(target).each((proxy) => proxy.cutNextAnswer(bytes));
      return Promise.resolve();
    }),
    kind("slow a line", 1, [1_000, 6_000], async ({ target, incidents, forMs, random }) => {
      const delayMs = random.between(20, SLOWEST_MS);
      await incidents.over("slowed", "slow", target.program.pid, async () => {
        lineOf(target).each((proxy) => proxy.delayMs = delayMs);
        await pause(forMs);
      });
      lineOf(target).each((proxy) => proxy.delayMs = 0);
    }),
  ];
}

async function away({ target, incidents, forMs }: Scene, weather: Weather, end: (proxy: TcpProxy) => unknown) {
  const line = lineOf(target);
  await incidents.over(weather === "held" ? "cut" : "swallowed", "away", target.program.pid, async () => {
    line.each((proxy) => proxy.weather = weather);
    await pause(forMs);
  });
  line.each((proxy) => {
    end(proxy);
    proxy.weather = "fair";
  });
}

function lineOf({ line }: Scene["target"]): RedisLine | ProxyLine {
  if (line instanceof RedisLine || line instanceof ProxyLine) return line;
  throw new TypeError("Not a line with a proxy");
}
