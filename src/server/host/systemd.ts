/**
 * What systemd is told about this process, as `sd_notify` does it: one datagram each to the socket that `NOTIFY_SOCKET`
 * names. Deno has no such sockets, so this asks the C library. Without the variable there is nothing to tell.
 *
 *  1. `READY=1` when jobs are taken, with a line for `systemctl status`; `STOPPING=1` when they no longer are.
 *  2. `WATCHDOG=1` twice in the time that the unit's `WatchdogSec` allows. It comes from the event loop, not from the
 *     heartbeat's thread: a loop that is stuck for good is what the watchdog is to end.
 *  3. What jobs start does not inherit the socket: it has nothing to say about this process.
 *
 * @module
 */
import { every } from "../../clock.ts";
import type { Log } from "../../log/log.ts";

const AF_UNIX = 1;
const SOCK_DGRAM = 2;
const SOCK_CLOEXEC = 0o2000000;
const MSG_NOSIGNAL = 0x4000;
/** Room for the address in the kernel's structure, beside its kind. */
const MAX_ADDRESS = 108;

const SYMBOLS = {
  socket: { parameters: ["i32", "i32", "i32"], result: "i32" },
  // Not in this thread: it waits while systemd is busy.
  sendto: { parameters: ["i32", "buffer", "usize", "i32", "buffer", "u32"], result: "isize", nonblocking: true },
  close: { parameters: ["i32"], result: "i32" },
} as const satisfies Deno.ForeignLibraryInterface;

/** Speaks to systemd. */
export class Systemd implements AsyncDisposable {
  readonly #address: Uint8Array<ArrayBuffer>;
  readonly #watchdogMs: number | undefined;
  readonly #log: Log;
  readonly #libc = Deno.dlopen("libc.so.6", SYMBOLS);
  readonly #socket = this.#libc.symbols.socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  #said: Promise<void> = Promise.resolve();
  #failing = false;
  #endWatchdog: () => void = () => {};

  private constructor(address: Uint8Array<ArrayBuffer>, watchdogMs: number | undefined, log: Log) {
    this.#address = address;
    this.#watchdogMs = watchdogMs;
    this.#log = log;
  }

  /** The systemd that started this process, if one did and wants to be told; takes its variables away. */
  static fromEnvironment(log: Log): Systemd | undefined {
    const name = takeVariable("NOTIFY_SOCKET");
    const microseconds = takeVariable("WATCHDOG_USEC");
    const watched = takeVariable("WATCHDOG_PID");
    if (name === undefined) return undefined;
    const address = socketAddress(name);
    if (address === undefined) {
      log.warn("NOTIFY_SOCKET is no address of a Unix socket: systemd is not told", { address: name });
      return undefined;
    }
    const isWatched = Number(microseconds) > 0 && (watched === undefined || Number(watched) === Deno.pid);
    return new Systemd(address, isWatched ? Number(microseconds) / 1_000 : undefined, log);
  }

  /** Says that jobs are taken, and from now on that the event loop turns. */
  ready(status: string): void {
    this.#tell(`READY=1\nSTATUS=${status}`);
    if (this.#watchdogMs === undefined) return;
    this.#endWatchdog = every(this.#watchdogMs / 2, () => this.#tell("WATCHDOG=1"));
  }

  /** Says that no more jobs are taken. The watchdog goes on: stopping can get stuck, too. */
  stopping(): void {
    this.#tell("STOPPING=1\nSTATUS=Waiting for running jobs");
  }

  /** Says what is not said yet, and closes. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#endWatchdog();
    await this.#said;
    this.#libc.symbols.close(this.#socket);
    this.#libc.close();
  }

  /** One message after the other. */
  #tell(message: string): void {
    this.#said = this.#said.then(async () => {
      const bytes = new TextEncoder().encode(message);
      const { sendto } = this.#libc.symbols;
      const address = this.#address;
      const size = BigInt(bytes.length);
      const sent = await sendto(this.#socket, bytes, size, MSG_NOSIGNAL, address, address.length);
      if (sent < 0 && !this.#failing) this.#log.warn("Cannot reach systemd: NOTIFY_SOCKET leads nowhere", { message });
      this.#failing = sent < 0;
    });
  }
}

/** A variable's value; it is gone then. */
function takeVariable(name: string): string | undefined {
  const value = Deno.env.get(name);
  Deno.env.delete(name);
  return value === "" ? undefined : value;
}

/** The kernel's form of `/path`, or of `@name` for one that is not in the file system; undefined for anything else. */
function socketAddress(name: string): Uint8Array<ArrayBuffer> | undefined {
  const bytes = new TextEncoder().encode(name);
  if (!/^[/@]./.test(name) || bytes.length >= MAX_ADDRESS) return undefined;
  const isPath = name.startsWith("/");
  const address = new Uint8Array(2 + bytes.length + (isPath ? 1 : 0));
  address[0] = AF_UNIX; // in the order of bytes of all machines that Deno runs on
  address.set(bytes, 2);
  if (!isPath) address[2] = 0;
  return address;
}
