/**
 * The frame around every page: navigation with counts, search, long operations, and the message of the last action.
 *
 * @module
 */
import type { Child } from "hono/jsx";
import { VERSION } from "../../version.ts";
import { number } from "../../text/format.ts";
import { assetPath } from "../assets.ts";
import type { Operation } from "../operations.ts";
import { Icon } from "./icons.tsx";
import { Keys, Navigation } from "./navigation.tsx";
import { Hidden, link, SEARCH_HINT, type View } from "./view.tsx";

/** The head of every document. */
function Head({ prefix, title, scripts = [] }: {
  readonly prefix: string;
  readonly title: string;
  readonly scripts?: readonly string[];
}) {
  return (
    <head>
      <meta charset="utf-8" />
      <meta name="viewport" content="width=device-width, initial-scale=1" />
      <meta name="color-scheme" content="light dark" />
      <meta name="robots" content="noindex, nofollow" />
      <title>{`${title} · jobs`}</title>
      <link rel="icon" href={`${prefix}/assets/icon.svg`} type="image/svg+xml" />
      <link rel="preload" href={prefix + assetPath("inter.woff2")} as="font" type="font/woff2" crossorigin="" />
      <link rel="stylesheet" href={prefix + assetPath("style.css")} />
      {["live.js", ...scripts].map((name) => <script src={prefix + assetPath(name)} defer></script>)}
    </head>
  );
}

function Brand({ prefix }: { readonly prefix: string }) {
  return (
    <a class="brand" href={`${prefix}/`}>
      <svg viewBox="0 0 16 16" width="18" height="18" aria-hidden="true">
        <rect x="1" y="2" width="14" height="3" rx="1.5" />
        <rect x="1" y="6.5" width="10" height="3" rx="1.5" opacity=".65" />
        <rect x="1" y="11" width="6" height="3" rx="1.5" opacity=".35" />
      </svg>
      jobs
    </a>
  );
}

/** A page without navigation: signing in, and errors without a visitor or a store. */
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
        <main id="main">
          <Brand prefix={prefix} />
          {children}
        </main>
      </body>
    </html>
  );
}

/** A page. */
export function Layout({ view, title, scripts = [], children }: {
  readonly view: View;
  readonly title: string;
  /** Assets that this page loads besides the script of all pages. */
  readonly scripts?: readonly string[];
  readonly children?: Child;
}) {
  return (
    <html lang="en" data-theme={view.theme} data-prefix={view.prefix}>
      <Head prefix={view.prefix} title={title} scripts={scripts} />
      <body class="frame">
        <a class="skip" href="#main">Skip to content</a>
        <header class="side">
          <div class="side-top">
            <Brand prefix={view.prefix} />
            {view.canAct ? <a class="button" href={link(view, "/push")}>New job</a> : view.canRead && <ReadOnly />}
            <label class="button menu">
              <Icon name="menu" />
              <input type="checkbox" aria-label="Show navigation" autocomplete="off" />
            </label>
          </div>
          <div class="side-body">
            {view.canRead && (
              <form class="search" action={link(view, "/search")} role="search">
                <Icon name="search" />
                <input
                  type="search"
                  name="q"
                  value={searchText(view)}
                  aria-label="Search all jobs"
                  placeholder="Search jobs ( / )"
                  title={SEARCH_HINT}
                />
              </form>
            )}
            <Navigation view={view} />
            <Footer view={view} />
          </div>
        </header>
        <main id="main" tabindex={-1}>
          {view.flash && <p class={`flash ${view.flash.kind}`} role="status">{view.flash.text}</p>}
          {view.canRead && <Operations operations={view.operations} />}
          {children}
        </main>
        {view.canRead && <Keys />}
      </body>
    </html>
  );
}

/** The text of a search stays in its field on the page of its results. */
function searchText({ here }: View): string {
  const [path, query] = here.split("?");
  return path === "/search" ? new URLSearchParams(query).get("q") ?? "" : "";
}

function ReadOnly() {
  return <span class="badge">read-only</span>;
}

function Operations({ operations }: { readonly operations: readonly Operation[] }) {
  return (
    <div id="operations" data-live>
      {operations.map(({ label, changed, total, state, error }) => (
        <div class={`operation ${state}`}>
          <span>{label}</span>
          <progress
            max={Math.max(total, changed, 1)}
            value={state === "succeeded" ? Math.max(total, changed, 1) : changed}
            aria-label={label}
          >
          </progress>
          <span>
            {state === "failed"
              ? `failed after ${number(changed)}: ${error}`
              : state === "succeeded"
              ? `succeeded: ${number(changed)}`
              : `${number(changed)} of ${number(total)}`}
          </span>
        </div>
      ))}
    </div>
  );
}

function Footer({ view }: { readonly view: View }) {
  const themes = ["auto", "light", "dark"];
  return (
    <div class="side-foot">
      <div>
        {view.canRead && (
          <label class="script-only">
            <input type="checkbox" id="live" checked /> Live
          </label>
        )}
        <span class="grow"></span>
        <form method="post" action={link(view, "/theme")} class="inline">
          <Hidden view={view} fields={{ back: view.here }} />
          {themes.map((theme) => (
            <button
              type="submit"
              name="theme"
              value={theme}
              class="plain"
              aria-label={`Theme: ${theme}`}
              aria-pressed={String((view.theme ?? "auto") === theme)}
            >
              {theme}
            </button>
          ))}
        </form>
      </div>
      {view.canRead && <div class="store mono" title={view.storeUrl}>{view.storeUrl}</div>}
      <div>
        <time datetime={new Date(view.now).toISOString()} data-exact>
          {new Date(view.now).toISOString().slice(0, 19).replace("T", " ")} UTC
        </time>
      </div>
      <div>
        {view.canRead && (
          <>
            <span>jobs {VERSION}</span>
            <button type="button" class="plain script-only" data-keys aria-label="Show the keys">? keys</button>
            <a href={link(view, "/api/v1")}>API</a>
          </>
        )}
        <span class="grow"></span>
        {view.canLogOut && (
          <form method="post" action={link(view, "/logout")} class="inline">
            <Hidden view={view} />
            <button type="submit" class="plain">Sign out ({view.visitor.name})</button>
          </form>
        )}
      </div>
    </div>
  );
}
