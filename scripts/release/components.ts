/**
 * The parts of other projects in the executable: npm packages, the runtime, the font and the icons of the dashboard.
 *
 * The bundler names the file of each module in a comment, and the executable contains the bundle as text. So the packages
 * are read out of the executable itself: a new dependency appears by itself, and one that no module imports doesn't.
 *
 * @module
 */
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { deno, ROOT } from "../bundle.ts";

/** The texts of those that are published without one. */
const LICENSES = join(ROOT, "packaging/licenses");

/** One part. */
export interface Component {
  readonly name: string;
  readonly version?: string;
  readonly type: "library" | "platform" | "data";
  readonly description: string;
  /** By SPDX: an identifier, or an expression of several. */
  readonly license: string;
  readonly text: string;
  readonly copyright: string;
  /** The package URL: `pkg:npm/hono@4.13.19`. */
  readonly purl?: string;
  /** The SHA-512 digest of the published package, in hexadecimal. */
  readonly sha512?: string;
  /** Names of the parts that it uses. */
  readonly uses: readonly string[];
}

/** A part can't be described. The message is one line. */
export class ComponentError extends Error {}

interface Locked {
  readonly integrity: string;
  readonly dependencies?: readonly string[];
}

const LOCKED: Readonly<Record<string, Locked>> = JSON.parse(await Deno.readTextFile(join(ROOT, "deno.lock"))).npm;

/**
 * Returns the parts of an executable, sorted by name. The versions of the runtime are those of this process, which must be
 * the Deno that compiled it.
 *
 * @throws {ComponentError} if a package isn't in the lock file, or has no license
 */
export async function componentsOf(executable: Uint8Array): Promise<Component[]> {
  const text = new TextDecoder("latin1").decode(executable);
  const found = text.matchAll(/^\/\/ \S*?npm\/([^/\s]+)\/((?:@[^/\s]+\/)?[^/\s]+)\/(\d[^/\s]*)\//gm);
  const packages = new Map([...found].map(([, registry, name, version]) => [`${name}@${version}`, registry!]));
  if (packages.size === 0) {
    throw new ComponentError("The executable names no packages: expected one of scripts/compile.ts");
  }
  const cache = join((JSON.parse((await deno(["info", "--json"], ROOT)).stdout) as { denoDir: string }).denoDir, "npm");
  const parts = await Promise.all([
    ...[...packages].map(([id, registry]) => packageOf(id, join(cache, registry))),
    ...RUNTIME.map(async ({ version, ...part }) => ({ ...part, version: version(), ...await ownText(part.name) })),
    ...ASSETS.map(asset),
  ]);
  return parts.sort((a, b) => a.name < b.name ? -1 : 1);
}

/** Describes an npm package by the lock file and the files in it. */
async function packageOf(id: string, registry: string): Promise<Component> {
  const at = id.lastIndexOf("@");
  const [name, version] = [id.slice(0, at), id.slice(at + 1)];
  const { integrity, dependencies = [] } = lockedPackage(id);
  const folder = join(registry, name, version);
  const { license, description = "", author } = JSON.parse(await Deno.readTextFile(join(folder, "package.json")));
  if (typeof license !== "string") throw new ComponentError(`${id} states no license in its package.json`);
  const names = (await Array.fromAsync(Deno.readDir(folder))).map((entry) => entry.name).sort();
  const files = names.filter((file) => /^(licen[cs]e|copying|notice)/i.test(file));
  const texts = await Promise.all(files.map((file) => Deno.readTextFile(join(folder, file))));
  const { text, copyright } = files.length > 0 ? withCopyright(texts.join("\n")) : await ownText(name);
  return {
    ...{ name, version, type: "library", description, license, text },
    copyright: copyright || (author?.name ?? author ?? `The authors of ${name}`),
    purl: `pkg:npm/${name.replace("@", "%40")}@${version}`,
    sha512: sha512Of(integrity),
    // A dependency is `name`, or `name@version` if there are several.
    uses: dependencies.map((dependency) => dependency.replace(/(?<=.)@.*/, "")),
  };
}

/** Returns the entry of the lock file, whose key may also name the versions of peers. */
function lockedPackage(id: string): Locked {
  const key = Object.keys(LOCKED).find((key) => key === id || key.startsWith(`${id}_`));
  if (key === undefined) throw new ComponentError(`${id} is in the executable, but not in deno.lock`);
  return LOCKED[key]!;
}

function sha512Of(integrity: string): string {
  return Uint8Array.fromBase64(integrity.replace(/^sha512-/, "")).toHex();
}

/** The runtime, and the two parts of it that jobs depend on. */
const RUNTIME = [
  {
    name: "deno",
    version: () => Deno.version.deno,
    type: "platform",
    description: "The runtime",
    license: "MIT",
    get purl() {
      return `pkg:github/denoland/deno@v${Deno.version.deno}`;
    },
    uses: ["v8", "sqlite"],
  },
  {
    name: "v8",
    version: () => Deno.version.v8,
    type: "platform",
    description: "The JavaScript engine, part of the runtime",
    license: "BSD-3-Clause",
    get purl() {
      return `pkg:github/v8/v8@${Deno.version.v8.replace(/-.*/, "")}`;
    },
    uses: [],
  },
  {
    name: "sqlite",
    version: sqliteVersion,
    type: "library",
    description: "The database, part of the runtime",
    license: "blessing",
    get purl() {
      return `pkg:generic/sqlite@${sqliteVersion()}`;
    },
    uses: [],
  },
] as const;

function sqliteVersion(): string {
  using database = new DatabaseSync(":memory:");
  return (database.prepare("SELECT sqlite_version() AS version").get() as { version: string }).version;
}

/** The font and the icons of the dashboard, with the files of their licenses. */
export const ASSETS = [
  {
    file: "src/web/assets/inter.LICENSE.txt",
    name: "inter",
    description: "The font of the dashboard, a subset",
    license: "OFL-1.1",
    from: "@fontsource-variable/inter",
  },
  {
    file: "src/web/assets/lucide.LICENSE.txt",
    name: "lucide",
    description: "Icons of the dashboard",
    license: "ISC",
    from: undefined,
  },
] as const;

async function asset({ file, from, ...part }: typeof ASSETS[number]): Promise<Component> {
  const text = withCopyright(await Deno.readTextFile(join(ROOT, file)));
  const common = { ...part, ...text, type: "data", uses: [] } as const;
  if (from === undefined) return common;
  const [id, { integrity }] = Object.entries(LOCKED).find(([key]) => key.startsWith(`${from}@`))!;
  const version = id.slice(from.length + 1);
  return { ...common, version, purl: `pkg:npm/${from.replace("@", "%40")}@${version}`, sha512: sha512Of(integrity) };
}

/** Reads the license of a part that has no file with it. */
async function ownText(name: string): Promise<{ text: string; copyright: string }> {
  const path = `${name.replace("/", "+")}.txt`;
  const text = await Deno.readTextFile(join(LICENSES, path)).catch((error) => {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
    throw new ComponentError(`${name} has no file with its license: put the text into packaging/licenses/${path}`);
  });
  return withCopyright(text);
}

function withCopyright(text: string): { text: string; copyright: string } {
  const lines = text.split("\n").map((line) => line.trim());
  const copyright = lines.filter((line) => /^copyright (\(c\)|©|\d{4})/i.test(line)).join("\n");
  return { text: text.trim(), copyright: copyright || (/public domain/.test(text) ? "None: public domain" : "") };
}
