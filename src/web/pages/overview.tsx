/**
 * `/`: alerts, counts, charts, queues and workers.
 *
 * @module
 */
import type { WorkerInfo } from "../../store/port/workers.ts";
import { number } from "../../text/format.ts";
import type { Alert, AlertAction, Sample } from "../../operator/alerts/alert.ts";
import { type Chart, type Range, RANGES } from "../read/charts.ts";
import type { Counts } from "../read/counts.ts";
import { CHART_SCRIPTS, ChartFigure } from "./charts.tsx";
import { behindFirst } from "../../text/queues.ts";
import { withWorkers } from "../read/queue_rows.ts";
import { Icon } from "./icons.tsx";
import { Layout } from "./layout.tsx";
import { QueueTable } from "./queues.tsx";
import { ActionButton, link, Live, type View } from "./view.tsx";
import { WorkerTable } from "./workers.tsx";

const TILES: readonly { name: keyof Counts; label: string; path: string; kind?: string }[] = [
  { name: "running", label: "Running", path: "/running" },
  { name: "queued", label: "Queued", path: "/queued" },
  { name: "scheduled", label: "Scheduled", path: "/scheduled" },
  { name: "retrying", label: "Retrying", path: "/retrying", kind: "warn" },
  { name: "dead", label: "Dead", path: "/dead", kind: "bad" },
  { name: "workers", label: "Workers", path: "/workers" },
];
/** Rows of each table. Its page has the rest. */
const MAX_ROWS = 10;

/** The overview. */
export function Overview({ view, workers, samples, alerts, range, charts }: {
  readonly view: View;
  readonly workers: readonly WorkerInfo[];
  readonly samples: readonly Sample[];
  readonly alerts: readonly Alert[];
  readonly range: Range;
  readonly charts: readonly Chart[];
}) {
  const queues = view.stats.queues.toSorted((a, b) => b.size - a.size);
  return (
    <Layout view={view} title="Overview" scripts={CHART_SCRIPTS}>
      <div class="heading">
        <h1>Overview</h1>
        <span class="grow"></span>
        <nav class="choice" aria-label="Range of the charts">
          {Object.entries(RANGES).map(([name, label]) => (
            <a href={link(view, "/", { range: name })} aria-current={name === range ? "true" : undefined}>{label}</a>
          ))}
        </nav>
      </div>
      <div id="alerts" data-live>
        <Alerts view={view} alerts={alerts} />
      </div>
      <dl class="tiles">
        <div>
          <dt>Jobs/s</dt>
          <dd data-rate="processed">{rateText(samples)}</dd>
        </div>
        {TILES.map(({ name, label, path, kind = "" }) => (
          <div class={view.counts[name] > 0 ? kind : ""}>
            <dt>
              <a href={link(view, path)}>{label}</a>
            </dt>
            <dd>
              <Live name={name} value={view.counts[name]} />
            </dd>
          </div>
        ))}
      </dl>
      <div class="charts">
        {charts.map((chart) => <ChartFigure chart={chart} />)}
      </div>
      <div class="columns">
        <section aria-labelledby="queues-title">
          <h2 id="queues-title">Queues</h2>
          <div id="queues" data-live>
            <QueueTable view={view} queues={withWorkers(behindFirst(queues).slice(0, MAX_ROWS), workers)} />
          </div>
          {queues.length > MAX_ROWS && (
            <p>
              <a href={link(view, "/queues")}>All {number(queues.length)} queues</a>
            </p>
          )}
        </section>
        <section aria-labelledby="workers-title">
          <h2 id="workers-title">Workers</h2>
          <div id="workers" data-live>
            <WorkerTable view={view} workers={workers.slice(0, MAX_ROWS)} isShort />
          </div>
          {workers.length > MAX_ROWS && (
            <p>
              <a href={link(view, "/workers")}>All {number(workers.length)} workers</a>
            </p>
          )}
        </section>
      </div>
    </Layout>
  );
}

/** More alerts would push the numbers out of sight: the others are folded. */
const MAX_OPEN_ALERTS = 3;

function Alerts({ view, alerts }: { readonly view: View; readonly alerts: readonly Alert[] }) {
  if (alerts.length === 0) return null;
  const open = alerts.slice(0, MAX_OPEN_ALERTS);
  const others = alerts.slice(MAX_OPEN_ALERTS);
  return (
    <>
      <AlertList view={view} alerts={open} label="Needs attention" />
      {others.length > 0 && (
        <details id="more-alerts" class="more-alerts">
          <summary>
            {number(others.length)} more {others.length === 1 ? "problem" : "problems"}
          </summary>
          <AlertList view={view} alerts={others} label="Further problems" />
        </details>
      )}
    </>
  );
}

function AlertList({ view, alerts, label }: {
  readonly view: View;
  readonly alerts: readonly Alert[];
  readonly label: string;
}) {
  return (
    <ul class="alerts" aria-label={label}>
      {alerts.map((alert) => (
        <li class={alert.kind}>
          <Icon name="alert" />
          <p>
            <b>{alert.title}</b> {alert.detail !== undefined && <span class="note">{alert.detail}</span>}{" "}
            {alert.command !== undefined && !(alert.actions[0]?.acts && view.canAct) && <code>{alert.command}</code>}
          </p>
          {alert.actions.map((action) => <ActionOf view={view} action={action} />)}
        </li>
      ))}
    </ul>
  );
}

function ActionOf({ view, action: { label, path, query, acts, fields = {} } }: {
  readonly view: View;
  readonly action: AlertAction;
}) {
  return acts
    ? <ActionButton {...{ view, path, label, fields }} />
    : <a class="button" href={link(view, path, query)}>{label}</a>;
}

/** The span of the throughput, as in live.js. */
const RATE_MS = 30_000;

/** The throughput of the last {@linkcode RATE_MS}: jobs that end together don't show between any two samples. */
function rateText(samples: readonly Sample[]): string {
  const last = samples.at(-1);
  const before = samples.slice(0, -1).find(({ at }) => last!.at - at <= RATE_MS) ?? samples.at(-2);
  if (before === undefined || last === undefined) return "–";
  const rate = Math.max(0, last.processed - before.processed) / Math.max(0.001, (last.at - before.at) / 1_000);
  return rate >= 100 ? number(Math.round(rate)) : rate.toFixed(1);
}
