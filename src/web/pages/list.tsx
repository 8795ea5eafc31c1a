/**
 * A list on a page: the columns of `text/`, with links, drawings and buttons.
 *
 * @module
 */
import type { Child } from "hono/jsx";
import { type CellText, type Column, type Columns, kindOf } from "../../text/columns.ts";
import { number } from "../../text/format.ts";
import { ActionsHeading } from "./table.tsx";
import { None, Time, type View } from "./view.tsx";

/** How the page shows the cells of a column, instead of their text alone. */
export interface Look<Row> {
  readonly class?: string | ((row: Row) => string);
  /** Shows the whole text on hover, for a cell that may be cut. */
  readonly hasTitle?: true;
  /** `text` is that of the column. */
  readonly show?: (row: Row, text: string) => Child;
}

/** How a page shows columns, by heading; false leaves one out. */
export type Looks<Row, Heading extends PropertyKey = string> = {
  readonly [Name in Heading]?: Look<Row> | Look<Row>["show"] | false;
};

/** A column that only the page has. */
export const DRAWN: Column<unknown> = { text: () => undefined };

/**
 * The list. Columns in `looks` come first, in its order; the others follow. False leaves a column out.
 *
 * A row has a last cell with its buttons if `acts` is given and the visitor may act.
 */
export function List<Row, Shown extends Columns<Row>>({ view, columns, rows, looks = {}, tick, acts, rowOf }: {
  readonly view: View;
  readonly columns: Shown;
  readonly rows: readonly Row[];
  readonly looks?: Looks<Row, keyof Shown>;
  /** A first column of checkboxes. */
  readonly tick?: { readonly all: Child; readonly of: (row: Row) => Child } | undefined;
  readonly acts?: ((row: Row) => Child) | undefined;
  /** Attributes of a row. */
  readonly rowOf?: (row: Row) => Readonly<Record<string, string | undefined>>;
}) {
  const shown = Object.keys({ ...looks, ...columns }).flatMap((heading) => {
    const look = looks[heading];
    if (look === false) return [];
    const column = columns[heading]!;
    const texts = rows.map((row) => column.text(row, view.now));
    return [{
      column,
      texts,
      heading: titleCase(heading),
      look: typeof look === "function" ? { show: look } : look ?? {},
    }];
  }).map((one) => ({ ...one, isNumber: one.column.isAmount ?? one.texts.every((text) => typeof text === "number") }));
  return (
    <table class="list">
      <thead>
        <tr>
          {tick && <th class="tick">{tick.all}</th>}
          {shown.map(({ heading, look, isNumber }) => (
            <th class={isNumber ? "num" : typeof look.class === "string" ? look.class : undefined}>{heading}</th>
          ))}
          {acts && view.canAct && <ActionsHeading />}
        </tr>
      </thead>
      <tbody>
        {rows.map((row, i) => (
          <tr {...rowOf?.(row)}>
            {tick && <td class="tick">{tick.of(row)}</td>}
            {shown.map(({ heading, column, texts, look, isNumber }) => (
              <td
                class={classOf(row, column, look, isNumber)}
                title={look.hasTitle && textOf(texts[i])}
                data-label={heading}
              >
                {look.show
                  ? look.show(row, textOf(texts[i]))
                  : <Cell view={view} row={row} column={column} text={texts[i]} />}
              </td>
            ))}
            {acts && view.canAct && <td class="acts">{acts(row)}</td>}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/** The text of a cell. */
function Cell<Row>({ view, row, column, text }: {
  readonly view: View;
  readonly row: Row;
  readonly column: Column<Row>;
  readonly text: CellText;
}) {
  if (column.at !== undefined) return <Time at={column.at(row)} now={view.now} />;
  if (text === undefined || text === "") return <None />;
  return column.isState ? <Badge state={textOf(text)} /> : <>{textOf(text)}</>;
}

/** A state in its color. */
export function Badge({ state }: { readonly state: string }) {
  return <span class={`badge ${kindOf(state) ?? ""}`}>{state}</span>;
}

function classOf<Row>(row: Row, { at }: Column<Row>, look: Look<Row>, isNumber: boolean): string | undefined {
  const own = typeof look.class === "function" ? look.class(row) : look.class;
  return [isNumber && "num", at && "when", own].filter(Boolean).join(" ") || undefined;
}

function textOf(text: CellText): string {
  return typeof text === "number" ? number(text) : text ?? "";
}

function titleCase(heading: string): string {
  return heading.charAt(0).toUpperCase() + heading.slice(1);
}
