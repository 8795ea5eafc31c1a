import { assertEquals } from "@std/assert";
import { KeptLog } from "../../../tests/support/log.ts";
import type { Outcome } from "../../store/port/outcomes.ts";
import { Burial } from "./burial.ts";
import type { ProcessorServices } from "./processor_services.ts";

const DOOMED = { worker: "host:1:a", token: "t", queue: "default", deaths: 3 };

/** Buries a job in a store that has its lease, or has lost it. Returns whether it was buried, the outcome and the counts. */
async function bury(payload: string, { isLost = false, kind = "bury" as "bury" | "discard" } = {}) {
  const settled: unknown[] = [];
  const counted: unknown[] = [];
  const store = {
    jobs: {
      settle: (worker: string, outcomes: readonly Outcome[]) => {
        settled.push([worker, ...outcomes.map(({ kind, token }) => `${kind} ${token}`)]);
        return Promise.resolve({ lost: isLost ? ["t"] : [], dropped: 0 });
      },
    },
  };
  const services = {
    log: new KeptLog(),
    retrier: { end: () => Promise.resolve({ kind, payload }) },
    results: { died: () => undefined },
    classCounters: { addDied: (name: string, as: string) => counted.push(`${name} ${as}`) },
  } as unknown as ProcessorServices;
  const isBuried = await new Burial(store, services).bury({ ...DOOMED, payload });
  return { isBuried, settled, counted };
}

const PAYLOAD = `{"class":"Crash","args":[],"jid":"a"}`;

Deno.test("a doomed job ends as a lease of its worker, and is counted as dead or discarded", async () => {
  for (const [kind, as] of [["bury", "dead"], ["discard", "discarded"]] as const) {
    const { isBuried, settled, counted } = await bury(PAYLOAD, { kind });
    assertEquals([isBuried, settled, counted], [true, [["host:1:a", `${kind} t`]], [`Crash ${as}`]]);
  }
});

Deno.test("a job that another worker has buried first is neither reported as buried nor counted", async () => {
  const { isBuried, counted } = await bury(PAYLOAD, { isLost: true });
  assertEquals([isBuried, counted], [false, []]);
});

Deno.test("an unreadable payload is dead, and no class counts it", async () => {
  const { isBuried, settled, counted } = await bury("no JSON");
  assertEquals([isBuried, settled, counted], [true, [["host:1:a", "bury t"]], []]);
});
