/**
 * The filters of a list: a search field, the other filters behind a button, a chip for each that is set, and the order.
 *
 * @module
 */
import { type Filter, FILTERS, isEmpty } from "../read/filter.ts";
import { hasErrors } from "../read/job_sets.ts";
import type { JobList } from "../read/paging.ts";
import { Field } from "./field.tsx";
import { Icon } from "./icons.tsx";
import { link, type View } from "./view.tsx";

/** Search, the other filters behind a button, and a chip for each that is set. */
export function Filters(
  { view, list: { place, path, filter, reverse, errors } }: {
    readonly view: View;
    readonly list: JobList;
  },
) {
  const order = reverse ? "reverse" : "forward";
  const names = (Object.keys(FILTERS) as (keyof Filter)[]).filter((name) =>
    name !== "q" && !(name === "queue" && place.in === "queue") && !(name === "error" && !hasErrors(place))
  );
  const without = (name: string) =>
    link(view, path, { ...Object.fromEntries(Object.entries(filter).filter(([other]) => other !== name)), order });
  return (
    <div class="filters">
      <form action={link(view, path)} aria-label="Filter">
        <input
          type="search"
          name="q"
          value={filter.q ?? ""}
          placeholder={FILTERS.q.label}
          aria-label={FILTERS.q.label}
          class="wide"
        />
        <details class="popover" open={errors !== undefined}>
          <summary class="button">
            <Icon name="filter" />Filter
          </summary>
          <div class="panel">
            {names.map((name) => (
              <Field
                label={FILTERS[name].label}
                name={name}
                value={filter[name] ?? ""}
                errors={errors}
                attributes={{
                  type: "search",
                  placeholder: FILTERS[name].example,
                  list: name === "queue" ? "queue-names" : undefined,
                }}
              />
            ))}
            <button type="submit" class="primary">Apply</button>
          </div>
        </details>
        <input type="hidden" name="order" value={order} />
      </form>
      {(Object.keys(FILTERS) as (keyof Filter)[]).flatMap((name) =>
        filter[name] === undefined ? [] : (
          <span class="chip">
            <span>{FILTERS[name].chip}: {filter[name]}</span>
            <a href={without(name)} aria-label={`Remove filter ${FILTERS[name].chip}`}>
              <Icon name="x" />
            </a>
          </span>
        )
      )}
      {!isEmpty(filter) && <a href={link(view, path, { order })}>Clear</a>}
      <span class="grow"></span>
      {hasErrors(place) && (
        <nav class="choice" aria-label="View">
          <a href={link(view, path, { ...filter })} aria-current="true">Jobs</a>
          <a href={link(view, path, { ...filter, group: "error" })}>Group by error</a>
        </nav>
      )}
      <Order view={view} list={{ place, path, filter, reverse }} />
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
