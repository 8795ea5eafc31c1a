/**
 * The controlling terminal of this process. The kernel and the shell send HUP when it is closed, and an operator sends HUP to
 * have the configuration read again. The terminal tells which.
 *
 * @module
 */

/** HUP in the bit masks of `/proc/self/status`. */
const HUP_BIT = 1n;

/** Knows the terminal that this process was started from. */
export class ControllingTerminal {
  readonly #had: boolean;

  /** For a process that has just started. Call it before anything listens for HUP. */
  constructor() {
    // `nohup` ignores HUP: the process is to outlive its terminal.
    this.#had = hasTerminal() && !isHangupIgnored();
  }

  /** Whether the terminal has been closed. False if there was none, and under `nohup`. */
  get isClosed(): boolean {
    return this.#had && !hasTerminal();
  }
}

function hasTerminal(): boolean {
  try {
    Deno.openSync("/dev/tty").close();
    return true;
  } catch {
    return false;
  }
}

function isHangupIgnored(): boolean {
  try {
    const mask = /^SigIgn:\s*([0-9a-f]+)$/m.exec(Deno.readTextFileSync("/proc/self/status"))?.[1] ?? "0";
    return (BigInt(`0x${mask}`) & HUP_BIT) !== 0n;
  } catch {
    return false;
  }
}
