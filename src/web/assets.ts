/**
 * The files that pages load, embedded in the executable. The URL contains a hash of the content, so that browsers may keep a
 * file for a year.
 *
 * @module
 */
import { Buffer } from "node:buffer";
import { createHash } from "node:crypto";
import { gzipSync } from "node:zlib";
import icon from "./assets/icon.svg" with { type: "text" };
import font from "./assets/inter.woff2.base64" with { type: "text" };
import script from "./assets/live.js" with { type: "text" };
import chartScript from "./assets/charts.js" with { type: "text" };
import base from "./assets/style/base.css" with { type: "text" };
import cards from "./assets/style/cards.css" with { type: "text" };
import charts from "./assets/style/charts.css" with { type: "text" };
import controls from "./assets/style/controls.css" with { type: "text" };
import dark from "./assets/style/dark.css" with { type: "text" };
import filters from "./assets/style/filters.css" with { type: "text" };
import forms from "./assets/style/forms.css" with { type: "text" };
import frame from "./assets/style/frame.css" with { type: "text" };
import job from "./assets/style/job.css" with { type: "text" };
import lists from "./assets/style/lists.css" with { type: "text" };
import overview from "./assets/style/overview.css" with { type: "text" };
import states from "./assets/style/states.css" with { type: "text" };
import tokens from "./assets/style/tokens.css" with { type: "text" };
import uplotStyle from "uplot/style" with { type: "text" };
import uplot from "uplot/script" with { type: "text" };

/** One file. */
export interface Asset {
  /** The content type. */
  readonly type: string;
  /** The uncompressed bytes. */
  readonly body: Uint8Array<ArrayBuffer>;
  /** A hash of the content. */
  readonly stamp: string;
  /** Returns the compressed bytes, computed once; undefined for a file that doesn't get smaller. */
  readonly gzip: () => Uint8Array<ArrayBuffer> | undefined;
}

function asset(type: string, content: string | Uint8Array<ArrayBuffer>): Asset {
  const body = typeof content === "string" ? new TextEncoder().encode(content) : content;
  const stamp = createHash("sha256").update(body).digest("hex").slice(0, 12);
  let zipped: Uint8Array<ArrayBuffer> | undefined;
  return {
    type,
    body,
    stamp,
    gzip: () => typeof content === "string" ? zipped ??= new Uint8Array(gzipSync(body, { level: 9 })) : undefined,
  };
}

const inter = asset("font/woff2", new Uint8Array(Buffer.from(font, "base64")));
const darkRules = `@media (prefers-color-scheme: dark) {${dark.replace(":root", ':root:not([data-theme="light"])')}}
${dark.replace(":root", ':root[data-theme="dark"]')}`;
/** The order matters: narrow screens (`cards`) come after the lists that they change. */
const sheets = [
  tokens,
  darkRules,
  uplotStyle,
  base,
  controls,
  states,
  frame,
  lists,
  cards,
  filters,
  overview,
  forms,
  job,
  charts,
];
const style = sheets.join("\n").replace(
  "inter.woff2",
  `inter.woff2?v=${inter.stamp}`,
);

/** The files by name. */
export const ASSETS: Readonly<Record<string, Asset>> = {
  "style.css": asset("text/css; charset=utf-8", style),
  "live.js": asset("text/javascript; charset=utf-8", script),
  "charts.js": asset("text/javascript; charset=utf-8", chartScript),
  "uplot.js": asset("text/javascript; charset=utf-8", uplot),
  "icon.svg": asset("image/svg+xml", icon),
  "inter.woff2": inter,
};

/** Returns the path of an asset, below the prefix. */
export function assetPath(name: string): string {
  return `/assets/${name}?v=${ASSETS[name]!.stamp}`;
}
