/**
 * A PostgreSQL server for the systems that need one, with the settings that it is installed with. A push there is synced to the
 * disk.
 *
 * @module
 */

/** A running server. */
export interface Postgres extends AsyncDisposable {
  readonly version: string;
  /** Of an empty database. */
  readonly url: string;
  /** Empties the database. */
  empty(): Promise<void>;
}

/** Starts a server with its data in a folder, as the user `postgres` if this is root. Returns why it can't. */
export async function startPostgres(parent: string): Promise<Postgres | { readonly problem: string }> {
  const folder = `${parent}/postgres`;
  const as = Deno.uid() === 0 ? ["setpriv", "--reuid", "postgres", "--regid", "postgres", "--init-groups", "--"] : [];
  const run = async (...command: string[]): Promise<string> => {
    const [program, ...args] = [...as, ...command];
    const output = await new Deno.Command(program!, { args, cwd: folder, stdin: "null" }).output();
    if (!output.success) throw new Error(new TextDecoder().decode(output.stderr).trim().split("\n").at(-1));
    return new TextDecoder().decode(output.stdout).trim();
  };
  await Deno.mkdir(folder);
  try {
    if (as.length > 0) {
      await Deno.chmod(parent, 0o755);
      const { success } = await new Deno.Command("chown", { args: ["postgres", folder] }).output();
      if (!success) return { problem: "no user postgres" };
    }
    await run("initdb", "-D", `${folder}/data`, "--auth", "trust");
    const options = `-c listen_addresses= -c unix_socket_directories=${folder}`;
    await run("pg_ctl", "-D", `${folder}/data`, "-o", options, "-l", `${folder}/log`, "-w", "start");
    const version = /[\d.]+/.exec(await run("postgres", "--version"))![0];
    const user = as.length > 0 ? "postgres" : await run("id", "-un");
    const ask = (statement: string) => run("psql", "-h", folder, "-q", "-d", "postgres", "-c", statement);
    await ask("CREATE DATABASE peers");
    return {
      version,
      url: `postgresql://${user}@/peers?host=${encodeURIComponent(folder)}`,
      empty: async () => {
        await ask("DROP DATABASE peers WITH (FORCE)");
        await ask("CREATE DATABASE peers");
      },
      [Symbol.asyncDispose]: async () => {
        await run("pg_ctl", "-D", `${folder}/data`, "-m", "immediate", "-w", "stop");
      },
    };
  } catch (error) {
    return { problem: error instanceof Deno.errors.NotFound ? "no PostgreSQL" : (error as Error).message };
  }
}
