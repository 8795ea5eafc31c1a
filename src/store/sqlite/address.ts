/**
 * `sqlite:` addresses → a path and what the address says about it.
 *
 * @module
 */
import { StoreError } from "../port/errors.ts";

/** A parsed address. */
export interface SqliteAddress {
  /** A file, or `:memory:`. */
  readonly path: string;
  readonly durability?: "full" | "normal";
}

/**
 * `sqlite:jobs.db` (relative), `sqlite:/var/lib/jobs.db`, `sqlite:///var/lib/jobs.db`, `sqlite:~/jobs.db`,
 * `sqlite::memory:`; each with `?durability=normal` behind it, if wanted.
 *
 * @param home for `~/`
 * @throws {StoreError} when it cannot be read
 */
export function parseAddress(url: string, home: string | undefined): SqliteAddress {
  const [place = "", query = ""] = url.slice("sqlite:".length).split("?", 2);
  const path = expandHome(place.startsWith("//") ? decodeUrl(place.slice(2)) : place, home);
  if (path === "") throw new StoreError("wrong", `Store "${url}" names no file; wanted: sqlite:PATH`);
  const parameters = new URLSearchParams(query);
  for (const name of parameters.keys()) {
    if (name !== "durability") {
      throw new StoreError("wrong", `Store "${url}": unknown parameter "${name}"; known: durability`);
    }
  }
  const durability = parameters.get("durability");
  if (durability !== null && durability !== "full" && durability !== "normal") {
    throw new StoreError("wrong", `Store "${url}": durability is "${durability}"; wanted: full or normal`);
  }
  return { path, ...(durability !== null && { durability }) };
}

function expandHome(path: string, home: string | undefined): string {
  if (!path.startsWith("~/")) return path;
  if (home === undefined) {
    throw new StoreError("wrong", `Store "sqlite:${path}": HOME is not set; name the file from the root, sqlite:/PATH`);
  }
  return `${home}${path.slice(1)}`;
}

/** What is no URL's text stays as it is: a file may be called `100%.db`. */
function decodeUrl(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
