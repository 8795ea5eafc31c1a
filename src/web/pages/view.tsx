/**
 * What every page is given, and the small parts that pages share.
 *
 * @module
 */
import type { Child } from "hono/jsx";
import type { Stats } from "../../store/admin/admin.ts";
import { number } from "../../text/format.ts";
import { isoTime, relative } from "../../text/times.ts";
import type { Visitor } from "../auth/gate.ts";
import type { Operation } from "../actions/operations.ts";

/** A message about what was just done. */
export interface Flash {
  readonly kind: "ok" | "bad";
  readonly text: string;
}

/** One request's view of things. */
export interface View {
  /** What stands before every path. */
  readonly prefix: string;
  /** The page's own path and query, without prefix. */
  readonly here: string;
  readonly visitor: Visitor;
  /** Whether it may act. */
  readonly canAct: boolean;
  /** Whether there is anything to log out of. */
  readonly canLogOut: boolean;
  readonly now: number;
  readonly stats: Stats;
  readonly storeUrl: string;
  readonly operations: readonly Operation[];
  readonly flash: Flash | undefined;
  readonly theme: string | undefined;
}

/** The address of a path, with its query. */
export function link(view: Pick<View, "prefix">, path: string, query: Readonly<Record<string, unknown>> = {}): string {
  const params = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined && value !== "") params.set(name, `${value}`);
  }
  const text = params.toString();
  return `${view.prefix}${path}${text && `?${text}`}`;
}

/** `1 job`, `2 jobs`. */
export function jobs(count: number): string {
  return `${number(count)} ${count === 1 ? "job" : "jobs"}`;
}

/** A moment: from now, with the exact one on hover. */
export function Time({ at, now }: { readonly at: number | undefined; readonly now: number }) {
  const iso = isoTime(at);
  if (iso === undefined) return <span>–</span>;
  return <time datetime={iso} title={iso}>{relative(at, now)}</time>;
}

/** A form's hidden fields: the token, and more. */
export function Hidden({ view, fields = {} }: {
  readonly view: View;
  readonly fields?: Readonly<Record<string, string | undefined>>;
}) {
  return (
    <>
      <input type="hidden" name="token" value={view.visitor.formToken} />
      {Object.entries(fields).map(([name, value]) =>
        value === undefined ? "" : <input type="hidden" name={name} value={value} />
      )}
    </>
  );
}

/** A button that does something by itself. */
export function ActionButton({ view, path, fields, label, kind = "", title }: {
  readonly view: View;
  readonly path: string;
  readonly fields?: Readonly<Record<string, string | undefined>>;
  readonly label: string;
  readonly kind?: "" | "danger" | "primary";
  /** What a screen reader says, where the label alone does not tell. */
  readonly title?: string;
}) {
  if (!view.canAct) return null;
  return (
    <form method="post" action={link(view, path)} class="inline">
      <Hidden view={view} fields={{ ...fields, back: view.here }} />
      <button type="submit" class={kind} aria-label={title}>{label}</button>
    </form>
  );
}

/** A number that is kept up to date. */
export function Live({ name, value }: { readonly name: keyof Stats; readonly value: number }) {
  return <span data-stat={name}>{number(value)}</span>;
}

/** What stands where a list would, when there is nothing. */
export function Empty({ children }: { readonly children?: Child }) {
  return <p class="empty">{children}</p>;
}
