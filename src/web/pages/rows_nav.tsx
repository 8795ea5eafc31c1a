/**
 * The search and the links to the other pages of a long list that is read whole.
 *
 * @module
 */
import { number } from "../../text/format.ts";
import { MAX_ROWS, type Rows } from "../read/rows.ts";
import { link, type View } from "./view.tsx";

/** Finds rows by their name; nothing for a list of one page. */
export function RowSearch({ view, path, page: { text, isLong }, label }: {
  readonly view: View;
  readonly path: string;
  readonly page: Rows<unknown>;
  /** The name of the field. */
  readonly label: string;
}) {
  if (!isLong && text === "") return null;
  return (
    <form action={link(view, path)} class="inline">
      <input type="search" name="name" value={text} aria-label={label} placeholder={label} autocomplete="off" />
      <button type="submit">Find</button>
      {text !== "" && <a class="button" href={link(view, path)}>Clear</a>}
    </form>
  );
}

/** Which rows the page has, with links to the pages before and after it; nothing for a list of one page. */
export function RowPages({ view, path, page: { rows, total, before, text } }: {
  readonly view: View;
  readonly path: string;
  readonly page: Rows<unknown>;
}) {
  if (rows.length === total) return null;
  const at = before / MAX_ROWS + 1;
  const to = (page: number) => link(view, path, { name: text, page });
  return (
    <p class="note">
      {number(before + 1)} to {number(before + rows.length)} of {number(total)}{" "}
      {before > 0 && <a href={to(at - 1)}>← Previous</a>}{" "}
      {before + rows.length < total && <a href={to(at + 1)}>Next →</a>}
    </p>
  );
}
