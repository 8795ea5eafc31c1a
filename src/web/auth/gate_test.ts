import { assertEquals } from "@std/assert";
import type { Context } from "hono";
import { FakeClock } from "../../../tests/support/clock.ts";
import { Gate, type GateOptions } from "./gate.ts";

/** Doesn't use the store. */
function gateOf(options: Partial<GateOptions>): Gate {
  const store = {} as GateOptions["store"];
  return new Gate({ users: [], proxies: [], readOnly: false, clock: new FakeClock(), store, prefix: "", ...options });
}

Deno.test("reports once that X-Forwarded-For comes from an address that isn't in web.proxies", () => {
  const reported: string[] = [];
  const gate = gateOf({ proxies: ["10.0.0.1"], onUnknownProxy: (peer) => reported.push(peer) });
  const addressOf = (peer: string, forwarded?: string) =>
    gate.addressOf({ req: { header: () => forwarded } } as unknown as Context, peer);
  assertEquals(addressOf("127.0.0.1"), "127.0.0.1");
  assertEquals(addressOf("10.0.0.1", "1.1.1.1, 203.0.113.7"), "203.0.113.7");
  assertEquals(reported, []);
  assertEquals(addressOf("127.0.0.1", "203.0.113.7"), "127.0.0.1");
  assertEquals(addressOf("127.0.0.2", "203.0.113.7"), "127.0.0.2");
  assertEquals(reported, ["127.0.0.1"]);
});

Deno.test("counts a visitor behind a proxy by its address, without the port of its connection", () => {
  const gate = gateOf({ proxies: ["10.0.0.1"] });
  const rows = [
    ["203.0.113.7:51234", "203.0.113.7"],
    ["[2001:db8::1]:443", "2001:db8::1"],
    ["[2001:db8::1]", "2001:db8::1"],
    ["2001:db8::1", "2001:db8::1"],
    ["203.0.113.7", "203.0.113.7"],
    ["unknown", "unknown"],
    [":80", ":80"],
    ["", "10.0.0.1"],
  ];
  for (const [forwarded, address] of rows) {
    assertEquals(gate.addressOf({ req: { header: () => forwarded } } as unknown as Context, "10.0.0.1"), address);
  }
});
