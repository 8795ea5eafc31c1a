/**
 * The filters of a list: a search field, the other filters behind a button, a chip for each that is set, and the order.
 *
 * @module
 */
import { CRITERIA_OF_JOBS } from "../../operator/query/criteria.ts";
import { hasErrors } from "../read/job_sets.ts";
import type { JobList } from "../read/paging.ts";
import { Field, type FieldErrors } from "./field.tsx";
import { Icon } from "./icons.tsx";
import { link, SEARCH_HINT, type View } from "./view.tsx";

/** A filter in a form. */
interface FilterField {
  readonly name: string;
  readonly label: string;
  readonly example?: string | undefined;
  /** The ID of a datalist. */
  readonly list?: string | undefined;
}

/** A form with a search field and filters, and a chip for each that is set. */
export function FilterForm({ view, path, search, fields, values, keep = {}, errors }: {
  readonly view: View;
  readonly path: string;
  /** The label of the search field; absent: there is none. */
  readonly search?: string;
  readonly fields: readonly FilterField[];
  /** The texts of the filters that are set; of the search under `q`. */
  readonly values: Readonly<Record<string, string | undefined>>;
  /** Other parameters of the URL that stay. */
  readonly keep?: Readonly<Record<string, string>>;
  readonly errors?: FieldErrors | undefined;
}) {
  const without = (name: string) =>
    link(view, path, { ...Object.fromEntries(Object.entries(values).filter(([other]) => other !== name)), ...keep });
  const labels: Readonly<Record<string, string>> = {
    q: "text",
    ...Object.fromEntries(fields.map(({ name, label }) => [name, label.toLowerCase()])),
  };
  const set = Object.entries(values).filter(([name, value]) => value !== undefined && Object.hasOwn(labels, name));
  return (
    <>
      <form action={link(view, path)} aria-label="Filter">
        {search !== undefined && (
          <input
            type="search"
            name="q"
            value={values["q"] ?? ""}
            placeholder={search}
            aria-label={search}
            title={SEARCH_HINT}
            class="wide"
          />
        )}
        <details class="popover" open={errors !== undefined}>
          <summary class="button">
            <Icon name="filter" />Filter
          </summary>
          <div class="panel">
            {fields.map(({ name, label, example, list }) => (
              <Field
                label={label}
                name={name}
                value={values[name] ?? ""}
                errors={errors}
                attributes={{ type: "search", placeholder: example, list }}
              />
            ))}
            <button type="submit" class="primary">Apply</button>
          </div>
        </details>
        {Object.entries(keep).map(([name, value]) => <input type="hidden" name={name} value={value} />)}
      </form>
      <div class="chips">
        {set.map(([name, value]) => (
          <span class="chip">
            <span>{labels[name]}: {value}</span>
            <a href={without(name)} aria-label={`Remove filter ${labels[name]}`}>
              <Icon name="x" />
            </a>
          </span>
        ))}
        {set.length > 0 && <a href={link(view, path, keep)}>Clear</a>}
      </div>
    </>
  );
}

/** The filters of a list of jobs, its grouping by error and its order. */
export function Filters({ view, list: { place, path, filter, reverse, errors } }: {
  readonly view: View;
  readonly list: Pick<JobList, "place" | "path" | "filter" | "errors"> & {
    /** Undefined for groups: they have the most frequent first. */
    readonly reverse: boolean | undefined;
  };
}) {
  const keep = reverse === undefined ? { by: "error" } : { order: reverse ? "reverse" : "forward" };
  const names = (Object.keys(CRITERIA_OF_JOBS) as (keyof typeof CRITERIA_OF_JOBS)[]).filter((name) =>
    name !== "q" && !(name === "queue" && place.in === "queue") && !(name === "error" && !hasErrors(place))
  );
  const fields = names.map((name) => ({
    ...CRITERIA_OF_JOBS[name],
    name,
    list: name === "queue" ? "queue-names" : undefined,
  }));
  return (
    <div class="filters">
      <FilterForm
        view={view}
        path={path}
        search="Search…"
        fields={fields}
        values={filter}
        keep={keep}
        errors={errors}
      />
      {hasErrors(place) && (
        <nav class="choice" aria-label="View">
          <a href={link(view, path, { ...filter })} aria-current={reverse === undefined ? undefined : "true"}>Jobs</a>
          <a
            href={link(view, path, { ...filter, by: "error" })}
            aria-current={reverse === undefined ? "true" : undefined}
          >
            Group by error
          </a>
        </nav>
      )}
      {reverse !== undefined && <Order view={view} list={{ place, path, filter, reverse }} />}
    </div>
  );
}

function Order({ view, list: { place, path, filter, reverse } }: {
  readonly view: View;
  readonly list: Pick<JobList, "place" | "path" | "filter" | "reverse">;
}) {
  const [first, last] = place.in === "queue" || place.in === "dead" ? ["Oldest", "Newest"] : ["Earliest", "Latest"];
  return (
    <nav class="choice" aria-label="Order">
      <a href={link(view, path, { ...filter, order: "forward" })} aria-current={reverse ? undefined : "true"}>
        {first} first
      </a>
      <a href={link(view, path, { ...filter, order: "reverse" })} aria-current={reverse ? "true" : undefined}>
        {last} first
      </a>
    </nav>
  );
}
