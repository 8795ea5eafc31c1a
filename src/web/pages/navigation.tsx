/**
 * The navigation with its counts, and the keys that lead through the pages.
 *
 * @module
 */
import { number } from "../../text/format.ts";
import type { Counts } from "../read/counts.ts";
import { Icon, type IconName } from "./icons.tsx";
import { link, type View } from "./view.tsx";

interface NavItem {
  readonly path: string;
  readonly label: string;
  readonly icon: IconName;
  /** The key that leads there after `g`. */
  readonly key: string;
  readonly count?: keyof Counts;
  /** Shows how many of this kind are stuck. */
  readonly stuck?: keyof View["stuck"];
}

/** The pages by group, in the order of the navigation. */
const GROUPS: readonly { readonly label?: string; readonly items: readonly NavItem[] }[] = [
  { items: [{ path: "/", label: "Overview", icon: "overview", key: "o" }] },
  {
    label: "Jobs",
    items: [
      { path: "/running", label: "Running", icon: "running", key: "r", count: "running" },
      { path: "/queued", label: "Queued", icon: "queued", key: "u", count: "queued" },
      { path: "/scheduled", label: "Scheduled", icon: "scheduled", key: "s", count: "scheduled" },
      { path: "/signals", label: "Signals", icon: "signals", key: "i", count: "signals" },
      { path: "/retrying", label: "Retrying", icon: "retrying", key: "t", count: "retrying" },
      { path: "/dead", label: "Dead", icon: "dead", key: "d", count: "dead" },
      { path: "/finished", label: "Finished", icon: "finished", key: "f" },
      { path: "/batches", label: "Batches", icon: "batches", key: "b", stuck: "batch" },
      { path: "/flows", label: "Flows", icon: "flows", key: "l", stuck: "flow" },
    ],
  },
  {
    label: "System",
    items: [
      { path: "/queues", label: "Queues", icon: "queues", key: "q" },
      { path: "/classes", label: "Classes", icon: "classes", key: "c" },
      { path: "/cron", label: "Cron", icon: "cron", key: "n" },
      { path: "/workers", label: "Workers", icon: "workers", key: "w", count: "workers" },
      { path: "/audit", label: "Audit", icon: "audit", key: "a" },
      { path: "/settings", label: "Settings", icon: "settings", key: "," },
    ],
  },
];

/** The pages of a visitor that only sends signals. */
const APPROVER_GROUPS: typeof GROUPS = [
  { items: GROUPS.flatMap(({ items }) => items).filter(({ path }) => path === "/signals") },
];

/** The links to the pages. */
export function Navigation({ view }: { readonly view: View }) {
  return (
    <nav aria-label="Pages">
      {(view.canRead ? GROUPS : APPROVER_GROUPS).map(({ label, items }) => (
        <>
          {label !== undefined && <span class="group" aria-hidden="true">{label}</span>}
          {items.map(({ path, label, icon, key, count, stuck }) => (
            <a href={link(view, path)} aria-current={isAt(view, path) ? "page" : undefined} data-key={key}>
              <Icon name={icon} />
              {label}
              {stuck && view.stuck[stuck] > 0 && (
                <span class="count bad" title={`${number(view.stuck[stuck])} stuck: they wait for their dead jobs`}>
                  {number(view.stuck[stuck])}
                </span>
              )}
              {count && (
                <span class={countClass(count, view.counts[count])} data-stat={count}>
                  {number(view.counts[count])}
                </span>
              )}
            </a>
          ))}
        </>
      ))}
    </nav>
  );
}

function countClass(name: keyof Counts, value: number): string {
  if (value === 0) return "count zero";
  return name === "dead" ? "count bad" : "count";
}

function isAt(view: View, path: string): boolean {
  const here = view.here.split("?")[0]!;
  return here === path || (path !== "/" && here.startsWith(`${path}/`));
}

/** The list of the keys, which `?` shows. */
export function Keys() {
  const keys: readonly (readonly [key: string, effect: string])[] = [
    ["/", "Search"],
    ["j k", "Next and previous row"],
    ["Enter", "Open the row"],
    ["x", "Select the row"],
    ["?", "Show the keys"],
  ];
  const pages = GROUPS.flatMap(({ items }) => items.map(({ key, label }) => [`g ${key}`, label] as const));
  return (
    <dialog id="keys" aria-labelledby="keys-title">
      <h2 id="keys-title">Keys</h2>
      <dl>
        {[...keys, ...pages].map(([key, effect]) => (
          <div>
            <dt>{key.split(" ").map((one) => <kbd>{one}</kbd>)}</dt>
            <dd>{effect}</dd>
          </div>
        ))}
      </dl>
      <button type="button" class="script-only" data-keys>Close</button>
    </dialog>
  );
}
