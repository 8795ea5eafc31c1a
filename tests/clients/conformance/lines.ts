/**
 * The cases of a bad line between a worker and its gateway: no job is lost, and none runs twice.
 *
 * @module
 */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { type Fault, HttpLine } from "../../support/http_line.ts";
import { ending } from "./programs.ts";
import { type Case, freeze, type Scene } from "./scene.ts";

const page = (status: number, headers: Readonly<Record<string, string>> = {}): Fault => ({
  status,
  headers,
  body: `<html><h1>${status}</h1></html>`,
});
const json = (body: string): Fault => ({ status: 200, headers: { "content-type": "application/json" }, body });

/** Faults of one request each. A registration meets only those that may pass: the others mean a wrong address. */
const FAULTS: Readonly<Record<string, readonly Fault[]>> = {
  "requests that are cut before the server gets them": ["cut before", "cut before"],
  "replies that are lost": ["cut after", "cut after"],
  "replies that are cut off": ["cut within", "cut within"],
  "502 and 503 with a page": [page(502), page(503, { "retry-after": "1" })],
};
const FOREIGN: readonly Fault[] = [page(200), json("{}"), json('{"jobs":'), page(404), page(403)];

export const lines: readonly Case[] = [
  ...Object.entries(FAULTS).map(([what, faults]): Case => ({
    does: `performs each job once despite ${what}`,
    run: (scene) => performs(scene, ["register", ...REQUESTS], faults),
  })),
  {
    does: "performs each job once despite replies of something else",
    run: (scene) => performs(scene, REQUESTS, FOREIGN),
  },
  {
    does: "follows no redirect, and performs each job once when they have ended",
    async run(scene) {
      let requests = 0;
      const elsewhere = scene.use(
        Deno.serve({ port: 0, hostname: "127.0.0.1", onListen: () => {} }, () => {
          requests++;
          return Response.json({ worker: "x", running: [], jobs: [], lost: [], aborted: [] });
        }),
      );
      const to = `http://127.0.0.1:${elsewhere.addr.port}`;
      const redirects = [301, 302, 303, 307, 308];
      const all = redirects.map((status) => page(status, { location: `${to}/api/v1/work/take` }));
      await performs(scene, REQUESTS, all);
      for (const status of [301, 308]) {
        const line = await scene.line();
        line.spoil("register", page(status, { location: `${to}/api/v1/work/register` }));
        const worker = await scene.launch({ url: line.url });
        assert(!await ending(worker), "a wrong address ends it");
        assertStringIncludes(worker.end!.error!, `${status}`);
        assertStringIncludes(worker.end!.error!, to);
      }
      assertEquals(requests, 0, "the token goes nowhere else");
    },
  },
  {
    does: "ends when something else answers at its address",
    async run(scene) {
      const { url } = await scene.lab.gateway();
      const wrong = scene.use(await HttpLine.start(() => url));
      wrong.spoil("register", page(200));
      const texts = { [`${url}/nowhere`]: "Path not found: /nowhere/api/v1/work/register", [wrong.url]: wrong.url };
      for (const [address, text] of Object.entries(texts)) {
        const worker = await scene.launch({ url: address });
        assert(!await ending(worker), "a wrong address ends it");
        assertStringIncludes(worker.end!.error!, text);
      }
    },
  },
  {
    does: "waits for replies that a proxy withholds, and keeps its jobs",
    async run(scene) {
      const line = await scene.line();
      await scene.start({ url: line.url, concurrency: 1 });
      line.spoil("settle", "withhold");
      const jids = [await scene.push(["note", scene.notes, 0]), await scene.push(["note", scene.notes, 0])];
      // Stored, although the program doesn't know.
      await scene.ended(jids[0]!);
      line.release();
      await scene.ended(jids[1]!);
      line.spoil("take", "withhold");
      const third = await scene.push(["note", scene.notes, 0]);
      await scene.bench.until(() => line.left === 0, "a reply with jobs is withheld");
      line.release();
      assertEquals((await scene.ended(third)).state, "succeeded");
      assertEquals((await scene.noted()).sort(), [...jids, third].sort());
    },
  },
  {
    does: "keeps a job that it begins while its heartbeat is repeated again and again",
    async run(scene) {
      const { url } = await scene.lab.gateway("mortal");
      const line = scene.use(await HttpLine.start(() => url));
      await scene.start({ url: line.url, concurrency: 2 });
      const go = `${scene.notes}.go`;
      const first = await scene.push(["wait until", go, scene.notes]);
      await scene.bench.until(async () => (await scene.noted()).length === 1, "it runs");
      // Each is performed, and repeated a second later.
      line.spoil("heartbeat", ...Array.from({ length: 4 }, (): Fault => "cut after"));
      await scene.bench.until(() => line.left < 4, "a heartbeat that doesn't list the second job is on its way");
      const second = await scene.push(["wait until", go, scene.notes]);
      await scene.bench.until(() => line.left === 0, "it was repeated");
      await Deno.writeTextFile(go, "");
      for (const jid of [first, second]) assertEquals((await scene.ended(jid)).state, "succeeded");
      assertEquals((await scene.noted()).sort(), [first, second].sort());
    },
  },
  {
    does: "begins no job that it lost while the reply was withheld, or it was frozen with the reply",
    async run(scene) {
      const { url } = await scene.lab.gateway("mortal");
      const takes = async <W>(start: (url: string) => Promise<W>) => {
        const line = scene.use(await HttpLine.start(() => url));
        line.spoil("take", "withhold");
        const worker = await start(line.url);
        const jid = await scene.push(["note", scene.notes, 0]);
        await scene.bench.until(() => line.withheld === 1, "the reply is withheld");
        return { line, worker, jid };
      };
      const slow = await takes((url) => scene.start({ url }));
      const frozen = await takes((url) => scene.startApart({ url }));
      await freeze(frozen.worker);
      frozen.line.release();
      await scene.start({ url });
      for (const { jid } of [slow, frozen]) assertEquals((await scene.ended(jid)).state, "succeeded");
      slow.line.release();
      frozen.worker.kill("SIGCONT");
      // They are back, and perform the next jobs.
      await scene.bench.until(
        async () => (await scene.workers()).filter(({ alive }) => alive).length === 3,
        "they are back",
      );
      const next = await Promise.all([1, 2, 3, 4, 5, 6].map(() => scene.push(["note", scene.notes, 0.2])));
      for (const one of next) assertEquals((await scene.ended(one)).state, "succeeded");
      assertEquals((await scene.noted()).sort(), [slow.jid, frozen.jid, ...next].sort());
    },
  },
];

/** Every request of a worker in its life after its registration. */
const REQUESTS = ["take", "settle", "heartbeat"] as const;

async function performs(scene: Scene, requests: readonly string[], faults: readonly Fault[]): Promise<void> {
  const line = await scene.line();
  for (const request of requests) line.spoil(request, ...faults);
  const worker = await scene.start({ url: line.url });
  const jids: string[] = [];
  // Further requests meet the faults that are left.
  while (line.left > 0) {
    const jid = await scene.push(["note", scene.notes, 0]);
    jids.push(jid);
    const { state, attempt } = await scene.ended(jid);
    assertEquals([state, attempt], ["succeeded", 1], worker.text);
  }
  line.spoil("deregister", "cut after");
  await scene.command("stop");
  assertEquals(await ending(worker), true, worker.text);
  assertEquals((await scene.noted()).sort(), jids.sort());
  assertEquals(await scene.workers(), []);
}
