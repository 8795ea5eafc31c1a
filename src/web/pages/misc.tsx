/**
 * The small pages: logging in, confirming, searching, the settings, and what went wrong.
 *
 * @module
 */
import type { SettingRow } from "../services.ts";
import type { Mask } from "../read/mask.ts";
import { placePath } from "../read/job_sets.ts";
import type { JobView } from "../read/job_view.ts";
import type { Place } from "../../store/admin/admin.ts";
import { number } from "../../text/format.ts";
import { Empty, Hidden, jobs, link, type View } from "./view.tsx";
import { JobTable } from "./job_table.tsx";
import { Bare, Layout } from "./layout.tsx";

/** `/login`. */
export function LoginPage({ prefix, theme, next, problem }: {
  readonly prefix: string;
  readonly theme: string | undefined;
  readonly next: string;
  readonly problem?: string | undefined;
}) {
  return (
    <Bare prefix={prefix} title="Log in" theme={theme}>
      <h1>jobs</h1>
      {problem !== undefined && <p class="flash bad" role="alert">{problem}</p>}
      <form method="post" action={`${prefix}/login`} class="sheet">
        <input type="hidden" name="next" value={next} />
        <label>
          Name <span class="note">empty with a token</span>
          <input name="name" autocomplete="username" autofocus />
        </label>
        <label>
          Password or token
          <input name="password" type="password" autocomplete="current-password" required />
        </label>
        <div class="buttons">
          <button type="submit" class="primary">Log in</button>
        </div>
      </form>
    </Bare>
  );
}

/** What went wrong. */
export function ErrorPage({ prefix, status, message }: {
  readonly prefix: string;
  readonly status: number;
  readonly message: string;
}) {
  return (
    <Bare prefix={prefix} title={String(status)}>
      <h1>{status}</h1>
      <p role="alert">{message}</p>
      <p>
        <a href={`${prefix}/`}>Overview</a>
      </p>
    </Bare>
  );
}

/** What is about to be done, to be confirmed. */
export function ConfirmPage({ view, question, label, action, fields, refs }: {
  readonly view: View;
  readonly question: string;
  readonly label: string;
  /** Where the form goes. */
  readonly action: string;
  readonly fields: Readonly<Record<string, string | undefined>>;
  readonly refs: readonly string[];
}) {
  return (
    <Layout view={view} title="Confirm">
      <div class="confirm">
        <h1>{question}</h1>
        <form method="post" action={link(view, action)}>
          <Hidden view={view} fields={{ ...fields, confirmed: "yes" }} />
          {refs.map((ref) => <input type="hidden" name="ref" value={ref} />)}
          <div class="buttons">
            <button type="submit" class="danger" autofocus>{label}</button>
            <a class="button" href={link(view, fields["back"] ?? "/")}>Cancel</a>
          </div>
        </form>
      </div>
    </Layout>
  );
}

/** What was found in one place. */
export interface Found {
  readonly place: Place;
  readonly rows: readonly JobView[];
  /** There is more, or there was no time to look at all. */
  readonly more: boolean;
}

/** `/search`. */
export function SearchPage({ view, text, found, looked }: {
  readonly view: View;
  readonly text: string;
  readonly found: readonly Found[];
  readonly looked: number;
}) {
  const count = found.reduce((sum, one) => sum + one.rows.length, 0);
  return (
    <Layout view={view} title={`Search ${text}`}>
      <div class="heading">
        <h1>Search</h1>
        <span class="note">
          {text === ""
            ? "a jid, a class, an error, or anything in the arguments"
            : `“${text}”: ${jobs(count)} found, ${number(looked)} looked at`}
        </span>
      </div>
      {text !== "" && count === 0 && found.every((one) => !one.more) && <Empty>Nothing has it.</Empty>}
      {found.filter((one) => one.rows.length > 0 || one.more).map(({ place, rows, more }) => (
        <section>
          <h2>
            {place.in === "queue"
              ? `Queue ${place.queue}`
              : { scheduled: "Scheduled", retry: "Retries", dead: "Dead", leased: "Running" }[place.in]}
          </h2>
          {rows.length > 0 && <JobTable view={view} place={place} rows={rows} ticks={false} />}
          {more && place.in !== "leased" && (
            <p>
              <a href={link(view, placePath(place), { q: text })}>Look further there →</a>
            </p>
          )}
        </section>
      ))}
    </Layout>
  );
}

/** `/settings`. */
export function SettingsPage({ view, settings, mask }: {
  readonly view: View;
  readonly settings: readonly SettingRow[];
  readonly mask: Mask;
}) {
  return (
    <Layout view={view} title="Settings">
      <div class="heading">
        <h1>Settings</h1>
        <span class="note">
          as this process loaded them; {view.canAct ? "you may act" : "you may look"}, as {view.visitor.name}
        </span>
      </div>
      <table class="list">
        <thead>
          <tr>
            <th>Setting</th>
            <th>Value</th>
            <th>From</th>
            <th>Meaning</th>
          </tr>
        </thead>
        <tbody>
          {settings.map(({ key, value, origin, about }) => (
            <tr>
              <td data-label="Setting" class="mono">{key}</td>
              <td data-label="Value">
                <code>{value === undefined ? "–" : JSON.stringify(mask.value(value))}</code>
              </td>
              <td data-label="From">{origin === "default" ? <span class="note">default</span> : origin}</td>
              <td data-label="Meaning" class="note">{about}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </Layout>
  );
}
