/**
 * Messages to systemd, like those of `sd_notify`: one datagram each to the socket that `NOTIFY_SOCKET` names. Deno has no such
 * sockets, so this calls the C library. Without the variable nothing is sent.
 *
 *  1. `READY=1` when the worker takes jobs, with a line for `systemctl status`; `STOPPING=1` when it no longer does.
 *  2. `WATCHDOG=1` twice per `WatchdogSec` of the unit. The event loop sends it, not the heartbeat's thread: the watchdog is to
 *     end a process whose event loop is stuck.
 *  3. Processes that jobs start don't inherit the socket.
 *
 * @module
 */
import { every, systemClock } from "../../clock.ts";
import type { Log } from "../../log/log.ts";

const AF_UNIX = 1;
const SOCK_DGRAM = 2;
const SOCK_CLOEXEC = 0o2000000;
const MSG_NOSIGNAL = 0x4000;
/** How long the end waits for pending messages: a receiver that doesn't read blocks them. */
const END_TIMEOUT_MS = 250;
/** Length of the address in the kernel's structure, without its family. */
const MAX_ADDRESS = 108;

const SYMBOLS = {
  socket: { parameters: ["i32", "i32", "i32"], result: "i32" },
  // Not in this thread: it waits while systemd is busy.
  sendto: { parameters: ["i32", "buffer", "usize", "i32", "buffer", "u32"], result: "isize", nonblocking: true },
  close: { parameters: ["i32"], result: "i32" },
} as const satisfies Deno.ForeignLibraryInterface;

export class Systemd implements AsyncDisposable {
  readonly #address: Uint8Array<ArrayBuffer>;
  readonly #watchdogMs: number | undefined;
  readonly #log: Log;
  readonly #libc = Deno.dlopen("libc.so.6", SYMBOLS);
  readonly #socket = this.#libc.symbols.socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  #sent: Promise<void> = Promise.resolve();
  #failing = false;
  #endWatchdog: () => void = () => {};

  private constructor(address: Uint8Array<ArrayBuffer>, watchdogMs: number | undefined, log: Log) {
    this.#address = address;
    this.#watchdogMs = watchdogMs;
    this.#log = log;
  }

  /** Opens the socket that the environment names, if there is one, and removes the variables. */
  static fromEnvironment(log: Log): Systemd | undefined {
    const name = takeVariable("NOTIFY_SOCKET");
    const microseconds = takeVariable("WATCHDOG_USEC");
    const watched = takeVariable("WATCHDOG_PID");
    if (name === undefined) return undefined;
    const address = socketAddress(name);
    if (address === undefined) {
      log.warn("Invalid NOTIFY_SOCKET: expected a Unix socket; systemd is not notified", { address: name });
      return undefined;
    }
    const isWatched = Number(microseconds) > 0 && (watched === undefined || Number(watched) === Deno.pid);
    return new Systemd(address, isWatched ? Number(microseconds) / 1_000 : undefined, log);
  }

  /** Reports that the worker takes jobs, and from then on that the event loop turns. */
  ready(status: string): void {
    this.#send(`READY=1\nSTATUS=${status}`);
    if (this.#watchdogMs === undefined) return;
    this.#endWatchdog = every(this.#watchdogMs / 2, () => this.#send("WATCHDOG=1"));
  }

  /** Reports that the worker takes no more jobs. The watchdog continues: a stop can hang, too. */
  stopping(): void {
    this.#send("STOPPING=1\nSTATUS=Waiting for running jobs");
  }

  /** Sends the pending messages, and closes the socket. If the receiver doesn't read, they are lost. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#endWatchdog();
    const over = new AbortController();
    const late = systemClock.sleep(END_TIMEOUT_MS, over.signal).then(() => true);
    // A thread still uses the socket then. It ends with the process.
    if (await Promise.race([this.#sent, late])) return;
    over.abort();
    this.#libc.symbols.close(this.#socket);
    this.#libc.close();
  }

  #send(message: string): void {
    this.#sent = this.#sent.then(async () => {
      const bytes = new TextEncoder().encode(message);
      const { sendto } = this.#libc.symbols;
      const address = this.#address;
      const size = BigInt(bytes.length);
      const sent = await sendto(this.#socket, bytes, size, MSG_NOSIGNAL, address, address.length);
      if (sent < 0 && !this.#failing) this.#log.warn("Cannot reach systemd at NOTIFY_SOCKET", { message });
      this.#failing = sent < 0;
    });
  }
}

/** Returns the value of a variable, and removes it. */
function takeVariable(name: string): string | undefined {
  const value = Deno.env.get(name);
  Deno.env.delete(name);
  return value === "" ? undefined : value;
}

/** Returns the kernel's form of `/path`, or of `@name` for an abstract socket; undefined for anything else. */
function socketAddress(name: string): Uint8Array<ArrayBuffer> | undefined {
  const bytes = new TextEncoder().encode(name);
  if (!/^[/@]./.test(name) || bytes.length >= MAX_ADDRESS) return undefined;
  const isPath = name.startsWith("/");
  const address = new Uint8Array(2 + bytes.length + (isPath ? 1 : 0));
  address[0] = AF_UNIX; // little-endian, like all machines that Deno runs on
  address.set(bytes, 2);
  if (!isPath) address[2] = 0;
  return address;
}
