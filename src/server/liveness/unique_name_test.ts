import { assertEquals, assertRejects } from "@std/assert";
import { FakeClock } from "../../../tests/support/clock.ts";
import { KeptLog } from "../../../tests/support/log.ts";
import { ShutdownBudget } from "../component.ts";
import type { ServerStore } from "../../store/port/store.ts";
import { NameTaken, UniqueName } from "./unique_name.ts";

/** A name that another worker holds until the test frees it. */
function lab(more: { readonly predecessor?: string; readonly predecessorEnded?: string } = {}) {
  const clock = new FakeClock();
  const log = new KeptLog();
  const calls: string[] = [];
  const state = { holder: "other", heartbeatUntil: 1_000, losses: 0, isDown: false };
  const workers = {
    get losses() {
      return state.losses;
    },
    claim: (key: string, worker: string, ttlMs: number) => {
      calls.push(`${ttlMs === 0 ? "release" : "claim"} ${key} ${worker}`);
      if (state.isDown) return Promise.reject(new Error("down"));
      if (ttlMs === 0 && state.holder === worker) state.holder = "";
      const { holder, heartbeatUntil } = state;
      return Promise.resolve({ worker: holder === "" ? worker : holder, heartbeatUntil });
    },
    note: (worker: string, { ended }: { ended?: string }) =>
      Promise.resolve(void calls.push(`death ${worker} ${ended}`)),
  };
  const store = { workers } as unknown as ServerStore;
  const name = new UniqueName({ store, name: "mail", worker: "me", ttlMs: 60_000, clock, log, ...more });
  return { clock, log, calls, state, name };
}

Deno.test("a start claims the name as soon as its holder is offline", async () => {
  const { clock, log, state, name } = lab();
  const started = name.start();
  await clock.untilSleeping();
  assertEquals(log.said, ["warn Waiting until the worker that has the name is offline"]);
  await clock.advance(250);
  await clock.untilSleeping();
  state.holder = "";
  await clock.advance(250);
  await started;
  // It holds the name, and waits until it renews it.
  assertEquals(clock.sleeping, [3_600_000]);
});

Deno.test("a heartbeat of the holder, or another holder, ends the start", async () => {
  for (const change of [{ heartbeatUntil: 2_000 }, { holder: "third" }]) {
    const { clock, state, name } = lab();
    const started = name.start();
    const failed = assertRejects(() => started, NameTaken, 'A live worker has the name "mail"');
    await clock.untilSleeping();
    Object.assign(state, change);
    await clock.advance(250);
    await failed;
  }
});

Deno.test("a stop ends the wait at once, and claims nothing", async () => {
  const { clock, calls, name } = lab();
  const started = name.start();
  await clock.untilSleeping();
  calls.splice(0);
  await name.stop(new ShutdownBudget(clock));
  await started;
  assertEquals([calls, clock.sleeping], [[], []]);
});

Deno.test("a predecessor that has ended leaves its name, and its death is noted", async () => {
  const { calls, name, state } = lab({ predecessor: "before", predecessorEnded: "killed" });
  state.holder = "before";
  await name.start();
  assertEquals(calls, ["death before killed", "release name:mail before", "claim name:mail me"]);
});

Deno.test("a worker renews its claim each hour, warns if another has taken the name, and releases it at its stop", async () => {
  const { clock, log, calls, state, name } = lab();
  state.holder = "";
  await name.start();
  const hour = async () => {
    await clock.untilSleeping();
    await clock.advance(3_600_000);
    await clock.untilSleeping();
  };
  await hour();
  assertEquals(calls, ["claim name:mail me", "claim name:mail me"]);
  assertEquals(log.said, []);
  state.holder = "other";
  await hour();
  assertEquals(log.said, ["warn Another worker has the name: this one was offline"]);
  await name.stop(new ShutdownBudget(clock));
  assertEquals(calls.at(-1), "release name:mail me");
  assertEquals(clock.sleeping, []);
});

Deno.test("a worker claims its name again with the first heartbeat after a loss of a connection, or a lapse", async () => {
  const { clock, log, calls, state, name } = lab();
  state.holder = "";
  state.losses = 2;
  name.beat({ lapsed: true });
  await name.start();
  const claims = async (lapsed: boolean) => {
    calls.splice(0);
    name.beat({ lapsed });
    await clock.turn();
    return calls.length;
  };
  assertEquals(await claims(false), 0);
  state.losses++;
  state.isDown = true;
  assertEquals([await claims(false), await claims(false)], [1, 1]);
  state.isDown = false;
  assertEquals([await claims(false), await claims(false)], [1, 0]);
  const warnings = () => log.said.filter((line) => line.startsWith("warn"));
  assertEquals(warnings(), []);
  state.isDown = true;
  assertEquals(await claims(true), 1);
  state.isDown = false;
  state.holder = "other";
  assertEquals([await claims(false), await claims(false)], [1, 0]);
  assertEquals(warnings(), ["warn Another worker has the name: this one was offline"]);
  await name.stop(new ShutdownBudget(clock));
  state.losses++;
  assertEquals(await claims(true), 0);
});

Deno.test("a stop releases the name after a renewal that is under way", async () => {
  const { clock, calls, state, name } = lab();
  state.holder = "";
  await name.start();
  state.losses++;
  name.beat({ lapsed: false });
  await name.stop(new ShutdownBudget(clock));
  assertEquals(calls, ["claim name:mail me", "claim name:mail me", "release name:mail me"]);
});
