/**
 * The heads of tables.
 *
 * @module
 */

/** A column: its heading, with a class where it has one. */
export type Column = string | { readonly label: string; readonly class: string };

/** A column of numbers. */
export function num(label: string): Column {
  return { label, class: "num" };
}

/** The row of headings. False columns are left out. A table with buttons in its rows has a last column without a visible heading. */
export function TableHead({ columns, hasActions = false }: {
  readonly columns: readonly (Column | false)[];
  readonly hasActions?: boolean;
}) {
  return (
    <thead>
      <tr>
        {columns.map((column) => {
          if (column === false) return null;
          return typeof column === "string" ? <th>{column}</th> : <th class={column.class}>{column.label}</th>;
        })}
        {hasActions && <ActionsHeading />}
      </tr>
    </thead>
  );
}

/** The heading of the column of buttons, for screen readers. */
export function ActionsHeading() {
  return (
    <th>
      <span class="visually-hidden">Actions</span>
    </th>
  );
}
