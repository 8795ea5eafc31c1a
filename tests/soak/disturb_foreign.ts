/**
 * Payloads of other programs: spaces, our field names with other meanings, bytes of another encoding, missing fields, wrong types.
 * Each of them runs or is dead at the end.
 *
 * @module
 */
import type { Disturbance, Scene } from "./disturbance.ts";

/** The rest of a payload whose class, jid and queue are given, as the text between its braces. */
const SHAPES: readonly ((jid: string) => string)[] = [
  (jid) => `{"class":"Quick","args":[],"jid":"${jid}","queue":"default","retry":true,"created_at":1700000000.5}`,
  (jid) => `{ "class" : "Quick", "args" : [ 1, "a b" ], "jid" : "${jid}", "queue" : "default", "retry" : true }`,
  (jid) =>
    `{"retry": 3, "queue": "default", "jid": "${jid}",\n "args": [{"jid": "none", "class": "Nap"}], "class": "Quick"}`,
  (jid) => `{"class":"Quick","args":[{"debounce_key":"a b.c"}],"jid":"${jid}","queue":"default"}`,
  (jid) => `{"class":"Quick","args":["\\"debounce_key\\":\\"x\\""],"jid":"${jid}","debounce_key":"no such.key"}`,
  (jid) => `{"class":"Quick","args":[],"jid":"${jid}","debounce_key":7,"batch":{"id":5},"group":{},"priority":9}`,
  (jid) => `{"class":"Quick","args":[],"jid":"${jid}","batch":"none","unique_lock":[],"unique_for":"x","steps":true}`,
  (jid) => `{"class":"Quick","args":[],"jid":"${jid}","tags":5,"retry":"yes","timeout":"abc","retry_count":"x"}`,
  (jid) => `{"class":"Quick","args":[],"jid":"${jid}","has_steps":1,"flow":[],"wait_key":null,"parent":"a\\u0000b"}`,
  (jid) => `{"class":"Quick","args":["caf\xe9 \xff"],"jid":"${jid}","na\xefve":"\xfc","queue":"default"}`,
  (jid) => `{"class":"Flaky","args":[1,"caf\xe9"],"jid":"${jid}","retry":true,"queue":"default"}`,
  (jid) => `{"class":"Quick","jid":"${jid}"}`,
  (jid) => `{"class":"Quick","args":{"a":1},"jid":"${jid}"}`,
  (jid) => `{"class":7,"args":[],"jid":"${jid}"}`,
  (jid) => `{"args":[],"jid":"${jid}","queue":"bulk"}`,
  (jid) => `{"class":"Quick","args":[12345678901234567890123, 1.0],"jid":"${jid}","expires_at":"never"}`,
  () => `{"class":"Quick","args":[]}`,
  () => `{"class":"Quick","args":[],"jid":12}`,
  () => "no JSON, debounce_key",
  () => "[]",
];

/** @returns one disturbance, which writes some of these payloads */
export function foreignDisturbances(): Disturbance[] {
  return [{ name: "foreign payloads", weight: 2, hits: "queue", forMs: [0, 0], run: pushForeign }];
}

async function pushForeign({ random, note, pushRaw }: Scene): Promise<void> {
  for (let i = 0; i < 5; i++) {
    const jid = crypto.randomUUID().replaceAll("-", "").slice(0, 24);
    const text = SHAPES[random.between(0, SHAPES.length - 1)]!(jid);
    const place = random.chance(0.4) ? "scheduled" : { queue: random.chance(0.7) ? "default" : "bulk" };
    // A character is a byte.
    const stored = await pushRaw(place, Uint8Array.from(text, (character) => character.charCodeAt(0)))
      .then(() => true, () => false);
    if (text.includes(jid)) await note({ jid, class: "Foreign", answer: stored ? "stored" : "tried" });
  }
}
