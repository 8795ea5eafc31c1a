/**
 * The programs that tests drive, and their installation.
 *
 * @module
 */

/** One program that tests start. */
export interface Tool {
  /** The command that must be on `PATH`. */
  readonly command: string;
  /** A command that serves as well, if that one is missing. */
  readonly alternative?: string;
  /** A file that exists where it is installed, of a library, which has no command. */
  readonly file?: string;
  /** Debian's package that has it. */
  readonly package: string;
}

/** Every program that a test may require with `requireTool` of `tests/support/tools.ts`. */
export const TOOLS: readonly Tool[] = [
  { command: "redis-server", package: "redis-server" },
  { command: "psql", package: "postgresql" },
  { command: "pgbouncer", package: "pgbouncer" },
  { command: "ruby", package: "ruby" },
  { command: "sidekiq", package: "ruby-sidekiq" },
  { command: "django-admin", package: "python3-django" },
  { command: "ruby-activejob", file: "/var/lib/dpkg/info/ruby-activejob.list", package: "ruby-activejob" },
  // Without windows it takes half of the processor time.
  { command: "chromium-headless-shell", alternative: "chromium", package: "chromium-headless-shell" },
  { command: "promtool", package: "prometheus" },
  { command: "node", package: "nodejs" },
  { command: "npm", package: "npm" },
  { command: "python3", package: "python3-minimal" },
  { command: "psycopg", file: "/var/lib/dpkg/info/python3-psycopg.list", package: "python3-psycopg" },
  { command: "jq", package: "jq" },
  { command: "zsh", package: "zsh" },
  { command: "fish", package: "fish" },
  { command: "logrotate", package: "logrotate" },
  { command: "systemd-analyze", package: "systemd" },
  { command: "setpriv", package: "util-linux" },
  { command: "tmux", package: "tmux" },
  { command: "groff", package: "groff-base" },
  { command: "script", package: "bsdutils" },
  { command: "openssl", package: "openssl" },
  { command: "nginx", package: "nginx-light" },
  { command: "caddy", package: "caddy" },
  // Tests run without a network: `loopback.ts`.
  { command: "ip", package: "iproute2" },
  { command: "unshare", package: "util-linux" },
];

/** Returns the tools whose command is not on `PATH`. */
export function missingTools(tools: readonly Tool[] = TOOLS): Tool[] {
  return tools.filter((tool) => pathOf(tool) === undefined);
}

/** Returns the path of the tool's command, else of its alternative, or its file; undefined if it is not installed. */
export function pathOf({ command, alternative, file }: Tool): string | undefined {
  if (file !== undefined) return isFile(file) ? file : undefined;
  return findOnPath(command) ?? (alternative && findOnPath(alternative));
}

/** Returns the one command that installs these tools. */
export function installCommand(tools: readonly Tool[]): string {
  return `apt-get install --yes --no-install-recommends ${packagesOf(tools).join(" ")}`;
}

/** Returns whether this process may install Debian packages. */
export function canInstall(): boolean {
  return Deno.uid() === 0 && findOnPath("apt-get") !== undefined;
}

/**
 * Installs the tools with `apt-get`.
 *
 * @throws {Error} with the last lines of its output if it fails
 */
export async function install(tools: readonly Tool[]): Promise<void> {
  // A fresh machine has no package lists, and an old one may have outdated ones.
  for (const args of [["update"], ["install", "--yes", "--no-install-recommends", ...packagesOf(tools)]]) {
    const { success, stdout, stderr } = await new Deno.Command("apt-get", {
      args: ["-qq", "-o", "DPkg::Lock::Timeout=300", ...args],
      env: { DEBIAN_FRONTEND: "noninteractive" },
      stdin: "null",
    }).output();
    if (success) continue;
    const text = new TextDecoder();
    const output = `${text.decode(stdout)}${text.decode(stderr)}`.trim().split("\n").slice(-10).join("\n");
    throw new Error(`apt-get ${args.join(" ")} failed:\n${output}`);
  }
}

function packagesOf(tools: readonly Tool[]): string[] {
  return [...new Set(tools.map((tool) => tool.package))].sort();
}

function isFile(path: string): boolean {
  try {
    return Deno.statSync(path).isFile;
  } catch {
    return false;
  }
}

/** Returns the path of a command on `PATH`. */
export function findOnPath(command: string): string | undefined {
  const folders = (Deno.env.get("PATH") ?? "").split(":").filter((folder) => folder !== "");
  return folders.map((folder) => `${folder}/${command}`).find((path) => {
    try {
      const { isFile, mode } = Deno.statSync(path);
      return isFile && ((mode ?? 0) & 0o111) !== 0;
    } catch {
      return false;
    }
  });
}
