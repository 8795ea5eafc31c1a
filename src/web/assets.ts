/**
 * The files that pages load, built in; their names carry a stamp of their content, so that they are kept forever.
 *
 * @module
 */
import { createHash } from "node:crypto";
import icon from "./assets/icon.svg" with { type: "text" };
import script from "./assets/live.js" with { type: "text" };
import style from "./assets/style.css" with { type: "text" };

/** One file. */
export interface Asset {
  readonly text: string;
  readonly type: string;
}

/** Name → file. */
export const ASSETS: Readonly<Record<string, Asset>> = {
  "style.css": { text: style, type: "text/css; charset=utf-8" },
  "live.js": { text: script, type: "text/javascript; charset=utf-8" },
  "icon.svg": { text: icon, type: "image/svg+xml" },
};

/** Changes with any of them. */
export const STAMP: string = createHash("sha256").update(style + script + icon).digest("hex").slice(0, 12);
