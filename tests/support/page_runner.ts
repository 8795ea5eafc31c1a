/**
 * Runs the commands of a documentation page as a reader would: in one shell, from top to bottom, in a temporary folder.
 *
 * - A block after a line that ends in `` `NAME`: `` is written to the file NAME.
 * - `sh`: each command must succeed. `console`: each line that begins with `$ ` is a command, and the lines below it are
 *   the output. `…` stands for anything, a line `…` for any lines. IDs, times, durations and sizes may differ.
 * - `jobs run`, `jobs web` and `jobs top` run in the background until the page ends.
 * - Blocks with the word `ignore` are skipped. An HTML comment above has the reason.
 *
 * @module
 */
import { join } from "node:path";
import { jobsCommand } from "./command.ts";
import { temporaryFolder } from "./process.ts";
import { freePort } from "./redis.ts";

/** One fenced block of a page. */
export interface Block {
  readonly language: string;
  readonly isIgnored: boolean;
  /** The file that the line above names. */
  readonly file: string | undefined;
  readonly text: string;
  /** Line of the page, from 1. */
  readonly line: number;
}

/** Languages of blocks that are run. A script that a page saves is `bash`. */
const COMMANDS: ReadonlySet<string> = new Set(["sh", "console"]);

/** Returns the fenced blocks of a Markdown text. */
export function blocksOf(markdown: string): Block[] {
  const blocks: Block[] = [];
  const lines = markdown.split("\n");
  for (let i = 0; i < lines.length; i++) {
    const fence = lines[i]!.match(/^```(\w+)(.*)$/);
    if (fence === null) continue;
    const start = i++;
    while (i < lines.length && lines[i] !== "```") i++;
    const above = lines.slice(0, start).findLast((line) => line.trim() !== "") ?? "";
    blocks.push({
      language: fence[1]!,
      isIgnored: /\bignore\b/.test(fence[2]!),
      file: COMMANDS.has(fence[1]!) ? undefined : above.match(/`([\w./-]+)`:$/)?.[1],
      text: lines.slice(start + 1, i).join("\n"),
      line: start + 1,
    });
  }
  return blocks;
}

/** How a page runs. */
export interface PageOptions {
  /** Addresses in the page and those that are used instead: `redis://localhost:6379` → a test's server. */
  readonly replace?: Readonly<Record<string, string>>;
  /** Variables of the shell, in addition to HOME and PATH. */
  readonly env?: Readonly<Record<string, string>>;
}

/**
 * Runs a page. Returns the number of commands.
 *
 * @throws {Error} with the page's line, the command and its output, if a command fails or prints other lines than shown
 */
export async function runPage(path: string, { replace = {}, env = {} }: PageOptions = {}): Promise<number> {
  await using folder = await temporaryFolder();
  await using shell = await Shell.open(folder.path, { ...replace, "7433": `${freePort()}` }, env);
  let count = 0;
  for (const block of blocksOf(await Deno.readTextFile(path))) {
    if (block.isIgnored && block.file === undefined) continue;
    const fail = (command: string, reason: string) =>
      new Error(`${path}:${block.line}: ${reason}\n$ ${command}\n${shell.output}`);
    if (block.file !== undefined) await shell.write(block.file, block.text);
    else if (block.language === "sh" || block.language === "console") {
      for (const { command, expected } of commandsOf(block)) {
        count++;
        const code = await shell.run(command);
        if (code !== 0 && block.language === "sh") throw fail(command, `exit code ${code}`);
        if (expected === undefined) continue;
        if (!matches(expected, shell.output)) throw fail(command, `other output than shown:\n${expected}\n--`);
        shell.learnJids(expected);
      }
    }
  }
  return count;
}

/** The commands of a block; with the lines they print in a `console` block. */
function commandsOf({ language, text }: Block): { command: string; expected?: string }[] {
  if (language === "sh") {
    const commands = isOneScript(text) ? [text] : text.split("\n").filter(isCommand);
    return commands.map((command) => ({ command }));
  }
  return text.split(/^\$ /m).filter((part) => part.trim() !== "").map((part) => {
    const [command, ...output] = part.split("\n");
    return { command: command!, expected: output.join("\n").trim() };
  });
}

/** Whether the lines only work together: a here-document, a loop, a continued line. */
function isOneScript(text: string): boolean {
  return /\\\n|<<|\bdone$|^\}$|'$/m.test(text);
}

function isCommand(line: string): boolean {
  return line.trim() !== "" && !line.startsWith("#");
}

/** Whether the output is the expected one; see the head of this file. */
export function matches(expected: string, output: string): boolean {
  if (expected === "") return true;
  const pattern = normalize(expected).split("\n").map((line) =>
    line.trim() === "…" ? "[^]*" : line.split("…").map(escape).join(".*")
  ).join("\n");
  return new RegExp(`^${pattern}\n?$`).test(normalize(output).trim());
}

function normalize(text: string): string {
  return text
    .replaceAll(/\b[0-9a-f]{24}\b/g, "JID")
    .replaceAll(/\b\d{4}-\d\d-\d\d[T ][\d:.]+Z?\b/g, "TIME")
    .replaceAll(/\b\d+(\.\d+)? ?(ms|s|m|h|d|MB|kB|GB)(?=\b|\d)/g, "N")
    .replaceAll(/N(N| N)*/g, "N")
    .replaceAll(/\b(now|N ago)\b/g, "AGE")
    .replaceAll(/[ \t]+/g, " ")
    .replaceAll(/ $/gm, "");
}

function escape(text: string): string {
  return text.replaceAll(/[\\^$.*+?()[\]{}|]/g, "\\$&");
}

const JID = /\b[0-9a-f]{24}\b/g;

/** Encloses the exit code of a command in the output of the shell. */
const MARK = "@@page-runner@@";
const END = new RegExp(`^([^]*?)${MARK}(\\d+)${MARK}`);

/** A bash that runs one command after the other. */
class Shell implements AsyncDisposable {
  /** The output of the last command, stdout and stderr. */
  output = "";
  readonly #child: Deno.ChildProcess;
  readonly #writer: WritableStreamDefaultWriter<Uint8Array>;
  readonly #reader: ReadableStreamDefaultReader<string>;
  readonly #jids = new Map<string, string>();
  #rest = "";
  #services = 0;
  #isStuck = false;

  private constructor(
    readonly folder: string,
    readonly replace: Readonly<Record<string, string>>,
    env: Record<string, string>,
  ) {
    this.#child = new Deno.Command("bash", {
      args: ["--norc", "--noprofile"],
      cwd: folder,
      clearEnv: true,
      detached: true, // leads a process group
      env,
      stdin: "piped",
      stdout: "piped",
      stderr: "null",
    }).spawn();
    this.#writer = this.#child.stdin.getWriter();
    this.#reader = this.#child.stdout.pipeThrough(new TextDecoderStream()).getReader();
  }

  static async open(
    folder: string,
    replace: Readonly<Record<string, string>>,
    env: Readonly<Record<string, string>>,
  ): Promise<Shell> {
    const root = new URL("../../", import.meta.url).pathname;
    await Deno.mkdir(`${folder}/.bin`);
    const quoted = jobsCommand().map((word) => `'${word}'`).join(" ");
    await Deno.writeTextFile(`${folder}/.bin/jobs`, `#!/bin/sh\nexec ${quoted} "$@"\n`, { mode: 0o755 });
    await Deno.symlink(`${folder}/.bin/jobs`, `${folder}/jobs`);
    await Deno.symlink(`${root}examples`, `${folder}/examples`);
    const path = Deno.env.get("PATH") ?? "/usr/bin:/bin";
    const cache = Deno.env.get("DENO_DIR") ?? `${Deno.env.get("HOME")}/.cache/deno`;
    const shell = new Shell(folder, replace, {
      HOME: folder,
      PATH: `${folder}/.bin:${path}`,
      LANG: "C.UTF-8",
      NO_COLOR: "1",
      COLUMNS: "160",
      DENO_DIR: cache,
      TMPDIR: Deno.env.get("TMPDIR") ?? "/tmp",
      ...env,
    });
    // As `jobs shell-init` does, which has tests: the builtin comes before a program of the same name.
    const init = 'jobs() { case ${1-} in ""|-*|%*) builtin jobs "$@" ;; *) env jobs "$@" ;; esac; }';
    await shell.#send(`exec 2>&1\n${init}\n`);
    return shell;
  }

  #send(text: string): Promise<void> {
    return this.#writer.write(new TextEncoder().encode(text));
  }

  async write(name: string, text: string): Promise<void> {
    const path = join(this.folder, name);
    await Deno.mkdir(join(path, ".."), { recursive: true });
    await Deno.writeTextFile(path, `${this.#replaced(text)}\n`, { mode: text.startsWith("#!") ? 0o755 : 0o644 });
  }

  /** Runs a command; returns its exit code. */
  async run(command: string): Promise<number> {
    const isService = /^(\.\/)?(env )?jobs (run|web|top)\b(?!.*--(burst|once|help))/.test(command);
    const line = this.#replaced(command.replace(/\s+#\s.*$/m, ""));
    const log = `.service-${this.#services}.log`;
    // Ends when it is ready, or, with its log as the output, when it has ended.
    // A worker prints the address of its dashboard earlier.
    const sign = /\bjobs run\b/.test(command) ? "-e Ready" : "-e Ready -e http://";
    const ready = `until grep -q ${sign} ${log}; do kill -0 $! || { cat ${log}; false; break; }; sleep 0.05; done`;
    const text = isService
      ? `${line.replace(/ ?&$/, "")} >${log} 2>&1 </dev/null &\nservices="$services $!"\n${ready}`
      : line;
    if (isService) this.#services++;
    await this.#send(`{ ${text}\n} </dev/null\nprintf '%s%s%s' ${MARK} $? ${MARK}\n`);
    const deadline = AbortSignal.timeout(60_000);
    for (;;) {
      const end = this.#rest.match(END);
      if (end !== null) {
        this.output = end[1]!;
        this.#rest = this.#rest.slice(end[0].length);
        return Number(end[2]);
      }
      const { promise, reject } = Promise.withResolvers<never>();
      const onAbort = () => {
        this.#isStuck = true;
        reject(new Error(`No end of: ${command}\n${this.#rest}`));
      };
      deadline.addEventListener("abort", onAbort);
      const { value, done } = await Promise.race([this.#reader.read(), promise]);
      deadline.removeEventListener("abort", onAbort);
      if (done) throw new Error(`The shell ended after: ${command}\n${this.#rest}`);
      this.#rest += value;
    }
  }

  /** Notes which job IDs of the last output stand for those that the page shows: later commands may name them. */
  learnJids(shown: string): void {
    const actual = this.output.match(JID) ?? [];
    for (const [i, jid] of (shown.match(JID) ?? []).entries()) if (actual[i]) this.#jids.set(jid, actual[i]);
  }

  #replaced(text: string): string {
    let replaced = text;
    for (const [from, to] of [...Object.entries(this.replace), ...this.#jids]) replaced = replaced.replaceAll(from, to);
    return replaced;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#isStuck) Deno.kill(-this.#child.pid, "SIGKILL"); // with all that it started
    await this.#writer.write(new TextEncoder().encode("kill $services; wait; exit\n")).catch(() => {});
    await this.#writer.close().catch(() => {});
    for (;;) {
      const { done } = await this.#reader.read().catch(() => ({ done: true }));
      if (done) break;
    }
    await this.#child.status;
  }
}
