/**
 * The frame around every page: counts, navigation, search, what is going on and what was just done.
 *
 * @module
 */
import type { Child } from "hono/jsx";
import type { Stats } from "../../store/admin/admin.ts";
import { VERSION } from "../../version.ts";
import { number } from "../../text/format.ts";
import { STAMP } from "../assets.ts";
import type { Operation } from "../actions/operations.ts";
import { Hidden, link, Live, type View } from "./view.tsx";

/** The pages, in the order of the navigation. The key takes you there after `g`. */
const PAGES: readonly { path: string; label: string; key: string; count?: keyof Stats }[] = [
  { path: "/", label: "Overview", key: "o" },
  { path: "/busy", label: "Busy", key: "b", count: "leased" },
  { path: "/queues", label: "Queues", key: "q", count: "enqueued" },
  { path: "/scheduled", label: "Scheduled", key: "s", count: "scheduled" },
  { path: "/retries", label: "Retries", key: "r", count: "retry" },
  { path: "/dead", label: "Dead", key: "d", count: "dead" },
  { path: "/done", label: "Done", key: "e" },
  { path: "/classes", label: "Classes", key: "l" },
  { path: "/cron", label: "Cron", key: "c" },
  { path: "/processes", label: "Processes", key: "p", count: "processes" },
  { path: "/audit", label: "Audit", key: "a" },
  { path: "/settings", label: "Settings", key: "," },
];

/** The head of every document. */
function Head({ prefix, title }: { readonly prefix: string; readonly title: string }) {
  return (
    <head>
      <meta charset="utf-8" />
      <meta name="viewport" content="width=device-width, initial-scale=1" />
      <meta name="color-scheme" content="light dark" />
      <meta name="robots" content="noindex, nofollow" />
      <title>{`${title} · jobs`}</title>
      <link rel="icon" href={`${prefix}/assets/icon.svg`} type="image/svg+xml" />
      <link rel="stylesheet" href={`${prefix}/assets/style.css?v=${STAMP}`} />
      <script src={`${prefix}/assets/live.js?v=${STAMP}`} defer></script>
    </head>
  );
}

/** A page without navigation: logging in, errors. */
export function Bare({ prefix, title, theme, children }: {
  readonly prefix: string;
  readonly title: string;
  readonly theme?: string | undefined;
  readonly children?: Child;
}) {
  return (
    <html lang="en" data-theme={theme}>
      <Head prefix={prefix} title={title} />
      <body class="bare">
        <main id="main">{children}</main>
      </body>
    </html>
  );
}

/** A page. */
export function Layout({ view, title, children }: {
  readonly view: View;
  readonly title: string;
  readonly children?: Child;
}) {
  return (
    <html lang="en" data-theme={view.theme} data-prefix={view.prefix}>
      <Head prefix={view.prefix} title={title} />
      <body>
        <a class="skip" href="#main">Skip to content</a>
        <header class="top">
          <div class="bar">
            <a class="brand" href={link(view, "/")}>
              <svg viewBox="0 0 16 16" width="18" height="18" aria-hidden="true">
                <rect x="1" y="2" width="14" height="3" rx="1.5" />
                <rect x="1" y="6.5" width="10" height="3" rx="1.5" opacity=".65" />
                <rect x="1" y="11" width="6" height="3" rx="1.5" opacity=".35" />
              </svg>
              jobs
            </a>
            <form class="search" action={link(view, "/search")} role="search">
              <input type="search" name="q" aria-label="Search all jobs" placeholder="jid, class, error, argument" />
            </form>
            <div class="tools">
              {view.canAct
                ? <a class="button" href={link(view, "/push")}>New job</a>
                : <span class="badge">read-only</span>}
            </div>
          </div>
          <nav aria-label="Pages">
            {PAGES.map(({ path, label, key, count }) => (
              <a href={link(view, path)} aria-current={isAt(view, path) ? "page" : undefined} data-key={key}>
                {label}
                {count && (
                  <span class="count">
                    <Live name={count} value={view.stats[count] as number} />
                  </span>
                )}
              </a>
            ))}
          </nav>
        </header>
        <main id="main" tabindex={-1}>
          {view.flash && <p class={`flash ${view.flash.kind}`} role="status">{view.flash.text}</p>}
          <Operations operations={view.operations} />
          {children}
        </main>
        <Footer view={view} />
      </body>
    </html>
  );
}

function isAt(view: View, path: string): boolean {
  const here = view.here.split("?")[0]!;
  return here === path || (path !== "/" && here.startsWith(`${path}/`));
}

function Operations({ operations }: { readonly operations: readonly Operation[] }) {
  return (
    <div id="operations" data-live>
      {operations.map(({ label, done, total, state, error }) => (
        <div class={`operation ${state}`}>
          <span>{label}</span>
          <progress
            max={Math.max(total, done, 1)}
            value={state === "done" ? Math.max(total, done, 1) : done}
            aria-label={label}
          >
          </progress>
          <span>
            {state === "failed"
              ? `failed after ${number(done)}: ${error}`
              : state === "done"
              ? `done: ${number(done)}`
              : `${number(done)} of ${number(total)}`}
          </span>
        </div>
      ))}
    </div>
  );
}

function Footer({ view }: { readonly view: View }) {
  const themes = ["auto", "light", "dark"];
  return (
    <footer>
      <span>jobs {VERSION}</span>
      <span class="mono">{view.storeUrl}</span>
      <time datetime={new Date(view.now).toISOString()} data-exact>
        {new Date(view.now).toISOString().slice(0, 19).replace("T", " ")} UTC
      </time>
      <label class="script-only">
        <input type="checkbox" id="live" checked /> Live
      </label>
      <form method="post" action={link(view, "/theme")} class="inline">
        <Hidden view={view} fields={{ back: view.here }} />
        {themes.map((theme) => (
          <button
            type="submit"
            name="theme"
            value={theme}
            class="plain"
            aria-pressed={String((view.theme ?? "auto") === theme)}
          >
            {theme}
          </button>
        ))}
      </form>
      <a href={link(view, "/api/v1")}>API</a>
      {view.canLogOut && (
        <form method="post" action={link(view, "/logout")} class="inline">
          <Hidden view={view} />
          <button type="submit" class="plain">Log out {view.visitor.name}</button>
        </form>
      )}
    </footer>
  );
}
