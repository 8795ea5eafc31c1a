/**
 * A page as in a browser without scripts: fields are filled in by their labels, buttons are pressed by their names,
 * links are followed. Costs a hundredth of a page in a real browser, so that each button can be pressed on both stores.
 *
 * Reads the HTML that the dashboard's pages consist of. Anything that a browser would read differently is an error: a form
 * within a form, or a field that belongs to a form elsewhere.
 *
 * @module
 */
import type { Answer, Visitor } from "./site.ts";

interface Control {
  readonly tag: string;
  readonly attributes: ReadonlyMap<string, string>;
  /** The text between its tags. */
  readonly text: string;
  /** Its `aria-label`, else the text of the label around it. */
  readonly label: string;
}

interface Form {
  readonly action: string;
  readonly method: string;
  readonly controls: readonly Control[];
}

/** A visitor's input in a form before a button is pressed. */
export interface Filling {
  /** Texts by the beginning of the field's label. */
  readonly fill?: Readonly<Record<string, string>>;
  /** The rows to select, each by a text that it contains. */
  readonly tick?: readonly string[];
  /** Whether "Select all" is checked. */
  readonly all?: boolean;
}

/** A page that a visitor has opened. */
export class HtmlPage {
  readonly #visitor: Visitor;
  readonly #answer: Answer;

  constructor(visitor: Visitor, answer: Answer) {
    this.#visitor = visitor;
    this.#answer = answer;
  }

  get status(): number {
    return this.#answer.status;
  }

  /** The HTML. */
  get html(): string {
    return this.#answer.text;
  }

  /** The message of the last action, and the problem with a form; empty without one. */
  get message(): string {
    const [, message = ""] = /<(?:p|div) class="flash[^"]*"[^>]*>(.*?)<\/(?:p|div)>/s.exec(this.html) ?? [];
    return textOf(message);
  }

  /** The error below the field with this label; empty without one. */
  problem(label: string): string {
    const error = this.#field(label).attributes.get("aria-describedby")?.split(" ").find((id) => id.endsWith("-error"));
    return textOf(new RegExp(`<span class="problem" id="${error}">(.*?)</span>`, "s").exec(this.html)?.[1] ?? "");
  }

  /** The main heading. */
  get heading(): string {
    return textOf(/<h1[^>]*>(.*?)<\/h1>/s.exec(this.html)?.[1] ?? "");
  }

  /** The values of a datalist. */
  options(id: string): string[] {
    const list = new RegExp(`<datalist id="${id}">(.*?)</datalist>`, "s").exec(this.html)?.[1] ?? "";
    return [...list.matchAll(/<option([^>]*)>/g)].map(([, attributes]) => attributesOf(attributes!).get("value") ?? "");
  }

  /** The names of the controls that act: checkboxes, and the buttons of forms that change something. */
  get acts(): string[] {
    const forms = this.#forms().filter(({ method, action }) => method === "post" && !/\/(theme|logout)$/.test(action));
    const isAct = ({ tag, attributes }: Control) => tag === "button" || attributes.get("name") === "ref";
    return forms.flatMap(({ controls }) => controls.filter(isAct).map(nameOf));
  }

  /** The value of the field with this label. */
  value(label: string): string {
    return valueOf(this.#field(label));
  }

  #field(label: string): Control {
    const field = this.#forms().flatMap(({ controls }) => controls).find((one) => one.label.startsWith(label));
    if (field === undefined) throw new Error(`Missing field "${label}"`);
    return field;
  }

  /** Presses the first button with exactly this name, and opens the page that follows. */
  async press(name: string, { fill = {}, tick = [], all = false }: Filling = {}): Promise<HtmlPage> {
    const isButton = (one: Control) => one.tag === "button" && nameOf(one) === name;
    const form = this.#forms().find(({ controls }) => controls.some(isButton));
    if (form === undefined) throw new Error(`Missing button "${name}" among ${this.acts.join(", ")}`);
    const filled = new Map<Control, string>();
    for (const [label, text] of Object.entries(fill)) {
      const field = form.controls.find((one) => one.tag !== "button" && one.label.startsWith(label));
      if (field === undefined) throw new Error(`Missing field "${label}" in the form with "${name}"`);
      filled.set(field, text);
    }
    const body = new URLSearchParams();
    const button = form.controls.find(isButton)!;
    const refs = tick.map((text) => this.#refOf(text));
    for (const control of form.controls) {
      const { tag, attributes } = control;
      const field = attributes.get("name");
      if (attributes.has("form")) throw new Error(`Field "${field}" belongs to a form elsewhere`);
      if (field === undefined || (tag === "button" && control !== button)) continue;
      const value = filled.get(control) ?? valueOf(control);
      if (attributes.has("required") && value === "") throw new Error(`Field "${control.label}" is required`);
      const isTick = attributes.get("type") === "checkbox";
      const isChecked = attributes.has("checked") || refs.includes(value) || (all && field === "scope");
      if (!isTick || isChecked) body.append(field, value);
    }
    if (form.method !== "post") return await this.#visitor.open(`${form.action}?${body}`);
    const init = { method: "POST", body, headers: { "sec-fetch-site": "same-origin" } };
    const answer = await this.#visitor.send(form.action, init);
    const location = answer.headers.get("location");
    return answer.status === 303 && location !== null
      ? await this.#visitor.open(location)
      : new HtmlPage(this.#visitor, answer);
  }

  /** Follows the first link with this text; with `near`, the first one in the row that contains `near`. */
  async follow(text: string, near?: string): Promise<HtmlPage> {
    const html = near === undefined ? this.html : this.#row(near);
    for (const [, attributes, inner] of html.matchAll(/<a\b([^>]*)>(.*?)<\/a>/gs)) {
      if (textOf(inner!) === text) return await this.#visitor.open(attributesOf(attributes!).get("href")!);
    }
    throw new Error(`Missing link "${text}"`);
  }

  #row(text: string): string {
    const row = [...this.html.matchAll(/<tr>.*?<\/tr>/gs)].find(([row]) => textOf(row).includes(text));
    if (row === undefined) throw new Error(`Missing row "${text}"`);
    return row[0];
  }

  #refOf(text: string): string {
    const box = controlsOf(this.#row(text)).find(({ attributes }) => attributes.get("name") === "ref");
    if (box === undefined) throw new Error(`Row "${text}" has nothing to tick`);
    return valueOf(box);
  }

  #forms(): Form[] {
    return [...this.html.matchAll(/<form\b([^>]*)>(.*?)<\/form>/gs)].map(([, head, inner]) => {
      if (inner!.includes("<form")) throw new Error("A form stands within a form");
      const attributes = attributesOf(head!);
      return {
        action: attributes.get("action") ?? "",
        method: (attributes.get("method") ?? "get").toLowerCase(),
        controls: controlsOf(inner!),
      };
    });
  }
}

function nameOf({ tag, text, label }: Control): string {
  return tag === "button" && label === "" ? text : label;
}

function valueOf({ tag, attributes, text }: Control): string {
  return tag === "textarea" ? text : attributes.get("value") ?? (attributes.get("type") === "checkbox" ? "on" : "");
}

function controlsOf(html: string): Control[] {
  const controls: Control[] = [];
  const pattern = /<label\b[^>]*>|<\/label>|<(input)\b([^>]*)>|<(button|textarea)\b([^>]*)>(.*?)<\/\3>/gs;
  let label: number | undefined;
  for (const match of html.matchAll(pattern)) {
    const [whole, input, inputHead, other, otherHead, inner = ""] = match;
    if (whole.startsWith("<label")) label = match.index + whole.length;
    else if (whole === "</label>") label = undefined;
    else {
      const attributes = attributesOf((inputHead ?? otherHead)!);
      const around = label === undefined ? "" : textOf(html.slice(label, match.index));
      controls.push({
        tag: (input ?? other)!,
        attributes,
        text: other === "textarea" ? unescape(inner) : textOf(inner),
        label: attributes.get("aria-label") ?? around,
      });
    }
  }
  return controls;
}

function attributesOf(head: string): Map<string, string> {
  const pairs = head.matchAll(/([\w-]+)(?:="([^"]*)")?/g);
  return new Map([...pairs].map(([, name, value = ""]) => [name!, unescape(value)]));
}

/** The text that a reader sees. */
function textOf(html: string): string {
  return unescape(html.replace(/<[^>]*>/g, " ").replace(/\s+/g, " ").trim());
}

function unescape(text: string): string {
  const characters: Record<string, string> = { lt: "<", gt: ">", quot: '"', "#39": "'", amp: "&" };
  return text.replace(/&(lt|gt|quot|#39|amp);/g, (_, name) => characters[name]!);
}
