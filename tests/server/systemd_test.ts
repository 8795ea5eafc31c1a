/** The notifications of a real process to systemd, received by a socket of the test. */
import { assertEquals, assertMatch } from "@std/assert";
import { Bench } from "../support/bench.ts";
import { until } from "../support/eventually.ts";
import { requireTool } from "../support/tools.ts";

/** Prints the time and text of each message as a line. Ruby, because Deno has no such sockets, and other tests need Ruby, too. */
const LISTENER = `
socket = Socket.new(:UNIX, :DGRAM)
socket.bind(Socket.sockaddr_un(ARGV[0].sub(/\\A@/, "\\0")))
$stdout.sync = true
puts "listening"
loop { message = socket.recv(4096); puts "#{(Time.now.to_f * 1000).to_i} #{message.gsub("\\n", "; ")}" }
`;

/** Reads nothing, and fills the queue of the address. */
const FULL = `
address = Socket.sockaddr_un(ARGV[0])
socket = Socket.new(:UNIX, :DGRAM)
socket.bind(address)
sender = Socket.new(:UNIX, :DGRAM)
begin
  loop { sender.sendmsg_nonblock("x", 0, address) }
rescue IO::WaitWritable
end
$stdout.sync = true
puts "full"
sleep
`;

/** Receives the messages at an address. */
class Listener implements AsyncDisposable {
  readonly heard: string[] = [];
  /** The time of each message, in epoch milliseconds. */
  readonly times: number[] = [];
  readonly #child: Deno.ChildProcess;
  readonly #reading: Promise<void>;

  constructor(address: string, script = LISTENER) {
    requireTool("ruby");
    this.#child = new Deno.Command("ruby", {
      args: ["-rsocket", "-e", script, address],
      stdin: "null",
      stdout: "piped",
    }).spawn();
    this.#reading = this.#read();
  }

  async has(line: string, count = 1): Promise<void> {
    await until(() => this.heard.filter((one) => one.includes(line)).length >= count, `"${line}"`);
  }

  async #read(): Promise<void> {
    let rest = "";
    for await (const text of this.#child.stdout.pipeThrough(new TextDecoderStream())) {
      const lines = (rest + text).split("\n");
      rest = lines.pop()!;
      for (const line of lines) {
        const [, time, message] = /^(?:(\d+) )?(.*)$/.exec(line)!;
        this.times.push(Number(time));
        this.heard.push(message!);
      }
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#child.kill("SIGKILL");
    await this.#reading;
    await this.#child.status;
  }
}

for (const kind of ["a path", "an abstract name"]) {
  Deno.test(`systemd, at ${kind}, is notified that the worker is ready, alive, and stopping`, async () => {
    await using bench = await Bench.open();
    const address = kind === "a path" ? `${bench.folder}/notify` : `@jobs-test-${bench.folder}`;
    await using systemd = new Listener(address);
    await systemd.has("listening");
    await using server = await bench.server(["-c", "1"], { NOTIFY_SOCKET: address, WATCHDOG_USEC: "100000" });
    await systemd.has("WATCHDOG=1", 3);
    assertMatch(systemd.heard[1]!, /^READY=1; STATUS=Taking jobs as \S+$/);
    const jid = await bench.push("Listen", [bench.notes]);
    await bench.noted(`start ${jid}`);
    server.kill("SIGTERM");
    await systemd.has("STOPPING=1");
    await bench.go();
    assertEquals((await server.status()).code, 0);
    assertEquals(await bench.readNotes(), [`start ${jid}`, `end ${jid}`]);
    assertEquals(systemd.heard.filter((line) => !line.startsWith("WATCHDOG")).length, 3);
  });
}

Deno.test("a blocked event loop sends no watchdog notification", async () => {
  await using bench = await Bench.open();
  const address = `${bench.folder}/notify`;
  await using systemd = new Listener(address);
  await systemd.has("listening");
  await using _server = await bench.server(["-c", "1"], { NOTIFY_SOCKET: address, WATCHDOG_USEC: "100000" });
  await systemd.has("WATCHDOG=1");
  const jid = await bench.push("Block", [bench.notes, 1_500]);
  await bench.noted(`start ${jid}`);
  await bench.until(async () => (await bench.store.admin.stats()).running === 1);
  const before = systemd.heard.length;
  await bench.noted(`end ${jid}`);
  const end = (await Deno.stat(bench.notes)).mtime!.getTime();
  // Later messages have arrived, and therefore all earlier ones.
  await until(() => systemd.times.some((time) => time > end), "it is said to live again");
  // Thirty would have been due. A message that was sent before the block may still arrive.
  const meanwhile = systemd.times.slice(before).filter((time) => time < end);
  assertEquals(meanwhile.length <= 3, true, `${meanwhile.length} messages`);
});

Deno.test("a watchdog that is set for another process is ignored", async () => {
  await using bench = await Bench.open();
  const address = `${bench.folder}/notify`;
  await using systemd = new Listener(address);
  await systemd.has("listening");
  const env = { NOTIFY_SOCKET: address, WATCHDOG_USEC: "1000", WATCHDOG_PID: "1" };
  await using server = await bench.server(["-c", "1"], env);
  await bench.push("Sleep", [bench.notes, 100]);
  await bench.until(async () => (await bench.store.admin.stats()).processed === 1);
  server.kill("SIGTERM");
  await server.status();
  await systemd.has("STOPPING=1");
  assertEquals(systemd.heard.filter((line) => line.startsWith("WATCHDOG")), []);
});

Deno.test("processes that jobs start do not receive the socket", async () => {
  await using bench = await Bench.open();
  const address = `${bench.folder}/notify`;
  await using systemd = new Listener(address);
  await systemd.has("listening");
  await using _server = await bench.server(["-c", "1"], { NOTIFY_SOCKET: address, WATCHDOG_USEC: "10000000" });
  await bench.push("Environment", [bench.notes]);
  await bench.until(async () => (await bench.readNotes()).includes("end of environment"));
  const names = (await bench.readNotes()).map((line) => line.split("=")[0]);
  assertEquals(names.filter((name) => /NOTIFY_SOCKET|WATCHDOG/.test(name!)), []);
  assertEquals(names.includes("PATH"), true);
});

Deno.test("a missing socket causes one log line, and no failure", async () => {
  await using bench = await Bench.open();
  for (const address of [`${bench.folder}/missing`, "not an address", `/${"x".repeat(200)}`]) {
    await using server = await bench.server(["-c", "1"], { NOTIFY_SOCKET: address });
    await bench.until(() => server.lines.some((line) => line.name === "systemd" && line.level === "warn"));
    server.kill("SIGTERM");
    assertEquals((await server.status()).code, 0);
    assertEquals(server.lines.filter((line) => line.name === "systemd").length, 1);
  }
});

Deno.test("a socket whose receiver doesn't read delays the end of neither a worker nor the parent of several", async () => {
  await using bench = await Bench.open();
  const address = `${bench.folder}/notify`;
  await using systemd = new Listener(address, FULL);
  await systemd.has("full");
  for (const args of [[], ["--processes", "2"]]) {
    await using server = await bench.server(args, { NOTIFY_SOCKET: address });
    let code: number | undefined;
    void server.status().then((status) => code = status.code);
    server.kill("SIGTERM");
    await bench.until(() => code !== undefined, "it ends");
    assertEquals(code, 0);
  }
});
