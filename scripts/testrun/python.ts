/**
 * The variables with which a start of Python takes little processor time: tests start it hundreds of times.
 *
 * @module
 */
import { dirname } from "node:path";
import { findOnPath } from "./tools.ts";

/**
 * Returns the variables.
 *
 *  - `PATH` has the folder of the interpreter first, where `python3` is a script that selects one (pyenv), which takes longer than
 *    the interpreter.
 *  - Compiled modules are kept, even for a user whose Python doesn't keep them, but not among the sources.
 *
 * @param cache the folder for compiled modules
 */
export async function pythonVariables(cache: string): Promise<Record<string, string>> {
  const variables = { PYTHONDONTWRITEBYTECODE: "", PYTHONPYCACHEPREFIX: cache };
  const found = findOnPath("python3");
  if (found === undefined) return variables;
  const args = ["-c", "import sys; print(sys.executable)"];
  const { success, stdout } = await new Deno.Command(found, { args, stdin: "null", stderr: "null" }).output();
  const interpreter = new TextDecoder().decode(stdout).trim();
  if (!success || interpreter === found || !interpreter.startsWith("/")) return variables;
  return { ...variables, PATH: `${dirname(interpreter)}:${Deno.env.get("PATH")}` };
}
