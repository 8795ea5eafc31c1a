/**
 * A real terminal for tests: tmux with a shell, whose screen a test can read.
 *
 * @module
 */
import { until } from "./eventually.ts";
import { requireTool } from "./tools.ts";

/** A terminal with a shell. */
export class Terminal implements AsyncDisposable {
  readonly #folder: string;

  private constructor(folder: string) {
    this.#folder = folder;
  }

  /** Opens a terminal of this size, with these environment variables. */
  static async open(columns: number, rows: number, env: Readonly<Record<string, string>> = {}): Promise<Terminal> {
    requireTool("tmux");
    const terminal = new Terminal(await Deno.makeTempDir({ prefix: "jobs-tmux-" }));
    const size = ["-x", `${columns}`, "-y", `${rows}`];
    await terminal.#tmux(["new-session", "-d", ...size, "env PS1='$ ' ENV= sh"], env);
    await using stack = new AsyncDisposableStack();
    stack.use(terminal);
    await terminal.prompts();
    stack.move();
    return terminal;
  }

  /** Presses keys: characters, or tmux's names of keys (`Enter`, `C-c`, `Down`). */
  async press(...keys: string[]): Promise<void> {
    await this.#tmux(["send-keys", ...keys]);
  }

  /** Returns the content of the screen. */
  async screen(): Promise<string> {
    return await this.#tmux(["capture-pane", "-p"]);
  }

  /**
   * Waits until the screen shows a text.
   *
   * @throws {Error} with the screen, if it doesn't in time
   */
  async sees(what: RegExp): Promise<string> {
    let screen = "";
    await until(async () => what.test(screen = await this.screen()), `${what}`).catch((error) => {
      throw new Error(`${error.message}:\n${screen}`);
    });
    return screen;
  }

  /** Waits for the prompt of the shell. A program that is about to end could read keys that are pressed earlier. */
  async prompts(): Promise<void> {
    await this.sees(/(?:^|\n)\$ *\n*$/);
  }

  /** Returns whether a program uses the alternate screen. */
  async isAlternate(): Promise<boolean> {
    return (await this.#tmux(["display-message", "-p", "#{alternate_on}"])).trim() === "1";
  }

  /** Returns whether the cursor is visible. */
  async hasCursor(): Promise<boolean> {
    return (await this.#tmux(["display-message", "-p", "#{cursor_flag}"])).trim() === "1";
  }

  /** Changes the size. */
  async resize(columns: number, rows: number): Promise<void> {
    await this.#tmux(["resize-window", "-x", `${columns}`, "-y", `${rows}`]);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#tmux(["kill-server"]);
    await Deno.remove(this.#folder, { recursive: true });
  }

  async #tmux(args: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<string> {
    const command = new Deno.Command("tmux", {
      args: ["-u", "-S", `${this.#folder}/socket`, "-f", "/dev/null", ...args],
      env: { TERM: "xterm-256color", ...env },
      stdin: "null",
    });
    const { success, stdout, stderr } = await command.output();
    const decoder = new TextDecoder();
    if (!success) throw new Error(`tmux ${args.join(" ")}: ${decoder.decode(stderr)}`);
    return decoder.decode(stdout);
  }
}
