import { assertEquals, assertMatch, assertRejects, assertThrows } from "@std/assert";
import { systemClock } from "../../clock.ts";
import { KeptLog } from "../../../tests/support/log.ts";
import { ChildListener } from "./child_listener.ts";
import { SpawnError } from "./spawn_self.ts";

/** A listener whose folders are in a folder that is deleted afterwards. */
async function listening(folders = ["."]) {
  const root = await Deno.makeTempDir({ prefix: "jobs-test-" });
  const listener = new ChildListener({
    clock: systemClock,
    log: new KeptLog(),
    folders: folders.map((one) => one === "." ? root : `${root}/${one}`),
  });
  const entries = () => [...Deno.readDirSync(root)].map(({ name }) => name);
  return { listener, root, entries, [Symbol.asyncDispose]: () => Deno.remove(root, { recursive: true }) };
}

async function connect(address: string, token: string): Promise<Deno.UnixConn> {
  const socket = await Deno.connect({ transport: "unix", path: address });
  await socket.write(new TextEncoder().encode(token));
  return socket;
}

Deno.test("accepts each child by its token, and no other connection", async () => {
  await using site = await listening();
  const [first, second] = [site.listener.expect(), site.listener.expect()];
  using stranger = await connect(first.address, crypto.randomUUID());
  assertEquals(await stranger.read(new Uint8Array(1)), null);
  using child = await connect(second.address, second.token);
  using served = await second.connection;
  await served!.write(new Uint8Array([7]));
  const received = new Uint8Array(1);
  await child.read(received);
  assertEquals(received[0], 7);
  first.cancel();
  assertEquals(await first.connection, undefined);
});

Deno.test("only this user can open the socket's folder, which is deleted when no child is expected", async () => {
  await using site = await listening();
  const [first, second] = [site.listener.expect(), site.listener.expect()];
  const folder = first.address.slice(0, first.address.lastIndexOf("/"));
  assertEquals((await Deno.stat(folder)).mode! & 0o777, 0o700);
  using _child = await connect(first.address, first.token);
  using _served = await first.connection;
  assertEquals(site.entries().length, 1);
  second.cancel();
  assertEquals(site.entries(), []);
  await assertRejects(() => connect(first.address, first.token));
  const third = site.listener.expect();
  using _other = await connect(third.address, third.token);
  using _third = await third.connection;
  assertEquals(site.entries(), []);
});

Deno.test("uses the first folder in which a socket can be opened, and names all if none can", async () => {
  const tooLong = "x".repeat(110);
  await using site = await listening(["missing", tooLong, "."]);
  await Deno.mkdir(`${site.root}/${tooLong}`);
  const child = site.listener.expect();
  assertEquals(child.address.startsWith(`${site.root}/jobs-`), true);
  child.cancel();

  await using nowhere = await listening(["missing", "file"]);
  await Deno.writeTextFile(`${nowhere.root}/file`, "");
  const { message, transient } = assertThrows(() => nowhere.listener.expect(), SpawnError);
  assertMatch(
    message,
    /^Can't start a process: no folder for its socket \("[^"]+\/missing": .*; "[^"]+\/file": .*\); set TMPDIR to a writable folder$/,
  );
  assertEquals(transient, false);
});
