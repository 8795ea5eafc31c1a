/**
 * Parses `sqlite:` addresses.
 *
 * @module
 */
import { StoreError } from "../port/errors.ts";

/** A parsed address. */
export interface SqliteAddress {
  /** A file, or `:memory:`. */
  readonly path: string;
  readonly durability?: "full" | "normal";
  /** The name of a store in memory that all of this process share. */
  readonly memory?: string;
}

const MEMORY = ":memory:";

/**
 * `sqlite:jobs.db` (relative), `sqlite:/var/lib/jobs.db`, `sqlite:///var/lib/jobs.db`, `sqlite:~/jobs.db`,
 * `sqlite::memory:`, `sqlite::memory:NAME`; each optionally followed by `?durability=normal`.
 *
 * @param home the folder that `~/` stands for
 * @throws {StoreError} `wrong`, with the invalid part
 */
export function parseAddress(url: string, home: string | undefined): SqliteAddress {
  const [place = "", query = ""] = url.slice("sqlite:".length).split("?", 2);
  const path = expandHome(place.startsWith("//") ? decodeUrl(place.slice(2)) : place, home);
  if (path === "") throw new StoreError("wrong", `Invalid store "${url}": expected sqlite:PATH`);
  const parameters = new URLSearchParams(query);
  for (const name of parameters.keys()) {
    if (name !== "durability") {
      throw new StoreError("wrong", `Invalid store "${url}": unknown parameter "${name}", expected durability`);
    }
  }
  const durability = parameters.get("durability");
  if (durability !== null && durability !== "full" && durability !== "normal") {
    throw new StoreError("wrong", `Invalid store "${url}": durability "${durability}", expected full or normal`);
  }
  const memory = path.startsWith(MEMORY) ? path.slice(MEMORY.length) : "";
  if (memory !== "") return { path: MEMORY, memory, ...(durability !== null && { durability }) };
  return { path, ...(durability !== null && { durability }) };
}

function expandHome(path: string, home: string | undefined): string {
  if (!path.startsWith("~/")) return path;
  if (!home?.startsWith("/")) {
    throw new StoreError(
      "wrong",
      `Invalid store "sqlite:${path}": HOME is not set; use an absolute path, sqlite:/PATH`,
    );
  }
  return `${home.replace(/\/+$/, "")}${path.slice(1)}`;
}

/** Decodes percent signs. Invalid ones stay unchanged: a file may be called `100%.db`. */
function decodeUrl(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
