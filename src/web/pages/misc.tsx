/**
 * The small pages: signing in, errors and search results.
 *
 * @module
 */
import { placePath } from "../read/job_sets.ts";
import type { FoundEverywhere } from "../read/search.ts";
import { WAITING_COLUMNS } from "../../text/flows.ts";
import { number } from "../../text/format.ts";
import { Empty, jobs, link, SEARCH_HINT, type View } from "./view.tsx";
import { FinishedTable } from "./finished.tsx";
import { JobTable } from "./job_table.tsx";
import { Bare, Layout } from "./layout.tsx";
import { List } from "./list.tsx";

/** `/login`. */
export function LoginPage({ prefix, theme, next, name = "", problem }: {
  readonly prefix: string;
  readonly theme: string | undefined;
  readonly next: string;
  /** The name that was typed. */
  readonly name?: string | undefined;
  readonly problem?: string | undefined;
}) {
  return (
    <Bare prefix={prefix} title="Sign in" theme={theme}>
      <h1>Sign in</h1>
      {problem !== undefined && <p class="flash bad" role="alert">{problem}</p>}
      <form method="post" action={`${prefix}/login`} class="sheet">
        <input type="hidden" name="next" value={next} />
        <div class="field">
          <label>
            Name
            <input
              name="name"
              value={name}
              autocomplete="username"
              aria-describedby="name-help"
              autofocus={name === ""}
            />
          </label>
          <span class="help" id="name-help">Leave empty to sign in with a token.</span>
        </div>
        <label>
          Password or token
          <input
            name="password"
            type="password"
            autocomplete="current-password"
            required
            autofocus={name !== ""}
          />
        </label>
        <div class="buttons">
          <button type="submit" class="primary">Sign in</button>
        </div>
      </form>
    </Bare>
  );
}

/** A refusal or an error, with the navigation where `view` is known. */
export function ErrorPage({ prefix, status, message, view }: {
  readonly prefix: string;
  readonly status: number;
  readonly message: string;
  readonly view?: View | undefined;
}) {
  const title = TITLES[status] ?? "Error";
  const content = (
    <>
      <div class="heading">
        <h1>{title}</h1>
        <span class="badge">{String(status)}</span>
      </div>
      <div class="empty">
        <b role="alert">{message}</b>
        {status === 404 && view && <WhereToLook view={view} />}
        <p>
          <a href={`${prefix}/`}>Go to the overview</a>
        </p>
      </div>
    </>
  );
  return view
    ? <Layout view={view} title={title}>{content}</Layout>
    : <Bare prefix={prefix} title={title}>{content}</Bare>;
}

/** The pages with a list of what `/NAME/ID` shows one of. */
const LISTS: Readonly<Record<string, string>> = {
  batches: "Batches",
  classes: "Classes",
  cron: "Cron",
  flows: "Flows",
  jobs: "Finished",
  queues: "Queues",
  queued: "Queued",
};

/** The list that this page belongs to, and the search for its name. */
function WhereToLook({ view }: { readonly view: View }) {
  const [, section = "", id = ""] = view.here.split(/[/?]/);
  const label = Object.hasOwn(LISTS, section) ? LISTS[section] : undefined;
  if (label === undefined || id === "") return null;
  return (
    <p>
      <a href={link(view, section === "jobs" ? "/finished" : `/${section}`)}>{label}</a>, or{" "}
      <a href={link(view, "/search", { q: decoded(id) })}>search all jobs for this name</a>
    </p>
  );
}

function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}

const TITLES: Readonly<Record<number, string>> = {
  400: "Invalid request",
  401: "Sign in",
  403: "Not allowed",
  404: "Not found",
  405: "Not allowed",
  413: "Too large",
  415: "Invalid request",
  422: "Invalid input",
  429: "Too many attempts",
  503: "Unavailable",
};

/** `/search`. */
export function SearchPage({ view, text, results: { found, waiting, ended, looked } }: {
  readonly view: View;
  readonly text: string;
  readonly results: FoundEverywhere;
}) {
  const count = found.reduce((sum, one) => sum + one.rows.length, waiting.length + ended.rows.length);
  const isComplete = !ended.more && found.every((one) => !one.more);
  return (
    <Layout view={view} title={`Search ${text}`}>
      <div class="heading">
        <h1>Search</h1>
        <span class="note">
          {text === ""
            ? `by ID, class, error, argument or result. ${SEARCH_HINT}`
            : `“${text}”: ${isComplete ? "" : "the first "}${jobs(count)} found, searched ${
              number(looked)
            } and the finished ones`}
        </span>
      </div>
      {text !== "" && count === 0 && isComplete && (
        <Empty title="No results.">
          No job contains {text.includes(" ") ? "all of these words" : "this text"}. {SEARCH_HINT}{" "}
          A finished job is found as long as its result is kept, by default for 500 seconds.
        </Empty>
      )}
      {found.filter((one) => one.rows.length > 0 || one.more).map(({ place, rows, more }) => (
        <section>
          <h2>
            {place.in === "queue"
              ? `Queue ${place.queue}`
              : { scheduled: "Scheduled", retry: "Retrying", dead: "Dead", running: "Running" }[place.in]}
          </h2>
          {rows.length > 0 && <JobTable view={view} place={place} rows={rows} actions={[]} />}
          {more && place.in !== "running" && (
            <p>
              <a href={link(view, placePath(place), { q: text })}>Show more results →</a>
            </p>
          )}
        </section>
      ))}
      {(ended.rows.length > 0 || ended.more) && (
        <section>
          <h2>Finished</h2>
          {ended.rows.length > 0 && <FinishedTable view={view} rows={ended.rows} />}
          {ended.more && (
            <p>
              <a href={link(view, "/finished", { q: text })}>Show more results →</a>
            </p>
          )}
        </section>
      )}
      {waiting.length > 0 && (
        <section>
          <h2>Waiting in flows</h2>
          <List
            view={view}
            columns={WAITING_COLUMNS}
            rows={waiting}
            looks={{
              jid: { class: "mono" },
              // Without arguments, which may hold secrets.
              job: ({ node }) => node.class,
              flow: {
                class: "mono",
                show: (_, flow) => <a href={link(view, `/flows/${encodeURIComponent(flow)}`)}>{flow}</a>,
              },
            }}
          />
        </section>
      )}
    </Layout>
  );
}
