import { assertEquals } from "@std/assert";
import { signedHeaders } from "./signature.ts";

const SECRET = Uint8Array.fromBase64("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw");
const REQUEST = { id: "msg_p5jXN8AQM9LWM0D4loKWxJek", timestamp: 1614265330, body: '{"test": 2432232314}' };

Deno.test("signs as the test vector of Standard Webhooks does", () => {
  assertEquals(signedHeaders(REQUEST, [SECRET]), {
    "webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
    "webhook-timestamp": "1614265330",
    "webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
  });
});

Deno.test("signs with each secret during a rotation, and not at all without one", () => {
  const [one, two] = signedHeaders(REQUEST, [SECRET, new Uint8Array(24)])["webhook-signature"]!.split(" ");
  assertEquals(one, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
  assertEquals([two === one, two!.startsWith("v1,")], [false, true]);
  assertEquals("webhook-signature" in signedHeaders(REQUEST, []), false);
});
