/**
 * Prints a list part by part, so that a list of millions takes bounded memory: as a table, or as one JSON object.
 *
 * @module
 */
import type { Columns } from "../../text/columns.ts";
import { printList } from "../terminal/table.ts";
import { print, printFaint, printPart } from "../terminal/output.ts";
import { stringifyLossless } from "../../job/json.ts";

/** The writer of a list of rows. */
export class ListWriter<Row> {
  readonly #json: boolean;
  readonly #columns: Columns<Row>;
  readonly #toJson: (row: Row) => unknown;
  readonly #key: string;
  #written = 0;
  #begun = false;

  /** @param key names the list in JSON */
  constructor(json: boolean, columns: Columns<Row>, toJson: (row: Row) => unknown, key = "jobs") {
    this.#json = json;
    this.#columns = columns;
    this.#toJson = toJson;
    this.#key = key;
  }

  /** Prints a part. Each part of a table is aligned by itself; the first has the headings. */
  write(rows: readonly Row[]): void {
    if (rows.length === 0) return;
    if (this.#json) {
      const texts = rows.map((row) => indented(stringifyLossless(this.#toJson(row), 2) ?? "null"));
      printPart(`${this.#written === 0 ? this.#open() : ",\n"}${texts.join(",\n")}`);
    } else printList(this.#columns, rows, "", { headings: this.#written === 0 });
    this.#written += rows.length;
  }

  /**
   * Prints the end.
   *
   * @param next the cursor of the next page, if there are more
   * @param none printed if the list is empty
   * @param about fields about the whole list, for JSON: those that a table tells in a line below it
   */
  end(next: string | undefined, none: string, about: Readonly<Record<string, unknown>> = {}): void {
    if (this.#json) {
      const start = this.#begun ? "\n  ]" : `{\n  "${this.#key}": []`;
      const fields = Object.entries({ ...about, next }).filter(([, value]) => value !== undefined)
        .map(([name, value]) => `,\n  ${JSON.stringify(name)}: ${JSON.stringify(value)}`);
      print(`${start}${fields.join("")}\n}`);
    } else {
      if (this.#written === 0) print(none);
      if (next !== undefined) printFaint(`more: --cursor ${next}`);
    }
  }

  #open(): string {
    this.#begun = true;
    return `{\n  "${this.#key}": [\n`;
  }
}

function indented(text: string): string {
  return text.replace(/^/gm, "    ");
}
